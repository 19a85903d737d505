"""The ids of what is stored: completes short ones, and knows the neighbours that limit how short one is (ruling 53)."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import canonical
from slicebase.core.ids import is_uuid, uuid_of
from slicebase.core.refs import Ref, parse, prefixed
from slicebase.core.short_ids import SHORTEST_ID, short_id, the_only
from slicebase.errors import SlicebaseError
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database
from slicebase.truth.failures import LostTurns
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time

_MOST_FOUND: Final = 20  # ids that begin alike; the first few are shown
_LAST: Final = "\U0010ffff"  # comes after every text that begins alike


class _Column(NamedTuple):
    """Where the ids of a kind are, as a table and an indexed column, and what is said of them."""

    table: str
    name: str
    plural: str
    missing: str | None = None  # the error for an id that is not complete; others are left to the verb
    text: Callable[[Any], str] = str


_COLUMNS: Final[Mapping[str, _Column]] = {
    "turn": _Column("turns", "turn", "turns", "no-turn", uuid_of),
    "session": _Column("sessions", "session", "sessions"),
    "run": _Column("runs", "run", "runs"),
    "ev": _Column("evidence", "evidence", "pieces of evidence", "no-evidence"),
    "mf": _Column("manifests", "manifest", "manifests", "no-manifest"),
    "sn": _Column("snapshots", "snapshot", "snapshots", "no-snapshot"),
}
_OF_DIGEST: Final = ("ev", "mf", "sn")
_DIGITS: Final = 32  # of an id that is made from a digest
_HEX: Final = frozenset("0123456789abcdef-")


@one_thread_at_a_time
class StoredNames:
    """The ids of a database, by the kinds of references. Those of evidence, manifests and snapshots begin with them."""

    def __init__(self, database: Database, surroundings: Surroundings) -> None:
        self._database = database
        self._lost = LostTurns(database)
        self.surroundings = surroundings

    def id(self, kind: str, given: str) -> str:
        """Returns the complete id of a thing of this kind, given by its id, a short id or a reference."""
        ref = prefixed(given)
        if ref is not None and ref.kind != kind:
            raise SlicebaseError("bad-reference", f"{given!r} is not a reference of the kind {kind}")
        return self.complete(parse(given, bare=kind, short=True)).id

    def complete(self, ref: Ref) -> Ref:
        """Returns a reference with a complete id. What nothing begins with is left for the verb, if it is one at all.

        An id that has the form of a complete one is not looked up.
        """
        column = _COLUMNS[ref.kind]
        if self._is_whole(ref) or (column.missing is None and self.knows(ref.kind, ref.id)):
            return ref
        found = {str(each): each for each in self.beginning(ref)}
        only = the_only(str(ref), found, column.plural, len(str(ref)) - len(ref.name))
        if only is None and column.missing is not None:
            if ref.kind == "turn":
                self._lost.refuse()
            raise SlicebaseError(column.missing, f"there is no {ref}")
        return found[only] if only else ref

    def is_named(self, ref: Ref) -> bool:
        """Returns whether something has this id."""
        return (_COLUMNS[ref.kind].missing is None or self._is_whole(ref)) and self.knows(ref.kind, ref.id)

    def _is_whole(self, ref: Ref) -> bool:
        if ref.kind == "turn":
            return is_uuid(ref.name)
        return ref.kind in _OF_DIGEST and len(ref.name) == _DIGITS and set(ref.name) <= _HEX

    @property
    def _connection(self) -> DatabaseConnection:
        return self._database.connection

    def knows(self, kind: str, name: str) -> bool:
        """Returns whether something of this kind has this id."""
        column = _COLUMNS[kind]
        query = f"SELECT 1 FROM {column.table} WHERE {column.name} = ? LIMIT 1"
        return self._connection.execute(query, (_stored(kind, name),)).fetchone() is not None

    def beginning(self, ref: Ref) -> list[Ref]:
        """Returns what has an id that begins with the one in a reference; of very many, the first ones.

        Of a session and its subagents, this is the session. In the id of a subagent, that of its session may be short.
        """
        session, mark, agent = ref.name.partition("#")
        if ref.kind == "session" and session and mark:
            alike = {each.name.partition("#")[0] for each in self._starting(Ref("session", session))}
            only = session if session in alike else the_only(session, alike, _COLUMNS["session"].plural)
            return self._starting(Ref("session", f"{only}#{agent}")) if only else []
        return _without_subagents(self._starting(ref))

    def _starting(self, ref: Ref) -> list[Ref]:
        column = _COLUMNS[ref.kind]
        if column.missing is not None:
            ref = ref._replace(name=ref.name.lower())
            if not set(ref.name) <= _HEX:
                return []
        query = f"""SELECT DISTINCT {column.name} FROM {column.table}
            WHERE {column.name} BETWEEN ? AND ? ORDER BY {column.name} LIMIT {_MOST_FOUND}"""
        rows = self._connection.execute(query, _range(ref)).fetchall()
        names = [column.text(found).removeprefix(ref.id.removesuffix(ref.name)) for (found,) in rows]
        return [Ref(ref.kind, name) for name in names if name.startswith(ref.name)]

    def begun(self, beginnings: Collection[str]) -> set[str]:
        """Returns those of these texts that the id of something begins with, whatever its kind."""
        return {each for each in beginnings if any(self._starting(Ref(kind, each)) for kind in _COLUMNS)}

    def beside(self, kind: str, names: Collection[str]) -> dict[str, tuple[str | None, str | None]]:
        """Returns the ids before and after each of these ids in the order of text, if there are any.

        An id that nothing has is left out.
        """
        column = _COLUMNS[kind]
        first = "unhex(value, '-')" if kind == "turn" else "value"
        last = f"value || '#{_LAST}'" if kind == "session" else first  # its subagents are no other sessions
        query = f"""SELECT value, ({_next(column, "<", first)}), ({_next(column, ">", last)})
            FROM {self._database.dialect.each.format("?")}
            WHERE EXISTS (SELECT 1 FROM {column.table} WHERE {column.name} = {first})"""
        rows: Any = self._connection.execute(query, (canonical(sorted(names)).decode(),))
        text = column.text
        return {name: (before and text(before), after and text(after)) for name, before, after in rows}


def _next(column: _Column, side: str, id_: str) -> str:
    """Returns the question for the id before (<) or after (>) another one."""
    order = "DESC" if side == "<" else "ASC"
    return (
        f"SELECT {column.name} FROM {column.table} WHERE {column.name} {side} {id_} "
        f"ORDER BY {column.name} {order} LIMIT 1"
    )


_OTHER_KINDS: Final = ("session", "run", *_OF_DIGEST)
_ALIKE: Final = " UNION ALL ".join(
    f"SELECT 1 FROM {_COLUMNS[kind].table} WHERE {_COLUMNS[kind].name} BETWEEN ? AND ?" for kind in _OTHER_KINDS
)
_BESIDE: Final = f"SELECT ({_next(_COLUMNS['turn'], '<', '?1')}), ({_next(_COLUMNS['turn'], '>', '?1')})"
# Whether another turn, and whether something else has an id that begins so. Mostly neither is the case.
_OTHERS: Final = f"""
SELECT EXISTS (SELECT 1 FROM turns WHERE turn BETWEEN ? AND ? AND turn <> ?), EXISTS ({_ALIKE})
"""


def shown_reference(connection: DatabaseConnection, reference: str, files: Collection[str] = ()) -> str:
    """Returns a reference in a form that is short, and that every verb takes: of a turn, its short id.

    If something else has an id that begins so, the kind stands before it. Other references stay as they are. `files`
    has the first characters of the ids of files, as many as a short id has at least.
    """
    name = reference.removeprefix("turn:")
    if not is_uuid(name):
        return reference
    short = name[:SHORTEST_ID]
    stored, (first, last) = _stored("turn", name), _range(Ref("turn", short))
    others = [value for kind in _OTHER_KINDS for value in _range(Ref(kind, short))]
    is_shared, is_ambiguous = next(connection.execute(_OTHERS, (first, last, stored, *others)))
    is_ambiguous = is_ambiguous or short in files
    if is_shared:
        beside: Any = next(connection.execute(_BESIDE, (stored,)))
        short = short_id(name, [each and uuid_of(each) for each in beside])
    return f"turn:{short}" if is_ambiguous else short


def _without_subagents(found: list[Ref]) -> list[Ref]:
    """Returns what was found; of a session and its subagents (ruling 13), the session."""
    sessions = {ref.name for ref in found if ref.kind == "session"}
    return [ref for ref in found if ref.kind != "session" or ref.name.partition("#")[0] not in sessions - {ref.name}]


def _stored(kind: str, name: str) -> Any:
    """Returns an id as its column has it."""
    return bytes.fromhex(name.replace("-", "")) if kind == "turn" else name


def _range(ref: Ref) -> tuple[Any, Any]:
    """Returns the first and the last value that an id with this beginning can have."""
    if ref.kind != "turn":
        return ref.id, ref.id + _LAST
    digits = ref.name.replace("-", "")[:_DIGITS]
    return bytes.fromhex(digits.ljust(_DIGITS, "0")), bytes.fromhex(digits.ljust(_DIGITS, "f"))
