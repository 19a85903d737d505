"""All import formats, how the format of a source is recognised, and an import of many sources."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from slicebase.graph.turn import Edge
from slicebase.importers import (
    chatgpt,
    claude,
    claude_code,
    codex,
    conversation,
    gemini,
    messages,
    oasst,
    opencode,
    swe_agent,
)
from slicebase.importers.heads import beginning, heads
from slicebase.importers.redaction import redact, redactor_of
from slicebase.importers.subagents import Agents
from slicebase.importers.values import Batch, Format, ImportSource, KnownAgents, Options

# The first format that recognises a source reads it.
FORMATS: tuple[Format, ...] = (
    conversation.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    opencode.FORMAT,
    chatgpt.FORMAT,
    claude.FORMAT,
    gemini.FORMAT,
    oasst.FORMAT,
    swe_agent.FORMAT,
    messages.FORMAT,
)


def recognise(source: ImportSource) -> Format | None:
    """Returns the format of a source by its first complete records, or None. Reads no more of it than that needs."""
    return next((known for head in heads(source) for known in FORMATS if known.sniff(head)), None)


def is_still(source: ImportSource, name: str) -> bool:
    """Returns whether the first bytes of a source, which is long, show the format that was recognised before."""
    head = beginning(source, (b"",))
    return next((known.name for known in FORMATS if known.sniff(head)), None) == name


GRAPH_FORMAT: Final = "graph"
_TURN_FIELDS: Final = frozenset({"id", "session_id", "role", "phase", "salience"})
_EDGE_FIELDS: Final = frozenset({"parent", "child", "edge_type"})


def is_graph(source: ImportSource) -> bool:
    """Returns whether a source is a graph file, by its first bytes: the file may be large, and is one record."""
    return any(
        _begins_with(record.get("turns"), _TURN_FIELDS) or _begins_with(record.get("edges"), _EDGE_FIELDS)
        for record in beginning(source, (b'"turns"', b'"edges"')).records
    )


def _begins_with(values: Any, fields: frozenset[str]) -> bool:
    return isinstance(values, list) and bool(values) and isinstance(values[0], dict) and fields <= values[0].keys()


def reading_order(name: str) -> tuple[bool, int, str]:
    """Returns a sort key for names: the files of subagents first, then shorter paths.

    The records of a subagent in its own file name their parents, those in the file of its session do not.
    """
    return not name.rpartition("/")[2].startswith("agent-"), name.count("/"), name


class Import:
    """One import of any number of sources. It keeps what one file says about another."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.agents = Agents()

    def read(self, source: ImportSource, known: Format) -> Iterator[Batch]:
        """Yields the batches of a source, without what is private, and without secrets unless the options say so."""
        return map(self.joined, read_source(source, known, self._options))

    def joined(self, batch: Batch) -> Batch:
        """Returns a batch with the links that it completes between agents of different files."""
        return batch if batch.agents is None else replace(batch, links=(*batch.links, *self.join(batch.agents)))

    def join(self, known: KnownAgents) -> list[Edge]:
        """Adds what a file says about agents. Returns the links between files that are complete now."""
        return list(self.agents.merge(known))


def read_source(source: ImportSource, known: Format, options: Options) -> Iterator[Batch]:
    """Yields the batches of one source, redacted. They do not depend on other sources."""
    redactor = redactor_of(options)
    return (redact(batch, redactor) for batch in known.start(options)(source))
