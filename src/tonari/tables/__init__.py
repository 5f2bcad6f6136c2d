"""Reading tables, remembering their columns, and turning them into numbers."""

from __future__ import annotations

from tonari.tables.encoder import TableEncoder
from tonari.tables.read import read_table
from tonari.tables.schema import Column, Schema
from tonari.tables.table import Table

__all__ = ["Column", "Schema", "Table", "TableEncoder", "read_table"]
