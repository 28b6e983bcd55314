"""The Kubernetes API of Afresh: the models of the three kinds, and their CRDs.

This package imports only `contract` from the rest of Afresh. It makes no decisions and does not
talk to a cluster.
"""
