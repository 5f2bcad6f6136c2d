"""The native engine of tonari. Private: use the public classes."""

from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


class BitIndex:
    """Packed bits prepared for exhaustive search; immutable."""

    @property
    def rows(self) -> int: ...

    @property
    def bytes(self) -> int: ...

def bits_build(rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: int, metric: str, threads: int) -> BitIndex:
    """
    Copy rows of bits, eight to a byte, the first in the lowest place (numpy.packbits, bitorder='little').
    """

def bits_search(index: BitIndex, queries: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> None:
    """
    Fill distances and neighbours (queries x k); rows of a query's own group are left out.
    """

def bits_within(index: BitIndex, queries: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).
    """

def config_show() -> dict[str, Any]:
    """Instruction set in use, those available, processor and compiler."""

class ExactIndex:
    """Rows prepared for exhaustive search; immutable."""

    @property
    def rows(self) -> int: ...

    @property
    def dim(self) -> int: ...

def exact_build(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], metric: str, p: float, threads: int) -> ExactIndex:
    """
    Prepare rows (float32 or float64, C order, finite); they are borrowed and must not change.
    """

def exact_search(index: ExactIndex, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> None:
    """
    Fill distances and neighbours (queries x k); rows of a query's own group are left out.
    """

def exact_within(index: ExactIndex, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).
    """

def exact_map(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], middle: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mapped: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Fill mapped with (rows - middle) matrix, every row in the same order of additions.
    """

def score_hits(codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], truth: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], hits: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Rows answered rightly per candidate and split."""

def score_counts(codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], truth: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, hits: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order='C', device='cpu')], predicted: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Rows answered rightly, and answered at all, per candidate, split and class.
    """

def score_errors(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], truth: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Sums of squared, absolute, largest and centred squared errors per candidate and split.
    """

def score_ranking(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], positive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], areas: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Area under the ROC curve and average precision per candidate and split.
    """

<<<<<<< HEAD
class SpaceTree:
    """Rows in a kd-tree or a ball tree; immutable."""
=======
class SparseIndex:
    """Sparse rows prepared for exhaustive search; immutable."""
>>>>>>> 6ccc5b087f30443ff2eb674d9b4d8024c77e9815

    @property
    def rows(self) -> int: ...

    @property
    def dim(self) -> int: ...

<<<<<<< HEAD
def space_tree_build(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], kind: str, metric: str, p: float, split: str, threshold: str, leaf_size: int, threads: int) -> SpaceTree:
    """
    Put rows (float32 or float64, C order, finite) into a tree; they are borrowed and must not change.
    """

def space_tree_search(index: SpaceTree, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, backtrack: bool, eps: float, threads: int) -> tuple[int, int, int]:
    """
    Fill distances and neighbours (queries x k); returns how many nodes, leaves and rows were looked at.
    """

def space_tree_within(index: SpaceTree, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radius: float, row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, backtrack: bool, eps: float, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Rows within the radius: (indptr, rows, distances), each query's in order of (distance, row).
=======
def sparse_build(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: int, metric: str, threads: int) -> SparseIndex:
    """
    Prepare rows in CSR form, columns ascending; they are borrowed and must not change.
    """

def sparse_search(index: SparseIndex, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> None:
    """
    Fill distances and neighbours (queries x k); rows of a query's own group are left out.
    """

def sparse_within(index: SparseIndex, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).
>>>>>>> 6ccc5b087f30443ff2eb674d9b4d8024c77e9815
    """

def vote_classes(neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, k: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weighting: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], winners: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], shares: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None, threads: int) -> None:
    """
    Winning class code, and optionally class shares, per candidate and query.
    """

def vote_means(neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weighting: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Weighted mean of the neighbours' values per candidate, query and output.
    """
