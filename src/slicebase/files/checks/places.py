"""Where findings stand: a problem of the frontmatter, and a target that a file names, at their lines and columns."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slicebase.files.findings import Finding, Problem
from slicebase.files.jsonl import Line
from slicebase.files.parts import Link
from slicebase.files.slice_file import SliceFile


def placed(file: SliceFile, problem: Problem) -> Finding:
    _, line, column = file.where(problem.path)
    return Finding(problem.rule, line, column, problem.message, problem.hint, file.name)


class Outgoing(NamedTuple):
    """What a file points at, noted while it is read and followed when all files are known.

    The place that names it is a path in the frontmatter, or in a line of the body.
    """

    role: Literal["link", "read", "run"]
    to: str
    path: tuple[str | int, ...]
    line: Line | None = None
    rel: str = ""

    def finding(self, file: SliceFile, rule: str, message: str, hint: str = "") -> Finding:
        if self.line:
            return self.line.finding(rule, message, *self.path, hint=hint)
        return placed(file, Problem(rule, tuple(map(str, self.path)), message, hint))


def outgoing_links(links: Sequence[Link]) -> Iterator[Outgoing]:
    for at, link in enumerate(links):
        if link.rel and link.to:
            yield Outgoing("link", link.to, ("slice", "links", str(at), "to"), rel=link.rel)
