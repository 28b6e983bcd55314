"""The runner's use of git: fetches, checkouts, commits and pushes."""
