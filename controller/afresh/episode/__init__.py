"""The runner: the program that carries out one episode inside its pod.

It reads an Order and writes a Report. It uses the standard library, and aiohttp for the gateway; it
never imports kubernetes.
"""
