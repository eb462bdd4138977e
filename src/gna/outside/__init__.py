"""Requests to addresses that other people chose: nothing private is reached, and no answer can exhaust us."""

from gna.outside.asking import MEGABYTE, Answer, ask
from gna.outside.public import is_public

__all__ = ["MEGABYTE", "Answer", "ask", "is_public"]
