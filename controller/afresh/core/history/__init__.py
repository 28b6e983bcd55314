"""Computes, from the observation, how attempts ended and which state each subtask has. Pure."""
