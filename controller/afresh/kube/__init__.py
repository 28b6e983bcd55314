"""Talks to Kubernetes: observes, applies, writes status, and wakes the loop."""
