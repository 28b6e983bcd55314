"""The command `init`: writes a first package for a repository."""
