"""From what is seen to what is known: how attempts ended, and where each subtask is. Pure."""
