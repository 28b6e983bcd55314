"""Afresh: coding agents that start afresh, as Kubernetes resources."""

__version__ = "0.1.0"
