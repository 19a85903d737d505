"""What a purge takes out of the truth: texts that go completely, and strings elsewhere that hold a part of them.

A text goes completely if it is named: the content of a turn, a quote from it, a run that was projected from it. In
every other run and manifest, a string that shares a passage of 32 bytes or more with a purged text becomes a tombstone,
unless the passage also stands in a text that survives (ruling 46). Shorter texts go only where they must come from what
is purged: in runs that were projected from it, forks of these, titles, and claims that cite it. The structure stays, so
that the run goes on.

The events of a projected run say which turns their words were made from. These words go with any of the turns, whatever
their length, and so does every string that is equal to them in the run and its forks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.context.manifest import PinnedPiece, manifest_bytes, read_manifest
from slicebase.core.hashing import digest
from slicebase.core.passages import PASSAGE, PassageTable, Stretch, written_forms
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_parts, read_session
from slicebase.graph.turn import part_text, turn_text
from slicebase.truth.chains import names_in
from slicebase.truth.facts import marked_as_purged
from slicebase.truth.truth import Truth

TextKey = tuple[str, str]  # owner and digest
Changes = dict[TextKey, bytes | None]  # what is left of each text that a purge changes
LARGEST_SEARCH: Final = 64 << 20  # bytes of purged text that are looked for elsewhere; more would need too much memory

# Fields of runs and sessions with words. Short texts are replaced only there: other fields have names and states.
_WORDS: Final = frozenset({
    "text", "statement", "description", "where", "why", "question", "open_questions", "objective", "done_definition",
    "message", "title", "facts",
})  # fmt: skip
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Names of ours that are as long as a passage. A conversation may mention them, and they stay where they are names.
_NAME: Final = re.compile(
    rf"sha256:[0-9a-f]{{64}}|(?:ev|mf|sn)_[0-9a-f]{{32}}|(?:turn:)?{_UUID}|slice_policy_v1:[0-9a-f]{{16}}"
    r"|doc:(?:[0-9a-f]{16}:\d+-\d+|sha256:[0-9a-f]{64})|row:[0-9A-Z]{26}/[0-9A-Z]{26}|sec:[0-9A-Z]{26}@[0-9a-f]{12}#"
    r"(?:~[0-9a-f]{16})?|counted_events_since_last_compaction"
)
# Marks that any text can have, and which say nothing about it.
_MARKS: Final = re.compile(rb"\[(?:redacted:[a-z0-9-]+|purged [0-9a-f]{12})\]")
# What any two slice files can share: ids and times, the keys of rows and of headers, and who wrote where.
_BEFORE: Final = rb'["}\]]{0,4},?[{\n]{0,4}"'  # the end of what stands before a key
_FORM: Final = re.compile(
    _BEFORE
    + rb'(?:agent|source|session)":"[^"\n]{0,200}|'
    + _BEFORE
    + rb'context":"[^"\n]{0,300}in the folder [^"\n]{0,300}|'
    + _BEFORE
    + rb"(?:_meta|id|created_at|supersedes|confidence|provenance|status|links|context|rel|to|label|text|role|content"
    rb'|ts|parents|source_hash)": ?(?:[{\[]{1,2}|"?)|context: [^\n]{0,300}in the folder [^\n]{0,300}'
    rb"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,64}|[0-9A-HJKMNP-TV-Z]{26}"
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|A text of \d+ characters in \d+ chunks that can be cited\."
)
_TOMBSTONE: Final = re.compile(r"\[purged [0-9a-f]{12}\]")


class Taken(NamedTuple):
    """What a purge is asked to take.

    The content of `whole` and `left` and the `strings` are looked for elsewhere; `left` has what remains of a text.
    What is `gone` was made from them, and `facts` are texts of sessions, of which strings go. Owners of texts are
    `linked` if they were made from what is taken, and `kept` if they were made from what survives. The labels of the
    `corpora` in contexts go, too, and the words that were made from one of the `turns`.
    """

    whole: Set[TextKey] = frozenset()
    left: Mapping[TextKey, bytes] = MappingProxyType({})
    strings: tuple[str, ...] = ()
    gone: Set[TextKey] = frozenset()
    facts: Set[TextKey] = frozenset()
    corpora: Set[str] = frozenset()
    linked: Set[str] = frozenset()
    kept: Set[str] = frozenset()
    turns: Set[str] = frozenset()


def is_derived(owner: str) -> bool:
    """Returns whether the texts of an owner are made from other texts: those of a run or of a context."""
    return owner.startswith(("run:", "manifest:"))


# What is looked for


class PassageSearch:
    """Looks for what was purged and stands in no text that survives: passages, and short texts as whole strings."""

    def __init__(
        self,
        texts: Iterable[str],
        words: Iterable[str] = (),
        turns: Set[str] = frozenset(),
        made: Iterable[str] = (),
    ) -> None:
        known, size = set[str](), 0
        for text in texts:
            if text not in known and size < LARGEST_SEARCH:
                known.add(text[: LARGEST_SEARCH - size])
                size += len(text)
        self.is_complete = size < LARGEST_SEARCH
        self._turns = turns
        short = (text for text in chain(known, words) if len(text) < PASSAGE)
        self._words = {_flat(text) for text in chain(short, made)} - {""}  # what was `made` from turns has any length
        self._passages = PassageTable(form for text in known if _is_long(text) for form in written_forms(text))
        self._passages.dismiss(_MARKS)

    def forget(self, data: bytes) -> None:
        """Leaves out what stands in some bytes that survive."""
        self._passages.forget(data)

    def forget_text(self, data: bytes) -> None:
        """Leaves out what stands in a stored text that survives, as it is stored and as it reads."""
        self.forget(data)
        for string in strings_of(data):
            self.forget(string.encode("utf-8", "surrogatepass"))

    def passages_in(self, data: bytes) -> list[Stretch]:
        """Returns where some bytes hold what was purged."""
        return list(self._passages.found_in(data))

    def shares(self, data: bytes) -> bool:
        """Returns whether a slice file shares a passage with what was purged, also one that survives elsewhere."""
        return self._passages.is_shared(data, _FORM)

    def is_in(self, text: str) -> bool:
        """Returns whether a string holds a passage of what was purged, and is no name of ours."""
        return self._passages.is_in(text.encode("utf-8", "surrogatepass")) and not _NAME.fullmatch(text)

    def repeats(self, text: str) -> bool:
        """Returns whether a string holds a passage of what was purged, or is one of its short texts."""
        return self.is_in(text) or _flat(text) in self._words

    def left_of(self, data: bytes, *, linked: bool = False) -> bytes | None:
        """Returns a text in which tombstones replace the strings that hold what was purged; None if nothing is left.

        In a `linked` text, short texts are replaced, too.
        """
        try:
            value = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            value = None
        if not isinstance(value, dict | list):  # no structure: a quote, a blob, a text of a manifest
            return None if self.is_in(data.decode("utf-8", "replace")) else data
        replaced = self._replaced(value, linked=linked, words=False)
        return msgspec.json.encode(replaced) if replaced != value else data

    def _replaced(self, value: Any, *, linked: bool, words: bool) -> Any:
        """Returns a value with tombstones. `words` says whether short texts are replaced here."""
        if isinstance(value, str):
            is_taken = self.repeats(value) if words else self.is_in(value)
            return tombstone_of(value) if is_taken else value
        if isinstance(value, dict):
            made = _made_from(value, self._turns)
            linked = linked or _cites(value, self._turns)
            return {
                self._replaced(name, linked=linked, words=False): tombstone_of(inner)
                if name in made
                else self._replaced(inner, linked=linked, words=words or (linked and name in _WORDS))
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._replaced(inner, linked=linked, words=words) for inner in value]
        return value


def _made_from(payload: Mapping[str, Any], turns: Set[str]) -> dict[str, str]:
    """Returns the words of an event that were made from one of these turns (`context/projection.py`), by field."""
    stated = payload.get("made_from")
    sources = {"text": [payload.get("ref")], **(stated if isinstance(stated, dict) else {})}
    return {
        name: words
        for name, refs in sources.items()
        if name in _WORDS and isinstance(refs, list) and not turns.isdisjoint(filter(_is_text, refs))
        if isinstance(words := payload.get(name), str) and not is_tombstone(words)
    }


def _cites(item: Mapping[str, Any], turns: Set[str]) -> bool:
    """Returns whether a claim or a conflict cites one of these turns."""
    pointers = (item.get(name) for name in ("evidence_refs", "side_a_refs", "side_b_refs"))
    named = (each for refs in pointers if isinstance(refs, list) for each in refs if isinstance(each, dict))
    return any(_is_text(each.get("chunk_id")) and each["chunk_id"] in turns for each in named)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _made_words(truth: Truth, taken: Taken) -> Iterator[str]:
    """Yields the words that events of projected runs were made of, from turns that are taken."""
    for owner in sorted(taken.linked) if taken.turns else ():
        for _, data in truth.texts.of(owner):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                payload = msgspec.json.decode(data)
                yield from _made_from(payload, taken.turns).values() if isinstance(payload, dict) else ()


def search_for(truth: Truth, taken: Taken, surviving: Iterable[bytes]) -> PassageSearch:
    """Returns the search for what a purge takes. `surviving` are texts outside the database."""
    said = chain(taken.strings, *(_said(truth, key) for key in sorted({*taken.whole, *taken.left})))
    words = chain.from_iterable(_said(truth, key) for key in taken.gone)
    search = PassageSearch(said, words, taken.turns, _made_words(truth, taken))
    known = {*taken.whole, *taken.left, *taken.gone, *taken.facts, *_quotes(truth)}
    for owner, name, data in truth.texts.all():
        if owner in taken.kept or (not is_derived(owner) and (owner, name) not in known):
            search.forget_text(data)
    for data in chain(surviving, names_in(truth.database.connection)):
        search.forget(data)
    return search


def _said(truth: Truth, key: TextKey) -> Iterator[str]:
    stored = truth.texts.get(*key)
    yield from strings_of(stored.data) if stored and stored.data is not None else ()


def _quotes(truth: Truth) -> set[TextKey]:
    return {(record.corpus_id, record.quote_hash) for record in truth.ledger.records.values()}


def _is_long(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) >= PASSAGE


def _flat(text: str) -> str:
    return " ".join(text.split())


# What is replaced


def plan_changes(truth: Truth, taken: Taken, search: PassageSearch) -> Changes:
    """Returns what a purge replaces in the database: what is left of each text, and None where nothing is."""
    quotes, changes = _quotes(truth), Changes()
    for owner, name, data in truth.texts.all():
        key, left = (owner, name), data
        if key in taken.whole or key in taken.gone:
            changes[key] = None
        elif key in taken.left:
            left = taken.left[key]
        elif key in taken.facts:
            left = search.left_of(data, linked=True) or data
            left = marked_as_purged(left) if left != data else data
        elif (is_derived(owner) and owner not in taken.kept) or key in quotes:
            changes[key] = search.left_of(data, linked=owner in taken.linked)
        changes.setdefault(key, left)
        if changes[key] == data:
            del changes[key]
    return changes


def changed_snapshots(truth: Truth, changed: Set[TextKey]) -> set[str]:
    """Returns the ids of the snapshots that these texts are a part of: as the complete one, or as an addition."""
    found = set()
    for owner in {owner for owner, _ in changed if owner.startswith("run:")}:
        is_changed = False
        for record in truth.runs.snapshots.records(owner.removeprefix("run:")):
            is_changed = (owner, record.body) in changed or (is_changed and record.weight > 0)
            found.update(["sn_" + record.digest[7:39]] if is_changed else [])
    return found


def change_contexts(truth: Truth, changes: Changes, corpora: Set[str], snapshots: Set[str]) -> None:
    """Adds what contexts keep of corpora and snapshots: their texts go, and the labels and headings of the pieces."""
    for name, stored in truth.manifests.readable():
        owner = f"manifest:{name}"
        pieces = [each for each in stored.manifest.pieces if each.corpus in corpora or each.ref in snapshots]
        for key in {(owner, each.text_hash) for each in pieces}:
            if (text := truth.texts.get(*key)) and text.data is not None:
                changes[key] = None
        key = (owner, truth.manifests.text_of(name))
        stored_record = truth.texts.get(*key)
        record = changes.get(key) or (stored_record.data if stored_record else None)
        if pieces and record:
            changes[key] = _without_labels(record, {each.ref for each in pieces})
            if stored_record and changes[key] == stored_record.data:
                del changes[key]


def _without_labels(record: bytes, refs: Set[str]) -> bytes:
    manifest = read_manifest(record)
    pieces = (_without_label(piece) if piece.ref in refs else piece for piece in manifest.pieces)
    return manifest_bytes(msgspec.structs.replace(manifest, pieces=tuple(pieces)))


def _without_label(piece: PinnedPiece) -> PinnedPiece:
    label, group = (text if is_tombstone(text) else tombstone_of(text) for text in (piece.label, piece.group))
    return msgspec.structs.replace(piece, label=label, group=group)


# Strings of stored texts


def strings_of(data: bytes) -> Iterator[str]:
    """Yields what a stored text says: the parts of a turn, the title and facts of a session, or every string of it."""
    with suppress(SlicebaseError):
        parts = read_parts(data)
        yield turn_text(parts)
        for part in parts:  # what is longer stands in the text of the turn, but for arguments, which are JSON there
            yield from (text for text in (part.text or "", part_text(part)) if len(text) < PASSAGE)
            yield from (text for text in all_strings(part.arguments) if _is_long(text))
        return
    with suppress(SlicebaseError):
        session = read_session(data)
        yield session.title or ""
        yield from all_strings(session.facts)
        return
    try:
        yield from (text for text in all_strings(msgspec.json.decode(data)) if not _NAME.fullmatch(text))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield data.decode("utf-8", "replace")


def all_strings(value: Any) -> Iterator[str]:
    """Yields all strings of a value, its keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from (str(name), *all_strings(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from all_strings(inner)


def tombstone_of(text: str) -> str:
    """Returns what stands in the place of a purged string. Different strings have different tombstones."""
    return f"[purged {digest(text.encode('utf-8', 'surrogatepass'))[7:19]}]"


def is_tombstone(text: str) -> bool:
    return _TOMBSTONE.fullmatch(text) is not None
