"""What the runner does with git: from the fetch to the push, and the checkouts between."""
