"""Builds the manifests of the objects that Afresh creates, as dicts. Pure: no client, no clock."""
