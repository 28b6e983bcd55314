"""The stages of an episode, in files named as the design names them."""
