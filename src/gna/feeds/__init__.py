"""Feeds: fetch them, read them, decide what is new in them, and remember it."""
