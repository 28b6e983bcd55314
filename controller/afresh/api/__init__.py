"""What users write and read: the models of the three kinds, and their CRDs.

Knows the words of `contract` and nothing else of Afresh; it neither decides nor talks to a cluster.
"""
