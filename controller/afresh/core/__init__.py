"""Decides what the operator does. Pure: no I/O, clock, randomness or logger.

The only input of a decision is one `Observed`.
"""
