"""The stages of an episode, one file each. `pipeline` has their order."""
