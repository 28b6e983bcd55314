"""Reads files with objects of Afresh and says what is wrong with them. Needs no cluster."""
