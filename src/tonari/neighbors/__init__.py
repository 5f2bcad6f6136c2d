"""Nearest neighbours: the search, and the learners that vote with it."""

from tonari.neighbors.classifier import KNeighborsClassifier
from tonari.neighbors.nearest import NearestNeighbors
from tonari.neighbors.regressor import KNeighborsRegressor
from tonari.neighbors.trees import BallTree, KDTree

__all__ = ["BallTree", "KDTree", "KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"]
