"""Who carries the mail: one file per service, translating both ways into our words."""
