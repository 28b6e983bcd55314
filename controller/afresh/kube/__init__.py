"""Everything that talks to Kubernetes: observing, applying, writing status, waking the loop."""
