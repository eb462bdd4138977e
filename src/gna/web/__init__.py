"""The web: thin. Parse, call one action, present."""
