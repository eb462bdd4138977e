"""Identifiers: UUIDv7, so that they sort by creation and tell nobody how many there are."""

import uuid_utils


def new() -> str:
    """A fresh UUIDv7 as text."""
    return str(uuid_utils.uuid7())
