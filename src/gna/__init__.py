"""Gna runs a mailing from both ends."""

__version__ = "0.1.0"
