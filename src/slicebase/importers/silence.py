"""Records that give no turn: whether one holds text decides if it is counted by its name or reported as left out.

An importer knows some kinds of records that a model never saw, or that repeat what another record says. All other
records without a turn are silent only if they hold no text.
"""

from collections.abc import Container
from typing import Any, Final

from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread

# The names under which formats keep what was said. A single word is text there.
_SAID: Final = frozenset(
    {
        "body", "content", "instructions", "message", "observation", "output", "parts", "prompt", "reasoning",
        "response", "result", "snippet", "text", "thinking", "thought",
    }
)  # fmt: skip
_LOOKED_AT: Final = 10_000  # characters of a string


def without_turn(
    kind: str, record: SourceRecord, silent: Container[str] = (), *, source_id: Any = None, parent: Any = None
) -> NonTurn | Fault:
    """Returns what becomes of a record that gives no turn. `silent` are the kinds that no model saw."""
    if kind in silent or not holds_text(record):
        return NonTurn(kind, source_id, parent)
    return Fault("unknown-record", kind, source_id, parent)


def settle(thread: Thread, record: NonTurn | Fault, where: str) -> None:
    """Counts or reports a record without a turn that the thread did not admit."""
    thread.bridge(record)
    if isinstance(record, NonTurn):
        thread.builder.other(record.kind)
    else:
        thread.builder.skip(record.reason, where, record.detail, lost=record.lost)


def holds_text(value: Any) -> bool:
    """Returns whether there is text in a value, at any depth: words, or anything under a name for what was said."""
    ahead: list[tuple[str, Any]] = [("", value)]
    while ahead:
        name, inner = ahead.pop()
        if isinstance(inner, str):
            if is_text(inner) or (name in _SAID and inner.strip()):
                return True
        elif isinstance(inner, dict):
            ahead += inner.items()
        elif isinstance(inner, list):
            ahead += ((name, each) for each in inner)
    return False


def is_text(value: str) -> bool:
    """Returns whether a string is text by its form: two words, or letters of a script that may have no spaces.

    Names, ids, times and paths are not.
    """
    shown = value[:_LOOKED_AT]
    words = shown.split()
    if len(words) > 1 and "/" in words[0][1:] and words[0][0] in "/~" and "\n" not in shown:
        return False
    return sum(any(map(str.isalpha, word)) for word in words) > 1 or any(
        letter.isalpha() and letter > "\u036f" for letter in shown
    )
