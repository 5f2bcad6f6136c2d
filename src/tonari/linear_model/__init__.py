"""Linear classifiers: logistic regression and the perceptron."""

from tonari.linear_model.logistic import LogisticRegression
from tonari.linear_model.path import LogisticPath, PerceptronPath
from tonari.linear_model.perceptron import PerceptronClassifier

__all__ = ["LogisticPath", "LogisticRegression", "PerceptronClassifier", "PerceptronPath"]
