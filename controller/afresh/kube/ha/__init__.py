"""Several operators: which one works, and what the others do."""
