"""Builds the objects that Afresh creates, as plain dicts. Pure: no client, no clock."""
