"""All import formats, how the format of a source is recognised, and an import of many sources."""

from collections.abc import Iterator

from slicebase.importers import chatgpt, claude, claude_code, codex, conversation, gemini, messages, oasst, swe_agent
from slicebase.importers.redaction import redact, redactor_of
from slicebase.importers.values import Batch, Format, ImportSource, Options, Read

# The first format that recognises a source reads it.
FORMATS: tuple[Format, ...] = (
    conversation.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    chatgpt.FORMAT,
    claude.FORMAT,
    gemini.FORMAT,
    oasst.FORMAT,
    swe_agent.FORMAT,
    messages.FORMAT,
)

HEAD_BYTES = 64 << 10


def recognise(head: bytes, name: str) -> Format | None:
    """Returns the format of a source, by its first `HEAD_BYTES` and its name, or None."""
    return next((known for known in FORMATS if known.sniff(head, name)), None)


def reading_order(name: str) -> tuple[bool, int, str]:
    """Returns a sort key for names: the files of subagents first, then shorter paths.

    The records of a subagent in its own file name their parents, those in the file of its session do not.
    """
    return not name.rpartition("/")[2].startswith("agent-"), name.count("/"), name


class Import:
    """One import of any number of sources. It keeps what one file says about another."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._readers: dict[str, Read] = {}

    def read(self, source: ImportSource, known: Format) -> Iterator[Batch]:
        """Yields the batches of a source, without what is private, and without secrets unless the options say so."""
        if known.name not in self._readers:
            self._readers[known.name] = known.start(self._options)
        for batch in self._readers[known.name](source):
            yield redact(batch, redactor_of(self._options))
