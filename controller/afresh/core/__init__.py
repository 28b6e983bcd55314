"""Decides what to do. Pure: no I/O, clock, randomness or logger; its only input is `Observed`."""
