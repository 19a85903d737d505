"""The manifest: what was given to a model, what was left out and why, so that it can be replayed (ruling 42).

A manifest pins each piece and the digest of the rendered bytes. Of what was left out it keeps the numbers and the best
few, and a digest of the complete list: a context that is built again from the same memory has the same one.

The module also renders the pinned pieces of a manifest again to compare the bytes.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from slicebase.context.render import PART_BREAK, RENDERER, label_after, render
from slicebase.core.hashing import canonical, digest, id_from
from slicebase.core.ids import is_uuid, uuid_bytes, uuid_of
from slicebase.core.short_ids import SHORTEST_ID
from slicebase.errors import Exit, SlicebaseError
from slicebase.runs.records import Span

# The record


_SHA256: Final = "sha256:"
_SESSION, _FILE = "session:", "file:"
_PART: Final = re.compile(r"((?:row|sec):)([/@].*)", re.DOTALL)  # the reference of a part of a file, without its id
_NAME: Final = "name"  # an attribute of a manifest beside its record
# Of the digest of a turn's text, whose record has the complete digest of its content. Nobody can find two texts that
# have these digits in common, of which one would be rendered as the other. In base64 they are shorter than a passage,
# so that no purge takes them for text.
_DIGITS: Final = 42


class PinnedPiece(Struct, frozen=True):
    """A rendered piece: where its text comes from, its digest, and its label."""

    ref: str
    shown: str  # the reference as it is rendered: short, and enough to recall the piece
    corpus: str  # session:<id> or file:<id>, to which the text belongs
    group: str  # the heading above it
    label: str
    span: Span
    length: int  # of the complete text, in characters
    text_hash: str  # of a turn, whose record has the digest of its content, the first digits
    score: int  # in millionths (ruling 43)

    @property
    def whole(self) -> bool:
        """Whether the span is the complete text."""
        return (self.span.start, self.span.end) == (0, self.length)

    @property
    def name(self) -> str:
        """What it is called where it is rendered: its reference, and which characters it has if not all."""
        return self.shown if self.whole else f"{self.shown} [{self.span.start}-{self.span.end} of {self.length}]"

    def is_of(self, text: str) -> bool:
        """Returns whether this is the text of the piece."""
        return self.text_hash == pinned_hash(self.corpus, text)


def pinned_hash(corpus: str, text: str) -> str:
    """Returns the digest that pins a text: short if it is that of a turn, else the one that it is stored by."""
    whole = digest(text.encode())
    return whole[: len(_SHA256) + _DIGITS] if corpus.startswith(_SESSION) else whole


class LeftOut(Struct, frozen=True, array_like=True):
    """A candidate that is not in the context, and the budget that it did not fit into, or "score" or "copy"."""

    ref: str
    reason: str
    score: int

    @property
    def why(self) -> str:
        """The reason in words."""
        return _REASONS.get(self.reason) or f"no room in {self.reason}"


_REASONS: Final = {"score": "its score is too low", "copy": "a copy of it is there"}


class Scores(Struct, frozen=True, array_like=True):
    """How many candidates were left out for a reason, and their highest and lowest score."""

    count: int
    highest: int
    lowest: int


class AllLeftOut(Struct, frozen=True):
    """What was left out: how many for which reason, the best few, and the digest of the complete list."""

    count: int
    reasons: dict[str, Scores]
    best: tuple[LeftOut, ...]
    digest: str

    @property
    def is_listed(self) -> bool:
        """Whether everything that was left out is among the best few."""
        return len(self.best) == self.count


_BEST: Final = 3  # of those that were left out


def left_out(complete: Sequence[LeftOut]) -> AllLeftOut:
    """Returns what a manifest keeps of the candidates that were left out, which are given in the order of worth."""
    reasons: dict[str, list[int]] = {}
    for each in complete:
        reasons.setdefault(each.reason, []).append(each.score)
    return AllLeftOut(
        count=len(complete),
        reasons={name: Scores(len(found), max(found), min(found)) for name, found in sorted(reasons.items())},
        best=tuple(complete[:_BEST]),
        # the canonical bytes: of texts and whole numbers in lists, msgspec writes the same, many times as fast
        digest=digest(msgspec.json.encode(complete)),
    )


class PinnedSlice(Struct, frozen=True):
    """A context slice that pieces come from: its id, and the hashes that prove its content (ruling 3)."""

    session: str
    anchor_turn_id: str
    slice_id: str
    export_hash: str
    annotators: tuple[str, ...]
    graph_snapshot_hash: str  # of the graph around it, with the contents of its turns


class Budget(Struct, frozen=True):
    """The most tokens, and the most pieces, that a context may have."""

    tokens: int
    turns: int | None = None


class Manifest(Struct, frozen=True, dict=True):
    """The record of a context: the question, the pieces, what was left out, and the hash of the rendered text."""

    question: str
    as_of: str
    budget: Budget
    tokens_used: int
    pieces: tuple[PinnedPiece, ...]
    considered: int
    left_out: AllLeftOut
    filters: dict[str, Any]
    policy_params_hash: str | None  # of the policy for slices
    slices: tuple[PinnedSlice, ...]
    ranker: str
    tokenizer: str
    renderer: str
    rendered_hash: str

    @property
    def manifest_id(self) -> str:
        """The id of the manifest, which is made from its content: of one with purged words, from what it was before."""
        return str(self.__dict__.get(_NAME) or manifest_id(manifest_bytes(self)))

    @property
    def id(self) -> str:
        """The id of the manifest, for `replay`."""
        return self.manifest_id

    def __repr__(self) -> str:
        return f"Manifest(id={self.id!r}, question={self.question[:60]!r}, pieces={len(self.pieces)})"


def named(manifest: Manifest, name: str) -> Manifest:
    """Returns a manifest with the id by which it was recorded: a purge may have replaced words in it since."""
    manifest.__dict__[_NAME] = name
    return manifest


def manifest_id(record: bytes) -> str:
    """Returns the id of a manifest in its stored form."""
    return id_from("mf_", digest(record))


# Its stored form: a prompt hook records contexts all day, so what several pieces share is stored once


class _StoredPiece(Struct, frozen=True, array_like=True):
    # Of a turn, its id in base64; of a part of the group's file, without the id of that: `row:/…`, `sec:@…`. After a
    # space, what is shown, if that is not the usual beginning; or how many characters are shown of that id.
    ref: str
    text_hash: str  # of a turn in base64
    place: int | tuple[int, int, int]  # the length of a complete text; or start, end and length
    score: int
    shared: int | None = None  # how many parts of its label are those of the label before it; None for the same label
    label: str = ""  # the other parts


class _StoredGroup(Struct, frozen=True, array_like=True):
    corpus: str
    heading: str  # if it is not the corpus
    pieces: tuple[_StoredPiece, ...]


class _StoredSlice(PinnedSlice, frozen=True, array_like=True):
    pass


class _StoredManifest(Manifest, frozen=True):
    pieces: tuple[_StoredGroup, ...]  # type: ignore[assignment]
    slices: tuple[_StoredSlice, ...]


_READ = msgspec.json.Decoder(_StoredManifest)
_TURN: Final = "turn:"
_IN_BASE64: Final = b"-_"  # instead of + and /
_PADDING: Final = "=="  # of sixteen bytes
_ID_SIZE: Final = 22  # shorter than every other reference that has no colon, such as that of a snapshot


def manifest_bytes(manifest: Manifest) -> bytes:
    """Returns the stored form: canonical JSON without the id, which is made from it, and the time of recording."""
    groups = [
        (corpus, heading, [piece if piece[-2] is not None else piece[:-2] for piece in pieces])  # without its label
        for corpus, heading, pieces in msgspec.to_builtins(tuple(_packed(manifest.pieces)))
    ]
    slices = [astuple(each) for each in manifest.slices]
    return canonical({**msgspec.to_builtins(manifest), "pieces": groups, "slices": slices})


def read_manifest(record: bytes) -> Manifest:
    """Reads a manifest from its stored form."""
    try:
        stored = _READ.decode(record)
        pieces = tuple(_unpacked(stored.pieces))
    except (ValueError, RecursionError) as error:  # those of msgspec are ValueErrors, too
        raise SlicebaseError("broken-record", f"the manifest {manifest_id(record)} cannot be read: {error}") from None
    fields = {name: getattr(stored, name) for name in Manifest.__struct_fields__}
    slices = tuple(PinnedSlice(*astuple(each)) for each in stored.slices)
    return Manifest(**{**fields, "pieces": pieces, "slices": slices})


def _packed(pieces: Iterable[PinnedPiece]) -> Iterator[_StoredGroup]:
    before = ""
    for (corpus, heading), members in groupby(pieces, lambda piece: (piece.corpus, piece.group)):
        stored = []
        for piece in members:
            is_same, label = piece.label == before, label_after(before, piece.label)
            stored.append(
                _StoredPiece(
                    ref=_stored_ref(piece),
                    text_hash=_stored_hash(piece),
                    place=piece.length if piece.whole else (piece.span.start, piece.span.end, piece.length),
                    score=piece.score,
                    shared=None if is_same else piece.label.count(PART_BREAK) - label.count(PART_BREAK),
                    label=label,
                )
            )
            before = piece.label
        yield _StoredGroup(corpus, "" if heading == corpus else heading, tuple(stored))


def _unpacked(groups: Iterable[_StoredGroup]) -> Iterator[PinnedPiece]:
    before = ""
    for group in groups:
        in_session = group.corpus.startswith(_SESSION)
        for stored in group.pieces:
            name, _, shown = stored.ref.partition(" ")
            is_id = len(name) == _ID_SIZE and ":" not in name
            ref = _TURN + uuid_of(b64decode(name + _PADDING, _IN_BASE64, validate=True)) if is_id else name
            if part := _PART.fullmatch(name):
                ref = _of_file(part, group.corpus)
                shown = _of_file(part, group.corpus, int(shown)) if shown.isdecimal() else shown
            start, end, length = (0, stored.place, stored.place) if isinstance(stored.place, int) else stored.place
            if stored.shared is not None:
                before = PART_BREAK.join([*before.split(PART_BREAK)[: stored.shared], stored.label])
            yield PinnedPiece(
                ref=ref,
                shown=shown or usually_shown(ref),
                corpus=group.corpus,
                group=group.heading or group.corpus,
                label=before,
                span=Span(start=start, end=end),
                length=length,
                text_hash=_SHA256 + (b64decode(stored.text_hash).hex() if in_session else stored.text_hash),
                score=stored.score,
            )


def _stored_ref(piece: PinnedPiece) -> str:
    name = piece.ref.removeprefix(_TURN)
    is_stored_id = is_uuid(name) and name == name.lower()
    ref = b64encode(uuid_bytes(name), _IN_BASE64).decode().removesuffix(_PADDING) if is_stored_id else piece.ref
    shown = "" if piece.shown == usually_shown(piece.ref) else piece.shown
    owner = piece.corpus.removeprefix(_FILE)
    part = _PART.fullmatch(piece.ref.replace(f":{owner}", ":", 1)) if piece.corpus.startswith(_FILE) else None
    if part and _of_file(part, piece.corpus) == piece.ref:
        length = len(owner) - (len(piece.ref) - len(shown))
        is_cut = bool(shown) and length > 0 and shown == _of_file(part, piece.corpus, length)
        if is_cut or not shown.isdecimal():
            ref, shown = part[0], str(length) if is_cut else shown
    return f"{ref} {shown}" if shown else ref


def _of_file(part: re.Match[str], corpus: str, length: int | None = None) -> str:
    """Returns the reference of a part of a file; of the file's id, so many characters, if they are not all."""
    return f"{part[1]}{corpus.removeprefix(_FILE)[:length]}{part[2]}"


