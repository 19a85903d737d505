"""Replay: a manifest's pinned pieces rendered again, and whether the bytes are the same."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from slicebase.context.manifest import Manifest
from slicebase.context.rendering import RENDERER, render
from slicebase.core.hashing import digest
from slicebase.errors import Exit


class Problem(NamedTuple):
    """Why a piece, or the whole, is not what the manifest pins."""

    status: Literal["BROKEN", "PURGED", "UNVERIFIABLE"]
    ref: str
    source: tuple[str, str]  # owner and hash of the stored text
    expected: str
    found: str


class Replayed(NamedTuple):
    text: str
    identical: bool
    problems: tuple[Problem, ...]

    @property
    def exit(self) -> Exit:
        """Ruling 44."""
        if any(problem.status == "BROKEN" for problem in self.problems):
            return Exit.FINDINGS
        return Exit.UNVERIFIABLE if self.problems else Exit.DONE


def replayed(name: str, manifest: Manifest, texts: Mapping[str, str], problems: Sequence[Problem]) -> Replayed:
    """Renders what is there; a mark stands for each piece that is not."""
    marks = {piece.text_hash: f"[{_status(problems, piece.ref)}]" for piece in manifest.pieces}
    text = render(manifest.question, manifest.as_of, manifest.pieces, {**marks, **texts})
    found = digest(text.encode())
    if found == manifest.rendered_hash:
        return Replayed(text, True, ())
    if manifest.renderer != RENDERER:
        problems = [*problems, Problem("UNVERIFIABLE", name, ("", ""), manifest.renderer, RENDERER)]
    elif not problems:
        problems = [Problem("BROKEN", name, ("", ""), manifest.rendered_hash, found)]
    return Replayed(text, False, tuple(problems))


def _status(problems: Sequence[Problem], ref: str) -> str:
    return next((problem.status.lower() for problem in problems if problem.ref == ref), "missing")
