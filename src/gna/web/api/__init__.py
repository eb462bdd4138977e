"""JSON for machines and embedders."""
