"""The one error that the command line shows. Knows nothing about what failed."""


class ClusterError(Exception):
    """An error for the user: one sentence that says what to do."""
