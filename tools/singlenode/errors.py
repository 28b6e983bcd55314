"""The one error that the command line shows. Knows nothing about what failed."""


class ClusterError(Exception):
    """Something that the user can read and act on: one sentence, with the remedy."""
