"""What is wrong with a file, and where. Readers answer findings; only `rules` knows how grave each one is."""

from typing import NamedTuple

from slicebase.errors import SlicebaseError

_SHOWN = 60


class Finding(NamedTuple):
    """One thing that breaks a rule. Lines and columns count from 1, columns in characters."""

    rule: str
    line: int | None
    column: int | None
    message: str
    hint: str = ""
    file: str = ""


def refusal(error: SlicebaseError, file: str) -> Finding:
    """What a reader refuses is a finding, too: the rule has the name of the error."""
    return Finding(error.code, error.where.line, error.where.column, error.message, error.hint, file)


class Problem(NamedTuple):
    """A finding about a value of the frontmatter, named by its keys: its line and column are found later."""

    rule: str
    path: tuple[str, ...]
    message: str
    hint: str = ""

    def under(self, *path: str) -> "Problem":
        return self._replace(path=(*path, *self.path))


def shown(value: object) -> str:
    """A value as a message quotes it: on one line and never long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
