"""The command `apply`: brings the objects of a file to a cluster."""
