"""Text that has to fit into a line."""


def shortened(text: str, length: int) -> str:
    """The beginning of a text in one line, cut at a word."""
    # Many words more than are needed, so that a long text costs nothing.
    whole = " ".join(text[: length * 20].split())
    if len(whole) <= length:
        return whole
    return (whole[: length - 1].rpartition(" ")[0] or whole[: length - 1]).rstrip(" ,.;:–—-") + "…"
