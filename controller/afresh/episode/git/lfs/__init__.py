"""Files in Git LFS: their content for checkouts, their pointers for commits."""
