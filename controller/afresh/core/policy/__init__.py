"""The rules that decide what to do, and what they share. Pure."""
