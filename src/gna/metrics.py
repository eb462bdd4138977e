"""What is counted, for `/metrics`. Labels are names of ours, never anything that a person typed."""

from prometheus_client import Counter, Histogram

requests = Histogram(
    "gna_http_request_seconds",
    "Time to answer, by route.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)
steps = Counter("gna_step_runs", "Runs of a background step, by outcome.", ["step", "outcome"])
messages = Counter("gna_messages", "Messages handed to the provider, by outcome.", ["kind", "outcome"])
