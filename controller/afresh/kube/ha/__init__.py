"""Several replicas of the operator: which one leads, and what the standbys do."""
