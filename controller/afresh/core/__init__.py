"""Decides. Pure: no I/O, clock, randomness or logger; everything it may know is `Observed`."""
