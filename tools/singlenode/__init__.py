"""A real single-node Kubernetes from plain processes, and images without a registry.

Uses the standard library only, since this package runs before anything is installed.
"""
