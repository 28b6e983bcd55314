"""Tools of this project: no part of what is installed, which imports none of them."""
