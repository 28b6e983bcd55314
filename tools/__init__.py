"""Tools of this project. They are not part of the installed package, which never imports them."""
