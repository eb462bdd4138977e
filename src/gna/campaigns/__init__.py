"""Campaigns: written, scheduled, published, looked after, and read again in the archive."""
