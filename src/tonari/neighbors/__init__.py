"""Nearest neighbours: the search, and the learners that vote with it."""

from tonari.neighbors.classifier import KNeighborsClassifier
from tonari.neighbors.condensing import CondensedNearestNeighbor, EditedNearestNeighbors, condensing_cost
from tonari.neighbors.curve import NeighborCurve, neighbor_curve
from tonari.neighbors.discriminant_metric import DiscriminantMetric
from tonari.neighbors.nearest import NearestNeighbors
from tonari.neighbors.neighborhood_components import NeighborhoodComponentsAnalysis
from tonari.neighbors.radius_classifier import RadiusNeighborsClassifier
from tonari.neighbors.radius_regressor import RadiusNeighborsRegressor
from tonari.neighbors.regressor import KNeighborsRegressor
from tonari.neighbors.trees import BallTree, KDTree

__all__ = [
    "BallTree",
    "CondensedNearestNeighbor",
    "DiscriminantMetric",
    "EditedNearestNeighbors",
    "KDTree",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestNeighbors",
    "NeighborCurve",
    "NeighborhoodComponentsAnalysis",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "condensing_cost",
    "neighbor_curve",
]
