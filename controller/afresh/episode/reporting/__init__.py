"""What the runner publishes about an episode: the Report and the log."""
