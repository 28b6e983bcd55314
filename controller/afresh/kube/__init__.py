"""Everything that talks to Kubernetes: observe, apply, write status, wake the loop."""
