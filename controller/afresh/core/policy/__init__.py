"""From what is known to what is to be done: the rules, and what they share. Pure."""
