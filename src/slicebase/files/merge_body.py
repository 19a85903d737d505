"""Three-way merging of bodies: rows by id, lines and paragraphs that both sides appended, and text."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from slicebase.files.jsonl import read_lines
from slicebase.files.merge_lines import Merged, decide, lines_of, merge_lines
from slicebase.files.rows import read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.files.timestamps import read_time

_LINES: Final = frozenset({"jsonl", "conversation", "routine"})


class MergedBody(NamedTuple):
    bodies: Merged[bytes]
    conflicts: tuple[str, ...] = ()


def merge_bodies(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> MergedBody:
    before = base.body if base else b""
    plain = decide(before, ours.body, theirs.body)
    if plain.ours == plain.theirs:
        return MergedBody(plain)
    if ours.body_type == theirs.body_type:
        merged = _merge_rows(before, ours, theirs) or _merge_appended(before, ours, theirs)
        if merged:
            return merged
    one, other = merge_lines(lines_of(before), lines_of(ours.body), lines_of(theirs.body))
    text = Merged(b"".join(one), b"".join(other))
    return MergedBody(text, () if text.ours == text.theirs else ("body",))


# ---- rows


def _merge_rows(before: bytes, ours: SliceFile, theirs: SliceFile) -> MergedBody | None:
    """Rows have no order but their age, so what was added goes behind the rest by age (ruling 27).

    None where the bodies are no rows, or a line of them cannot be told from another.
    """
    known, one, other = _rows(before), _rows(ours.body), _rows(theirs.body)
    if ours.body_type != "jsonl" or known is None or one is None or other is None:
        return None
    chosen = {row: decide(known.get(row), one.get(row), other.get(row)) for row in {**known, **one, **other}}
    conflicts = tuple(f"row {row}" for row, (mine, yours) in chosen.items() if mine != yours)
    added = {row: chosen[row] for row in chosen if row not in known}
    order = [*known, *_by_age(added)]
    versions = Merged(
        _body(ours.body, [line for row in order if (line := chosen[row].ours) is not None]),
        _body(ours.body, [line for row in order if (line := chosen[row].theirs) is not None]),
    )
    return MergedBody(versions, conflicts)


def _rows(body: bytes) -> dict[str, bytes] | None:
    """Lines by their rows' ids; None where that leaves a line out."""
    rows = read_rows(body).rows
    lines = {row.id: row.line.raw for row in rows}
    filled = sum(1 for line in body.split(b"\n") if line.strip())
    return lines if len(lines) == filled else None


def _by_age(added: Mapping[str, Merged[bytes | None]]) -> list[str]:
    lines = [line for versions in added.values() for line in {*versions} if line is not None]
    return list(dict.fromkeys(row.id for row in sorted(read_rows(b"\n".join(lines)).rows, key=lambda row: row.age_key)))


# ---- lines and paragraphs


def _merge_appended(before: bytes, ours: SliceFile, theirs: SliceFile) -> MergedBody | None:
    """What both sides appended, one behind the other, where that is how the file is written (ruling 26)."""
    if ours.body_type not in _LINES and not ours.contract.write == theirs.contract.write == "append":
        return None
    old, one, other = (
        body.rstrip(b"\r\n").split(b"\n") if body.strip() else [] for body in (before, ours.body, theirs.body)
    )
    if one[: len(old)] != old or other[: len(old)] != old:
        return None
    one, other = one[len(old) :], other[len(old) :]
    common = [line for line, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]
    while common and not common[-1].strip():
        common.pop()  # the blank line before a paragraph belongs to it
    added = _in_order(ours, one[len(common) :], theirs, other[len(common) :])
    body = _body(ours.body, [*old, *common, *added])
    return MergedBody(Merged(body, body))


def _in_order(ours: SliceFile, one: list[bytes], theirs: SliceFile, other: list[bytes]) -> list[bytes]:
    """Whoever merges whom, the order is the same: that of time where there is one."""
    if ours.body_type == "conversation":
        times = {line.raw: read_time(line.value.get("ts")) for line in read_lines(b"\n".join(one + other)).lines}
        if None not in times.values() and len(times) == len({*one, *other}):
            return sorted(one + other, key=lambda line: (times[line], line))
    earlier, later = sorted(((ours.updated_at or "", one), (theirs.updated_at or "", other)))
    return earlier[1] + later[1]


def _body(like: bytes, lines: Sequence[bytes]) -> bytes:
    """Lines as a body, with line ends like another's."""
    end = b"\r\n" if like[: like.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    return b"".join(line.removesuffix(b"\r") + end for line in lines)
