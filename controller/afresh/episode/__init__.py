"""The runner: what happens inside the pod of one episode.

Reads an Order, writes a Report. Standard library, and aiohttp for the gateway; never kubernetes.
"""
