"""References: one syntax by which every command names what is stored (ruling 7).

    turn:<uuid>                                 a turn                        a chunk
    row:<file>/<row>                            a row of a slice file         a chunk
    sec:<file>@<12 hex>#<heading slugs>         a section of a slice file     a chunk
    doc:<16 hex>:<start>-<end>                  a span of a document          a chunk
    file:<id>  session:<id>  run:<id>  claim:<run>/<id>
    ev_<32 hex>  mf_<32 hex>  sn_<32 hex>       evidence, manifest, snapshot

A bare id is accepted where a command takes one kind only.
"""

import re
from typing import NamedTuple

from slicebase.core.ids import is_uuid
from slicebase.errors import SlicebaseError

CHUNK_KINDS = frozenset({"turn", "row", "sec", "doc"})

# Compiled when one is looked at: start-up counts, and a short command looks at one.
_SHAPES = {
    "turn": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "row": r"[^/\s]+/\S+",
    "sec": r"[^@\s]+@[0-9a-f]{12}#\S*",
    "doc": r"[0-9a-f]{16}:[0-9]+-[0-9]+",
    "file": r"\S+",
    "session": r"\S(?:.*\S)?",
    "run": r"\S+",
    "claim": r"[^/\s]+/\S+",
    "ev": r"[0-9a-f]{32}",
    "mf": r"[0-9a-f]{32}",
    "sn": r"[0-9a-f]{32}",
}
_SEPARATORS = {"ev": "_", "mf": "_", "sn": "_"}
_WORDS = {"ev": "evidence", "mf": "manifest", "sn": "snapshot", "sec": "section", "doc": "document"}
_SYNTAX = re.compile(r"(ev|mf|sn)_(.*)|([a-z]+):(.*)", re.DOTALL)


class Ref(NamedTuple):
    """A kind and what stands behind its prefix."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}{_SEPARATORS.get(self.kind, ':')}{self.name}"

    @property
    def is_chunk(self) -> bool:
        return self.kind in CHUNK_KINDS

    @property
    def owner(self) -> str:
        """The file of a row or section, the run of a claim, the payload's hash of a document."""
        return re.split(r"[/@:]", self.name, maxsplit=1)[0]

    @property
    def local(self) -> str:
        """What stands behind the owner: a row's id, a section's hash and slugs, a span, a claim's id."""
        return self.name[len(self.owner) + 1 :]


def parse(text: str, bare: str | None = None) -> Ref:
    """Reads a reference. `bare` names the kind of an id without a prefix, where only one kind fits."""
    ref = _prefixed(text) or (Ref(bare, text) if bare else None)
    if ref is not None and ref.kind == "turn" and is_uuid(ref.name):
        ref = Ref("turn", ref.name.lower())
    if ref is None or not re.fullmatch(_SHAPES[ref.kind], ref.name):
        raise SlicebaseError(
            "bad-reference",
            f"{text!r} is no reference" + (f" to a {_WORDS.get(bare, bare)}" if bare else ""),
            hint="references look like turn:<uuid>, row:<file>/<row>, file:<id>, session:<id>, run:<id>, mf_<32 hex>",
        )
    return ref


def _prefixed(text: str) -> Ref | None:
    match = _SYNTAX.fullmatch(text)
    if not match:
        return None
    kind, name = (match[1], match[2]) if match[1] else (match[3], match[4])
    return Ref(kind, name) if kind in _SHAPES else None


def ref_of(kind: str, text: str) -> str:
    """Returns the whole reference of this kind that a text names, with its prefix or without."""
    ref = parse(text, bare=kind)
    if ref.kind != kind:
        raise SlicebaseError("bad-reference", f"{text!r} is no reference of the kind {kind}")
    return str(ref)


def name_of(kind: str, text: str) -> str:
    """Returns the id in such a reference: a session's name, a turn's UUID."""
    return ref_of(kind, text).removeprefix(f"{kind}:")
