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
from slicebase.core.passages import PASSAGE, PassageWindows, Stretch, written_forms
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_parts, read_session
from slicebase.graph.turn import turn_text
from slicebase.truth.acts import PurgedText
from slicebase.truth.chains import names_in
from slicebase.truth.truth import Truth
from slicebase.truth.turns import marked_as_purged

TextKey = tuple[str, str]  # owner and digest
_DERIVED: Final = ("run:", "manifest:")  # owners whose texts are made from other texts
# Fields of runs, snapshots and manifests with ids, times, states and names. A value without a space in them is no text.
_STRUCTURE: Final = frozenset({
    "run_id", "snapshot_id", "sequence", "created_at", "time", "provenance_mode", "policy_snapshot_ref", "claim_id",
    "conflict_id", "failure_id", "evidence_id", "chunk_id", "span", "status", "failure_action_taken", "reason",
    "name", "manifest_id", "manifest_ids", "digest", "counts", "latest_context_manifest_ids", "source_ids",
    "chunk_ids", "source_coverage", "policy_params_hash", "forked_from", "projected_from", "ref", "corpus",
    "content_hash", "text_hash", "rendered_hash", "category", "as_of", "ranker", "tokenizer", "annotator",
    "annotators", "renderer", "rendered", "slices", "filters", "excluded_by_reason", "retrieval_diagnostics", "parts",
    "blob", "sha256", "hash", "inherited",
})  # fmt: skip
_IS_SAID: Final = re.compile(r"[ \d]")  # a single word without a digit may be a status or a name of ours
_TOMBSTONE: Final = re.compile(r"\[purged [0-9a-f]{12}\]")
_SHORT: Final = 8  # bytes: a shorter text says too little to be looked for


class Taken(NamedTuple):
    """What a purge is asked to take.

    The content of `whole` and `left` and the `strings` are looked for elsewhere; `left` has what remains of a text.
    What is `gone` was made from them, and `facts` are texts of sessions, of which strings go. `corpora` are the sources
    whose labels in contexts go, too.
    """

    whole: Set[TextKey] = frozenset()
    left: Mapping[TextKey, bytes] = MappingProxyType({})
    strings: tuple[str, ...] = ()
    gone: Set[TextKey] = frozenset()
    facts: Set[TextKey] = frozenset()
    corpora: Set[str] = frozenset()


class Erased(NamedTuple):
    """What a purge replaces: texts by their digests, what is left of some, and the passages to look for elsewhere."""

    texts: tuple[PurgedText, ...]
    left: Mapping[TextKey, bytes]
    search: "PassageSearch"


def search_for(truth: Truth, taken: Taken, surviving: Iterable[bytes]) -> "PassageSearch":
    """Returns the search for what a purge takes. `surviving` are texts outside the database."""
    search = PassageSearch(chain(taken.strings, *(_said(truth, key) for key in {*taken.whole, *taken.left})))
    known = {*taken.whole, *taken.left, *taken.gone, *taken.facts, *_quotes(truth)}
    for owner, name, data in truth.texts.all():
        if not owner.startswith(_DERIVED) and (owner, name) not in known:
            search.forget_text(data)
    for data in chain(surviving, names_in(truth.database.connection)):
        search.forget(data)
    return search


def _said(truth: Truth, key: TextKey) -> Iterator[str]:
    stored = truth.texts.get(*key)
    yield from strings_of(stored.data) if stored and stored.data is not None else ()


def plan_erasure(truth: Truth, taken: Taken, search: "PassageSearch") -> Erased:
    """Returns what a purge replaces in the database."""
    before: dict[TextKey, bytes] = {}
    after: dict[TextKey, bytes | None] = {}
    for key in sorted({*taken.whole, *taken.left, *taken.gone}):
        stored = truth.texts.get(*key)
        if stored is not None and stored.data is not None:
            before[key], after[key] = stored.data, taken.left.get(key)
    for key, data in _derived(truth, _quotes(truth), taken):
        if key not in before:
            before[key] = data
            after[key] = _without_labels(without_passages(data, search), taken.corpora)
            if key in taken.facts and after[key] != data:
                after[key] = marked_as_purged(after[key] or data)
    changed = {key: data for key, data in after.items() if data != before[key]}
    texts = [PurgedText(*key, digest(data) if data is not None else None) for key, data in changed.items()]
    return Erased(tuple(sorted(texts)), {key: data for key, data in changed.items() if data is not None}, search)


def _quotes(truth: Truth) -> set[TextKey]:
    return {(record.corpus_id, record.quote_hash) for record in truth.ledger.records.values()}


