"""What `afresh status`, `logs`, `explain` and `wait` show, from objects to a terminal."""
