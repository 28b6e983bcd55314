"""Runs commands in the other containers of the pod, and watches the agent meanwhile."""
