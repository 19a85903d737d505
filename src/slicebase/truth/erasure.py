"""What a purge takes out of the truth: texts that go completely, and strings elsewhere that hold a part of them.

A text goes completely if it is named: the content of a turn, a quote from it, a run that was projected from it. In
every other run and manifest, a string that shares a passage of 32 bytes or more with a purged text becomes a tombstone,
unless the passage also stands in a text that survives (ruling 46). The structure stays, so that the run can continue.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import digest
from slicebase.core.passages import PASSAGE, PassageIndex, written_forms
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_parts, read_session
from slicebase.graph.turn import turn_text
from slicebase.truth.acts import PurgedText
from slicebase.truth.truth import Truth

TextKey = tuple[str, str]  # owner and digest
_DERIVED: Final = ("run:", "manifest:")  # owners whose texts are made from other texts
# References, ids and digests inside of texts: records have these, too, and they say nothing.
_NAMES: Final = re.compile(
    r"\b(?:(?:turn|session|run|file|row|sec|doc|claim):[\w.#@-]+|(?:sha256:)?[0-9a-f]{64}"
    r"|(?:ev|mf|sn)_[0-9a-f]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9A-HJKMNP-TV-Z]{26})\b"
)
_SHORT: Final = 8  # bytes: a shorter text says too little to be looked for


class Taken(NamedTuple):
    """What a purge is asked to take: texts, those of which something is left, and strings from outside the database."""

    whole: Set[TextKey] = frozenset()
    left: Mapping[TextKey, bytes] = MappingProxyType({})
    strings: tuple[str, ...] = ()


class Erased(NamedTuple):
    """What a purge replaces: texts by their digests, what is left of some, and the passages to look for elsewhere."""

    texts: tuple[PurgedText, ...]
    left: Mapping[TextKey, bytes]
    search: "PassageSearch"


def plan_erasure(truth: Truth, taken: Taken, surviving: Iterable[bytes] = (), derived: Iterable[bytes] = ()) -> Erased:
    """Returns what a purge replaces.

    `surviving` are texts outside the database, `derived` are those that are made from texts in it.
    """
    named = sorted({*taken.whole, *taken.left})
    stored = {key: text.data for key in named if (text := truth.texts.get(*key)) and text.data is not None}
    search = PassageSearch(chain(taken.strings, (string for data in stored.values() for string in strings_of(data))))
    quotes = {(record.corpus_id, record.quote_hash) for record in truth.ledger.records.values()}
    held = {key: data for key, data in _derived(truth, quotes) if key not in stored and search.is_held(data)}
    search.excuse(chain(held.values(), derived), chain(source_texts(truth, {*stored, *quotes}), surviving))
    rest = {key: without_passages(data, search) for key, data in held.items()}
    changed = {key: data for key, data in rest.items() if data != held[key]}
    remains = {key: data for key, data in chain(taken.left.items(), changed.items()) if data is not None}
    texts = [
        PurgedText(owner, name, digest(remains[owner, name]) if (owner, name) in remains else None)
        for owner, name in (*stored, *changed)
        if remains.get((owner, name)) != stored.get((owner, name), held.get((owner, name)))
    ]
    return Erased(tuple(sorted(texts)), remains, search)


def _derived(truth: Truth, quotes: Set[TextKey]) -> Iterator[tuple[TextKey, bytes]]:
    """Yields the texts that are made from other texts: those of runs and manifests, and quotes."""
    for owner, name, data in truth.texts.all():
        if owner.startswith(_DERIVED) or (owner, name) in quotes:
            yield (owner, name), data


def source_texts(truth: Truth, passed_over: Set[TextKey] = frozenset()) -> Iterator[bytes]:
    """Yields the texts that came from outside, but for those that are passed over."""
    for owner, name, data in truth.texts.all():
        if not owner.startswith(_DERIVED) and (owner, name) not in passed_over:
            yield data


# What is looked for


class PassageSearch:
    """Looks for the passages of purged texts, but for those that stand in surviving texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        known = {piece for text in texts for piece in _NAMES.split(text) if len(piece) >= _SHORT}
        # a single word may be a status or a name
        self._short = {text.strip() for text in known if len(text.encode()) < PASSAGE and " " in text.strip()}
        self._index = PassageIndex(form for text in sorted(known) for form in sorted(written_forms(text)))
        self._excused: set[bytes] = set()

    def passages_in(self, data: bytes) -> set[bytes]:
        """Returns the passages that some bytes share with the purged texts and with no surviving text."""
        return {data[each.start : each.end] for each in self._index.found_in(data)} - self._excused

    def is_held(self, data: bytes) -> bool:
        """Returns whether some bytes may hold a part of the purged texts."""
        return bool(self.passages_in(data)) or any(text.encode() in data for text in self._short)

    def shares(self, data: bytes) -> bool:
        """Returns whether some bytes share a passage with the purged texts, also one that survives elsewhere."""
        return any(True for _ in self._index.found_in(data))

    def is_in(self, text: str) -> bool:
        """Returns whether a string is a short purged text, or shares a passage with a long one."""
        return text.strip() in self._short or bool(self.passages_in(text.encode("utf-8", "surrogatepass")))

    def excuse(self, held: Iterable[bytes], surviving: Iterable[bytes]) -> None:
        """Leaves out the passages in `held` that also stand in a surviving text."""
        wanted: dict[bytes, bytes] = {}  # each form of a passage, and the passage as it was found
        for data in held:
            for string in strings_of(data):
                for passage in self.passages_in(string.encode("utf-8", "surrogatepass")):
                    for form in written_forms(passage.decode("utf-8", "surrogateescape")):
                        wanted[form] = passage
        index = PassageIndex(wanted)
        for data in surviving if index else ():
            self._excused.update(wanted[form] for form in index.whole_in(data))


# Strings of stored texts


def strings_of(data: bytes) -> Iterator[str]:
    """Yields what a stored text says: the parts of a turn, the title and facts of a session, or every string of it."""
    with suppress(SlicebaseError):
        parts = read_parts(data)
        yield turn_text(parts)
        for part in parts:
            yield part.text or ""
            yield from _strings(part.arguments)
        return
    with suppress(SlicebaseError):
        session = read_session(data)
        yield session.title or ""
        yield from _strings(session.facts)
        return
    try:
        yield from _strings(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield data.decode("utf-8", "replace")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def without_passages(data: bytes, search: PassageSearch) -> bytes | None:
    """Returns a text in which tombstones replace the strings that hold purged passages; None if nothing is left."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict | list):  # no structure: a quote, a blob, a text of a manifest
        return None if search.is_in(data.decode("utf-8", "replace")) else data
    return msgspec.json.encode(replaced) if (replaced := _replaced(value, search)) != value else data


def _replaced(value: Any, search: PassageSearch) -> Any:
    if isinstance(value, str):
        return tombstone_of(value) if search.is_in(value) else value
    if isinstance(value, dict):
        return {_replaced(name, search): _replaced(inner, search) for name, inner in value.items()}
    return [_replaced(inner, search) for inner in value] if isinstance(value, list) else value


def tombstone_of(text: str) -> str:
    """Returns what stands in the place of a purged string. Different strings have different tombstones."""
    return f"[purged {digest(text.encode('utf-8', 'surrogatepass'))[7:19]}]"
