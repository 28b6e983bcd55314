"""Checks of an installation, or of a cluster before one."""