def _derived(truth: Truth, quotes: Set[TextKey], taken: Taken) -> Iterator[tuple[TextKey, bytes]]:
    """Yields the texts that are made from other texts: those of runs and manifests, quotes, and these facts."""
    for owner, name, data in truth.texts.all():
        key = (owner, name)
        if key not in taken.gone and (owner.startswith(_DERIVED) or key in quotes or key in taken.facts):
            yield key, data


# What is looked for


class PassageSearch:
    """Looks for what was purged and stands in no text that survives: passages, and short texts as whole strings."""

    def __init__(self, texts: Iterable[str]) -> None:
        known = {text for text in texts if len(text) >= _SHORT}
        self._short = {text.strip() for text in known if len(text.encode()) < PASSAGE and _IS_SAID.search(text.strip())}
        self._all = PassageWindows(form for text in known for form in written_forms(text))
        self._alone = self._all.copy()  # what survives nowhere

    def forget_text(self, data: bytes) -> None:
        """Leaves out what stands in a stored text that survives, as it is stored and as it reads."""
        self.forget(data)
        for string in strings_of(data):
            self._short.discard(string.strip())
            self.forget(string.encode("utf-8", "surrogatepass"))

    def forget(self, data: bytes) -> None:
        """Leaves out what stands in some bytes that survive."""
        self._alone.forget(data)

    def passages_in(self, data: bytes) -> list[Stretch]:
        """Returns where some bytes hold what was purged."""
        return list(self._alone.found_in(data))

    def is_held(self, data: bytes) -> bool:
        """Returns whether some bytes hold what was purged, or may hold a short text of it."""
        return self._alone.is_in(data) or any(text.encode() in data for text in self._short)

    def shares(self, data: bytes) -> bool:
        """Returns whether some bytes share a passage with what was purged, also one that survives elsewhere."""
        return self._all.is_in(data)

    def is_in(self, text: str) -> bool:
        """Returns whether a string holds what was purged, or is a short text of it."""
        return text.strip() in self._short or self._alone.is_in(text.encode("utf-8", "surrogatepass"))


# Strings of stored texts


def strings_of(data: bytes) -> Iterator[str]:
    """Yields what a stored text says: the parts of a turn, the title and facts of a session, or every string of it."""
    with suppress(SlicebaseError):
        parts = read_parts(data)
        yield turn_text(parts)
        for part in parts:
            yield part.text or ""
            yield from _strings(part.arguments, frozenset())
        return
    with suppress(SlicebaseError):
        session = read_session(data)
        yield session.title or ""
        yield from _strings(session.facts, frozenset())
        return
    try:
        yield from _strings(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield data.decode("utf-8", "replace")


def _strings(value: Any, structure: Set[str] = _STRUCTURE, *, is_structure: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        if not is_structure or " " in value:
            yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(name, structure, is_structure=True)
            yield from _strings(inner, structure, is_structure=is_structure or name in structure)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, structure, is_structure=is_structure)


def without_passages(data: bytes, search: PassageSearch) -> bytes | None:
    """Returns a text in which tombstones replace the strings that hold purged passages; None if nothing is left."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict | list):  # no structure: a quote, a blob, a text of a manifest
        return None if search.is_in(data.decode("utf-8", "replace")) else data
    return msgspec.json.encode(replaced) if (replaced := _replaced(value, search)) != value else data


def _replaced(value: Any, search: PassageSearch, *, is_structure: bool = False) -> Any:
    if isinstance(value, str):
        is_text = not is_structure or " " in value
        return tombstone_of(value) if is_text and search.is_in(value) else value
    if isinstance(value, dict):
        return {
            _replaced(name, search, is_structure=True): _replaced(
                inner, search, is_structure=is_structure or name in _STRUCTURE
            )
            for name, inner in value.items()
        }
    return (
        [_replaced(inner, search, is_structure=is_structure) for inner in value] if isinstance(value, list) else value
    )


def _without_labels(data: bytes | None, corpora: Set[str]) -> bytes | None:
    """Returns a manifest without the labels of the pieces that come from these corpora; any other text as it is."""
    if data is None or not corpora or not data.startswith(b'{"') or b'"corpus"' not in data:
        return data
    value = msgspec.json.decode(data)
    pieces = value.get("pieces") if isinstance(value, dict) else None
    for piece in pieces if isinstance(pieces, list) else ():
        if isinstance(piece, dict) and piece.get("corpus") in corpora:
            for name in ("label", "group"):
                label = str(piece.get(name))
                piece[name] = label if _TOMBSTONE.fullmatch(label) else tombstone_of(label)
    return msgspec.json.encode(value)


def tombstone_of(text: str) -> str:
    """Returns what stands in the place of a purged string. Different strings have different tombstones."""
    return f"[purged {digest(text.encode('utf-8', 'surrogatepass'))[7:19]}]"
