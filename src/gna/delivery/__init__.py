"""From the outbox to the provider: claim, send, settle. Nothing is lost, nothing is sent twice."""
