"""Checks that everything is there, for verify: the chains of all tables, their log, and the acts (rulings 45 and 46).

A chain shows a row that was changed, moved or removed before its end. The log shows a chain that was cut off. What is
cut off from the log itself is known to a seal only.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.truth.acts import ADOPT, CREATE, RESTORE, Act, Identity, acts, purges
from slicebase.truth.chains import LOG, Chain, ChainHead, all_chains, head_of, linked, logged_head
from slicebase.truth.schema import CHAIN_COLUMNS, CHAINS
from slicebase.truth.texts import Texts
from slicebase.truth.truth import Truth

VerifyStatus = Literal["BROKEN", "UNVERIFIABLE", "PURGED", "DRIFTED", "UNWITNESSED", "FOREIGN", "ADOPTED"]

# What the readers of a record raise for bytes that nobody of ours has written.
UNREADABLE_RECORD = (
    SlicebaseError, msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError, OverflowError,
    RecursionError,
)  # fmt: skip


class VerifyFinding(NamedTuple):
    """Something that does not follow from the stored bytes: its place, what was expected, and what was found."""

    status: VerifyStatus
    check: str
    place: str
    expected: str = ""
    found: str = ""


class ChainRow(NamedTuple):
    """A row of a chain: where it stands, its keys and its record, and its hash."""

    chain: Chain
    seq: int
    values: tuple[Any, ...]
    hash: bytes

    @property
    def place(self) -> str:
        return f"{self.chain} #{self.seq}"


_UNCOUNTED = ("acts", LOG)  # they are no content
_HASHED_BY_EVENT = "events"  # the hash of an event is that of ruling 33, which the proof of its run checks


class ChainProof:
    """Checks the chains, and remembers which of them are broken."""

    def __init__(self, truth: Truth, count: Callable[[str], None]) -> None:
        self._database = truth.database
        self._connection = truth.database.connection
        self._texts: Texts = truth.texts
        self._count = count
        self.broken: set[Chain] = set()

    def rows(self, table: str) -> Iterator[ChainRow]:
        """Yields the rows of a table, chain by chain."""
        owner = CHAINS[table]
        order = f"{owner}, seq" if owner else "seq"
        rows = self._connection.execute(f"SELECT {CHAIN_COLUMNS[table]} FROM {table} ORDER BY {order}")
        for row in rows:
            name, rest = (str(row[0]), row[1:]) if owner else ("", row)
            yield ChainRow(Chain(table, name), rest[0], tuple(rest[1:-1]), rest[-1])

    def chains(self, table: str) -> Iterator[VerifyFinding]:
        """Yields where the chains of a table are broken. After a break, the chain goes on from what is stored."""
        before: dict[Chain, ChainHead] = {}
        for row in self.rows(table):
            if table not in _UNCOUNTED and (table != "sessions" or row.seq == 1):  # a session can have several records
                self._count(table)
            count, head = before.get(row.chain, ChainHead())
            before = {row.chain: ChainHead(row.seq, row.hash)}
            if row.seq != count + 1:
                yield self._break(row, "numbering", f"#{count + 1}", f"#{row.seq}")
            elif table != _HASHED_BY_EVENT and (derived := linked(head, *row.values)) != row.hash:
                yield self._break(row, "row-hash", _shown(derived), _shown(row.hash))

    def _break(self, row: ChainRow, check: str, expected: str, found: str) -> VerifyFinding:
        self.broken.add(row.chain)
        return VerifyFinding("BROKEN", check, row.place, expected, found)

    def log(self) -> Iterator[VerifyFinding]:
        """Yields the chains that are shorter than the log says, or other ones, and those that it does not know yet."""
        lengths: dict[Chain, int] = {}
        for row in self.rows(LOG):
            name, count, logged = row.values
            try:
                chain = Chain.named(name)
            except ValueError as error:
                yield VerifyFinding("BROKEN", "log", row.place, "the name of a chain", str(error))
                continue
            if count <= lengths.get(chain, 0):
                yield VerifyFinding("BROKEN", "log", row.place, "a chain that has grown", f"{count} rows")
            lengths[chain] = count
            found = head_of(self._connection, chain, count)
            if (found.length, found.hash) != (count, logged) and chain not in self.broken:
                there = head_of(self._connection, chain).length
                self.broken.add(chain)
                shown = _shown(found.hash) if found.length else f"{there} rows"
                yield VerifyFinding("BROKEN", "log", str(chain), f"{count} rows, {_shown(logged)}", shown)
        ahead = [chain for chain in all_chains(self._connection) if self._is_ahead(chain)]
        if ahead:
            more = f" and {len(ahead) - 3} more" if len(ahead) > 3 else ""
            found_ahead = ", ".join(map(str, ahead[:3])) + more
            yield VerifyFinding("UNWITNESSED", "log", "log", "every chain at its head", found_ahead)

    def _is_ahead(self, chain: Chain) -> bool:
        head, logged = head_of(self._connection, chain), logged_head(self._connection, chain)
        return chain not in self.broken and head.length > logged.length

    def acts(self) -> Iterator[VerifyFinding]:
        """Yields what the acts say, and the tombstones that no act records."""
        try:
            known, purged = list(acts(self._connection)), purges(self._connection)
        except (ValueError, msgspec.MsgspecError) as error:
            yield VerifyFinding("BROKEN", "act-form", "acts", "acts of this version", str(error))
            return
        if not known or known[0].kind != CREATE:
            yield VerifyFinding("BROKEN", "act-first", "acts #1", CREATE, known[0].kind if known else "no act")
        yield from (finding for act in known for finding in (*_listed(act), *self._logged_at_once(act)))
        yield from self._tombstones({key: (text.left, mark) for key, (text, mark) in purged.items()})

    def _logged_at_once(self, act: Act) -> Iterator[VerifyFinding]:
        """Checks that an act that gave another id was logged with it: it says how long the log was (ruling 45)."""
        if act.kind not in (ADOPT, RESTORE) or not isinstance(act.record, Identity):
            return
        query = "SELECT seq FROM log WHERE chain = 'acts' AND count = ?"
        row = self._connection.execute(query, (act.seq,)).fetchone()
        if row is None or row[0] != act.record.log + 1:
            found = f"entry {row[0]}" if row else "no entry"
            yield VerifyFinding(
                "BROKEN", "act-log", f"acts #{act.seq}", f"entry {act.record.log + 1} of the log", found
            )

    def _tombstones(self, recorded: dict[tuple[str, str], tuple[str | None, str]]) -> Iterator[VerifyFinding]:
        query = "SELECT owner, hash, bytes, purged FROM texts WHERE purged IS NOT NULL ORDER BY owner, hash"
        for owner, text_hash, data, mark in self._connection.execute(query):
            key = (owner, "sha256:" + text_hash.hex())
            found = (digest(data) if data is not None else None, mark)
            place = f"{owner} text {key[1]}"
            expected = recorded.pop(key, None)
            if expected is None:
                yield VerifyFinding("BROKEN", "tombstone", place, "an act that purges it", f"purged {mark}")
            elif expected != found or (data is not None and self._is_turn(*key)):
                yield VerifyFinding("BROKEN", "tombstone", place, str(expected), str(found))
        for owner, name in recorded:
            place = f"{owner} text {name}"
            yield VerifyFinding("BROKEN", "tombstone", place, "a purged text", _state(self._texts, owner, name))

    def _is_turn(self, owner: str, name: str) -> bool:
        """Returns whether a text is the content of a turn, of which a purge leaves nothing."""
        query = "SELECT 1 FROM turns WHERE session = ? AND instr(record, ?) > 0 LIMIT 1"
        session = owner.removeprefix("session:")
        return owner != session and self._connection.execute(query, (session, name.encode())).fetchone() is not None

    def schema(self) -> Iterator[VerifyFinding]:
        """Yields what somebody changed in the tables of the database, and in what protects them."""
        for name, expected, found in self._database.differences():
            yield VerifyFinding("BROKEN", "schema", name, expected, found)


def _state(texts: Texts, owner: str, name: str) -> str:
    return "no text" if texts.get(owner, name) is None else "a text that is not purged"


def _listed(act: Act) -> Iterator[VerifyFinding]:
    """Yields an act that gave the database another id: it is a record, not damage."""
    if act.kind in (ADOPT, RESTORE) and isinstance(act.record, Identity):
        record = act.record
        done = {ADOPT: "adopted", RESTORE: "restored"}[act.kind]
        yield VerifyFinding("ADOPTED", act.kind, f"acts #{act.seq}", record.before or "", f"{done} {record.time}")


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
