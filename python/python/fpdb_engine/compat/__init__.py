"""Modules with the names and the behaviour of other packages."""