def _stored_hash(piece: PinnedPiece) -> str:
    digits = piece.text_hash.removeprefix(_SHA256)
    return b64encode(bytes.fromhex(digits)).decode() if piece.corpus.startswith(_SESSION) else digits


def usually_shown(ref: str) -> str:
    """Returns the rendered form of a reference: of a turn, the shortest id that names one."""
    name = ref.removeprefix(_TURN)
    return name[:SHORTEST_ID] if is_uuid(name) else ref


# Replay


class ReplayProblem(NamedTuple):
    """A difference between a piece, or the complete text, and what the manifest pins."""

    status: Literal["BROKEN", "PURGED", "UNVERIFIABLE"]
    ref: str
    source: tuple[str, str]  # owner and hash of the stored text
    expected: str
    found: str


class Replayed(NamedTuple):
    """A context that was rendered again, and whether its bytes are those that the manifest pins."""

    text: str
    identical: bool
    problems: tuple[ReplayProblem, ...]

    def __repr__(self) -> str:
        return f"Replayed(identical={self.identical}, characters={len(self.text)}, problems={len(self.problems)})"

    @property
    def exit(self) -> Exit:
        """The exit status of a replay (ruling 44)."""
        if any(problem.status == "BROKEN" for problem in self.problems):
            return Exit.FINDINGS
        return Exit.UNVERIFIABLE if self.problems else Exit.DONE


def replayed(name: str, manifest: Manifest, texts: Mapping[str, str], problems: Sequence[ReplayProblem]) -> Replayed:
    """Renders a manifest again, with a mark in place of each missing text."""
    marks = {piece.text_hash: f"[{_status(problems, piece.ref)}]" for piece in manifest.pieces}
    text = render(manifest.question, manifest.as_of, manifest.pieces, {**marks, **texts})
    found = digest(text.encode())
    if found == manifest.rendered_hash:
        return Replayed(text, True, ())
    if manifest.renderer != RENDERER:
        problems = [*problems, ReplayProblem("UNVERIFIABLE", name, ("", ""), manifest.renderer, RENDERER)]
    elif not problems:
        problems = [ReplayProblem("BROKEN", name, ("", ""), manifest.rendered_hash, found)]
    return Replayed(text, False, tuple(problems))


def _status(problems: Sequence[ReplayProblem], ref: str) -> str:
    return next((problem.status.lower() for problem in problems if problem.ref == ref), "missing")
