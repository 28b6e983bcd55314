"""The gateway: the agent's only way to its model, which meters what it uses and stops it."""
