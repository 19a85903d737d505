"""References: the one syntax that every command uses to name stored things (ruling 7).

    turn:<uuid>                                 a turn                        a chunk
    row:<file>/<row>                            a row of a slice file         a chunk
    sec:<file>@<12 hex>#<heading slugs>         a section of a slice file     a chunk
    doc:<16 hex>:<start>-<end>                  a span of a document          a chunk
    sec:<file>@<12 hex>#~<16 hex>               the same, as records name it: by the digest of the slugs
    file:<id>  session:<id>  run:<id>  claim:<run>/<id>
    ev_<32 hex>  mf_<32 hex>  sn_<32 hex>       evidence, manifest, snapshot

A command that takes only one kind also accepts an id without its prefix, and every command a short id (`short_ids`).
"""

import re
from functools import lru_cache
from typing import NamedTuple

from slicebase.core.ids import is_uuid
from slicebase.errors import SlicebaseError

CHUNK_KINDS = frozenset({"turn", "row", "sec", "doc"})

# Compiled on first use for a fast start: a short command needs only one of them.
_SHAPES = {
    "turn": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "row": r"[^/\s]+/\S+",
    "sec": r"[^@\s]+@[0-9a-f]{12}#\S*",
    "doc": r"[0-9a-f]{16}:[0-9]{1,16}-[0-9]{1,16}",
    "file": r"\S+",
    "session": r"(?s:.+)",  # as its source or its file names it, blanks at its ends included
    "run": r"\S+",
    "claim": r"[^/\s]+/\S+",
    "ev": r"[0-9a-f]{32}",
    "mf": r"[0-9a-f]{32}",
    "sn": r"[0-9a-f]{32}",
}
# What may be given of an id in a reference that is still to be completed (ruling 53).
_SHORT_SHAPES = {**_SHAPES, "turn": r"[0-9a-f][0-9a-f-]{0,35}", **dict.fromkeys(("ev", "mf", "sn"), r"[0-9a-f]{1,32}")}
_SEPARATORS = {"ev": "_", "mf": "_", "sn": "_"}
_WORDS = {"ev": "evidence", "mf": "a manifest", "sn": "a snapshot", "sec": "a section", "doc": "a document"}
_SYNTAX = re.compile(r"(ev|mf|sn)_(.*)|([a-z]+):(.*)", re.DOTALL)


class Ref(NamedTuple):
    """A kind and the name after its prefix."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}{_SEPARATORS.get(self.kind, ':')}{self.name}"

    @property
    def id(self) -> str:
        """The id that a command prints where it takes one kind only: the ids of manifests begin with their kind."""
        return str(self) if self.kind in _SEPARATORS else self.name

    @property
    def is_chunk(self) -> bool:
        """Whether the reference names a text that evidence can cite."""
        return self.kind in CHUNK_KINDS

    @property
    def owner(self) -> str:
        """The file of a row or a section, the run of a claim, or the payload hash of a document."""
        return re.split(r"[/@:]", self.name, maxsplit=1)[0]

    @property
    def local(self) -> str:
        """The part after the owner: the id of a row, the hash and slugs of a section, a span, or the id of a claim."""
        return self.name[len(self.owner) + 1 :]


def parse(text: str, bare: str | None = None, *, short: bool = False) -> Ref:
    """Reads a reference. `bare` is the kind of an id without a prefix, if only one kind is possible.

    With `short`, the id may be the beginning of one.
    """
    ref = prefixed(text) or (Ref(bare, text) if bare else None)
    if ref is not None and ref.kind == "turn" and (short or is_uuid(ref.name)):
        ref = Ref("turn", ref.name.lower())
    if ref is None or not re.fullmatch((_SHORT_SHAPES if short else _SHAPES)[ref.kind], ref.name):
        raise SlicebaseError(
            "bad-reference",
            f"{text!r} is not a reference" + (f" to {_WORDS.get(bare, f'a {bare}')}" if bare else ""),
            hint="references look like turn:<uuid>, row:<file>/<row>, file:<id>, session:<id>, run:<id>, mf_<32 hex>",
        )
    return ref


def prefixed(text: str) -> Ref | None:
    """Returns what a text names that begins like a reference, or None. The id is not checked."""
    match = _SYNTAX.fullmatch(text)
    if not match:
        return None
    kind, name = (match[1], match[2]) if match[1] else (match[3], match[4])
    return Ref(kind, name) if kind in _SHAPES else None


def recorded(reference: str) -> str:
    """Returns a reference as records keep it, forever: a section is named by the digest of its slugs.

    Slugs are words of the text, and no purge could take them out of a record (ruling 46). The id of a row that is as
    long as a passage may be a text, too.
    """
    from slicebase.core.hashing import digest  # imported here to keep start-up fast

    kind, _, name = reference.partition(":")
    place, separator, local = name.partition({"sec": "#", "row": "/"}.get(kind, "\0"))
    if not local or re.fullmatch(_RECORDED, local) or (kind == "row" and (_is_short(local) or is_uuid(local))):
        return reference
    return f"{kind}:{place}{separator}~{digest(local.encode('utf-8', 'surrogatepass'))[7:23]}"


_RECORDED = r"~[0-9a-f]{16}"


def _is_short(text: str) -> bool:
    from slicebase.core.passages import PASSAGE  # imported here to keep start-up fast

    return len(text.encode("utf-8", "surrogatepass")) < PASSAGE


def short_ref(text: str) -> Ref | None:
    """Returns the reference that a text is, whose id may be short; None for any other text."""
    try:
        return parse(text, short=True)
    except SlicebaseError:
        return None


def ref_of(kind: str, text: str) -> str:
    """Returns the complete reference of this kind for a text with or without the prefix."""
    ref = parse(text, bare=kind)
    if ref.kind != kind:
        raise SlicebaseError("bad-reference", f"{text!r} is not a reference of the kind {kind}")
    return str(ref)


_ALIKE = r"(?<![A-Za-z0-9])(?:(?:turn|row|sec|doc|file|session|run|claim)(?=:\S)|(?:ev|mf|sn)(?=_[0-9a-f]{8}))"
_LINK_END = r"(?<!\\)\](?=[(\[:])"

_LONGEST_KEPT = 200  # characters: a title, not a question with a pasted page


def as_words(text: str) -> str:
    """Returns a text as words of a label: on one line, and with nothing that could be read as a reference (ruling 48).

    A backslash stands before the sign that would make it one, and before a bracket that would end a Markdown link. It
    changes nothing that is no reference, and nothing when it is called again.
    """
    return _kept_as_words(text) if len(text) <= _LONGEST_KEPT else _as_words(text)


def _as_words(text: str) -> str:
    line = " ".join(text.split())
    return re.sub(_LINK_END, r"\\]", re.sub(_ALIKE, r"\g<0>\\", line))


_kept_as_words = lru_cache(maxsize=1_000)(_as_words)  # titles and roles are the same in many labels
