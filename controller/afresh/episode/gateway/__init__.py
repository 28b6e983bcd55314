"""The gateway: the agent's only way to its model. It meters usage and enforces the limits."""
