"""What the runner has other containers do, and what it keeps an eye on meanwhile."""
