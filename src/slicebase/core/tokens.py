"""How many tokens a text costs: an estimate that needs no model's vocabulary (ruling 6)."""

TOKENIZER = "bytes/3"


def tokens(text: str) -> int:
    """A third of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)
