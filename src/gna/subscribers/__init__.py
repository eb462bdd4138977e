"""People and consent."""
