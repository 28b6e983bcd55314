"""A real single-node Kubernetes from plain processes, and images without a registry.

Standard library only: this package runs before anything has been installed.
"""
