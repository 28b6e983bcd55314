"""Files in Git LFS: their content for checkouts, and their pointers for commits."""
