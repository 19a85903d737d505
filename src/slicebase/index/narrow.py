"""The filters of a query as conditions on the turns of the index."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from slicebase.context.match import expression
from slicebase.context.query import Filter, Term
from slicebase.core.hashing import canonical
from slicebase.core.times import LAST_UNDATED
from slicebase.graph.contents import kind_bits


class TurnFilters(NamedTuple):
    """Conditions that a turn has to meet. Values of one name are alternatives; those of several names all count."""

    filters: tuple[Filter, ...] = ()  # role, tool, file and kind
    sessions: Collection[str] | None = None  # only these
    since: int | None = None  # milliseconds since 1970
    before: int | None = None
    without: tuple[Term, ...] = ()  # turns that have none of these
    as_of: int | None = None  # what is later, or has no date, does not exist: it is not even counted
    but: Collection[str] = ()  # these turns are left out

    def __bool__(self) -> bool:
        return self != EVERY_TURN

    @property
    def scope(self) -> "TurnFilters":
        """The conditions on sessions and times, without those on single turns."""
        return self._replace(filters=(), without=())

    @property
    def existing(self) -> "TurnFilters":
        """The condition that turns exist: without it, they are in no count, and have no neighbours."""
        return TurnFilters(as_of=self.as_of)


EVERY_TURN: Final = TurnFilters()

# A result belongs to the tool and the files of its call. Another session may have calls with the same ids. CROSS JOIN
# keeps the order of the tables: SQLite would compare each result with all turns of its session.
_OF_CALLS: Final = """
SELECT turn FROM {table} WHERE {matches}
UNION SELECT answered.turn FROM {table} CROSS JOIN answered ON answered.call = {table}.call
CROSS JOIN turn AS made ON made.number = {table}.turn CROSS JOIN turn AS result ON result.number = answered.turn
WHERE {table}.call <> '' AND made.session = result.session AND {matches}
"""
_PATH: Final = r"('/' || replace(lower(path), '\', '/') || '/') GLOB ?"


def up_to(moment: int | None) -> str:
    """Returns the condition that a turn has a date, and that it is not later; without a time, that it is a turn."""
    return "1" if moment is None else f"time NOT BETWEEN 0 AND {LAST_UNDATED} AND time <= {moment:d}"


def conditions(wanted: TurnFilters) -> tuple[str, list[Any]]:
    """Returns the filters as an SQL condition on the table `turn`, and its values."""
    sql: list[str] = []
    values: list[Any] = []
    if wanted.sessions is not None:
        chosen = list(wanted.sessions)
        sql.append(f"session IN (SELECT number FROM session WHERE id IN ({', '.join('?' * len(chosen))}))")
        values += chosen
    if wanted.as_of is not None:
        sql.append(up_to(wanted.as_of))
    for condition, value in (("time >= ?", wanted.since), ("time < ?", wanted.before)):
        if value is not None:
            # a turn without a date is neither before nor after another
            sql.append(f"time NOT BETWEEN 0 AND {LAST_UNDATED} AND {condition}")
            values.append(value)
    for excludes in (False, True):
        for name in dict.fromkeys(each.name for each in wanted.filters if each.excludes == excludes):
            chosen = [each.value for each in wanted.filters if (each.name, each.excludes) == (name, excludes)]
            condition, given = _CONDITIONS[name](chosen)
            sql.append(f"NOT ({condition})" if excludes else f"({condition})")
            values += given
    if wanted.without:
        sql.append("number NOT IN (SELECT rowid FROM words WHERE words MATCH ?)")
        values.append(expression(wanted.without, either=True))
    if wanted.but:
        sql.append("id NOT IN (SELECT value FROM json_each(?))")
        values.append(canonical(sorted(wanted.but)).decode())
    return " AND ".join(sql) or "1", values


def _roles(values: Sequence[str]) -> tuple[str, list[Any]]:
    return f"role IN ({', '.join('?' * len(values))})", list(values)


def _kinds(values: Sequence[str]) -> tuple[str, list[Any]]:
    return "kinds & ?", [kind_bits(values)]


def _tools(values: Sequence[str]) -> tuple[str, list[Any]]:
    matches = _any_of("lower(tool) GLOB ?", len(values))
    return f"number IN ({_OF_CALLS.format(table='called', matches=matches)})", _patterns(values, "{}") * 2


def _files(values: Sequence[str]) -> tuple[str, list[Any]]:
    matches = _any_of(_PATH, len(values))
    given = _patterns([value.replace("\\", "/").strip("/") for value in values], "*/{}/*")
    return f"number IN ({_OF_CALLS.format(table='touched', matches=matches)})", given * 2


def _any_of(condition: str, number: int) -> str:
    """Returns a condition so many times, as a balanced tree: SQLite refuses a deep one."""
    if number == 1:
        return condition
    half = number // 2
    return f"({_any_of(condition, half)} OR {_any_of(condition, number - half)})"


def _patterns(values: Sequence[str], form: str) -> list[Any]:
    """Returns values as patterns of GLOB, in which only `*` has a meaning; `lower` of SQLite knows ASCII only."""
    return [form.format("".join(_letter(each) for each in value)) for value in values]


def _letter(letter: str) -> str:
    if letter.isascii():
        return f"[{letter}]" if letter in "[?" else letter.lower()
    return f"[{''.join(dict.fromkeys(each for each in (letter, letter.lower(), letter.upper()) if len(each) == 1))}]"


_CONDITIONS: Final = {"role": _roles, "kind": _kinds, "tool": _tools, "file": _files}
