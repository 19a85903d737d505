"""Every format, which of them a source is in, and one import over many sources."""

from collections.abc import Iterator

from slicebase.importers import chatgpt, claude, claude_code, codex, conversation, gemini, messages, oasst
from slicebase.importers.redaction import redact
from slicebase.importers.values import Batch, Format, ImportSource, Options, Read

# In the order in which they are asked: the first that recognises a source reads it.
FORMATS: tuple[Format, ...] = (
    conversation.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    chatgpt.FORMAT,
    claude.FORMAT,
    gemini.FORMAT,
    oasst.FORMAT,
    messages.FORMAT,
)

HEAD_BYTES = 64 << 10


def recognise(head: bytes, name: str) -> Format | None:
    """The format of a source, by its first `HEAD_BYTES` and its name."""
    return next((known for known in FORMATS if known.sniff(head, name)), None)


def reading_order(name: str) -> tuple[int, str]:
    """A sort key for names: shorter paths first, so that a session is read before what it started."""
    return name.count("/"), name


class Import:
    """One run of import over any number of sources; it carries what one file says of another."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._readers: dict[str, Read] = {}

    def read(self, source: ImportSource, known: Format) -> Iterator[Batch]:
        if known.name not in self._readers:
            self._readers[known.name] = known.start(self._options)
        for batch in self._readers[known.name](source):
            yield redact(batch) if self._options.redact else batch
