"""Classifiers that give every class a normal density: quadratic, linear, and the forms between."""

from tonari.discriminant_analysis.boundary import Boundary
from tonari.discriminant_analysis.gaussian import GaussianClassifier
from tonari.discriminant_analysis.linear import LinearDiscriminantAnalysis
from tonari.discriminant_analysis.quadratic import QuadraticDiscriminantAnalysis

__all__ = ["Boundary", "GaussianClassifier", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
