"""What leaves the runner about an episode: the Report, and the log."""
