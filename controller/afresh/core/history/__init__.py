"""Derives from what was observed how attempts ended and which state each subtask has. Pure."""
