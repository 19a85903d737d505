"""Takes rows and texts from another database into this one, one owner in one transaction.

Who calls it has derived the hashes of the rows again, and says which of them are new here. A row that does not follow
from what is stored is refused. The tables that are kept beside the records are filled from the records alone. A purged
text arrives as a tombstone, with a record of its purge; what is here is never purged by what arrives.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slicebase.core.hashing import digest
from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_link, read_turn
from slicebase.truth.acts import PURGE, PurgedText, PurgeRecord, act_row
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.nodes import refill_nodes
from slicebase.truth.transfer import MovedPurge, MovedRow, MovedText
from slicebase.truth.truth import Truth


class Intake:
    """Writes what arrives. Call its methods inside `writing`: an error leaves nothing of that transaction."""

    def __init__(self, truth: Truth, purges: Iterable[MovedPurge]) -> None:
        self._truth = truth
        self._database = truth.database
        self._connection = truth.database.connection
        self._purges = {(each.owner, each.text, each.left, each.mark): each for each in purges}
        self.writing = truth.database.writing

    # Rows

    def append(self, chain: Chain, rows: Sequence[MovedRow]) -> None:
        """Appends rows to the chain of an owner. Raises `bad-move` if they do not continue what is stored."""
        if not rows:
            return
        length = head_of(self._connection, chain).length
        if rows[0].seq != length + 1:
            raise _refused(f"{chain} has {length} rows, and row {rows[0].seq} should follow")
        if chain.table == "events":
            complete = [(chain.owner, row.seq, *row.values, row.hash) for row in rows]
            self._database.append_hashed(chain, complete)
            return
        head = self._database.append(chain, [row.values for row in rows])
        if head.hash != rows[-1].hash:
            raise _refused(f"{chain}: the hash {rows[-1].hash.hex()} is stated, and {head.hash.hex()} derived")

    def append_shared(self, table: str, values: tuple[Any, ...]) -> None:
        """Appends a shared row to the chain here, with a number and a hash of its own."""
        self._database.append(Chain(table), [values])

    # Texts

    def keep(self, owner: str, named: Iterable[bytes], given: Mapping[bytes, MovedText]) -> None:
        """Stores the texts that records name and that are not here. Raises `bad-move` for one that is not given."""
        taken: dict[tuple[str, str, str], list[PurgedText]] = {}
        for name in dict.fromkeys(named):
            if self._truth.texts.get(owner, f"sha256:{name.hex()}") is not None:
                continue
            text = given.get(name)
            if text is None:
                raise _refused(f"a record names the text {name.hex()} of {owner}, which is not there")
            if text.stored.purged is not None:
                purge = self._purge_of(owner, text)
                one = PurgedText(owner, purge.text, purge.left)
                taken.setdefault((purge.reason, purge.time, purge.what), []).append(one)
            query = "INSERT INTO texts (owner, hash, bytes, purged) VALUES (?, ?, ?, ?)"
            self._connection.execute(query, (owner, name, *text.stored))
        for (reason, time, what), texts in taken.items():
            self._database.append(Chain("acts"), [act_row(PURGE, PurgeRecord(reason, tuple(texts), time, what))])

    def _purge_of(self, owner: str, text: MovedText) -> MovedPurge:
        """Returns the purge that left a tombstone. Raises `bad-move` where none did."""
        data, mark = text.stored
        left = digest(data) if data is not None else None
        purge = self._purges.get((owner, f"sha256:{text.hash.hex()}", left, mark or ""))
        if purge is None:
            raise _refused(f"no purge left the tombstone of the text {text.hash.hex()} of {owner}")
        from_text(purge.time)
        return purge

    # Derived tables

    def settle_session(self, session: str, turns: Sequence[MovedRow], links: Sequence[MovedRow]) -> None:
        """Fills the derived tables of a session after rows were appended to it.

        Raises `bad-move` for a turn that is stored in another session, and for an edge that closes a cycle.
        """
        linked = [_link_ends(row) for row in links]
        ends = [end for row in turns for end in _ends(row)] + linked
        self._refuse_elsewhere(session, [row.values[0] for row in turns])
        _refuse_cycle(self._edges(session))
        awaited = "SELECT 1 FROM waiting WHERE parent = ?"
        for parent, child in ends:  # a cycle through another session goes through a link, or what waited there
            may_close = (parent, child) in linked or self._connection.execute(awaited, (child,)).fetchone()
            if may_close and self._truth.turns.descends(uuid_of(parent), uuid_of(child), {}):
                raise _refused(f"an edge makes the turn {uuid_of(child)} its own ancestor")
        refill_nodes(self._connection, session)
        stored = "SELECT 1 FROM turns WHERE turn = ?"
        missing = [end for end in ends if self._connection.execute(stored, end[:1]).fetchone() is None]
        self._connection.executemany("INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO NOTHING", missing)
        self._connection.executemany("DELETE FROM waiting WHERE parent = ?", [(row.values[0],) for row in turns])

    def _refuse_elsewhere(self, session: str, turns: Sequence[bytes]) -> None:
        query = "SELECT session FROM turns WHERE turn = ?"
        for turn in turns:
            homes = [str(home) for (home,) in self._connection.execute(query, (turn,))]
            if homes != [session]:
                other = next((home for home in homes if home != session), session)
                raise SlicebaseError(
                    "conflict",
                    f"the turn {uuid_of(turn)} is in session:{session} there, and in session:{other} here",
                    hint="the two memories imported copies of one conversation in another order; both stay as they are",
                )

    def _edges(self, session: str) -> dict[bytes, list[bytes]]:
        """Returns the parents of each turn of a session, by its record and by links."""
        found: dict[bytes, list[bytes]] = {}
        for table, ends in (("turns", _ends), ("links", lambda row: [_link_ends(row)])):
            query = f"SELECT seq, record FROM {table} WHERE session = ?"
            for seq, record in self._connection.execute(query, (session,)):
                for parent, child in ends(MovedRow(seq, (record,), b"")):
                    found.setdefault(child, []).append(parent)
        return found


def _ends(row: MovedRow) -> list[tuple[bytes, bytes]]:
    """Returns the edges that the record of a turn states, as parent and child."""
    record = read_turn(row.values[-1])
    return [(uuid_bytes(parent), uuid_bytes(record.id)) for parent, _ in record.parents]


def _link_ends(row: MovedRow) -> tuple[bytes, bytes]:
    record = read_link(row.values[-1])
    return uuid_bytes(record.parent), uuid_bytes(record.child)


def _refuse_cycle(parents: Mapping[bytes, list[bytes]]) -> None:
    """Raises `bad-move` if a turn is its own ancestor. It takes a time that grows with the edges alone."""
    done: set[bytes] = set()
    for start in parents:
        path = [(start, iter(parents[start]))]
        on_path = {start}
        while path and start not in done:
            turn, above = path[-1]
            parent = next((each for each in above if each not in done and each in parents), None)
            if parent is None:
                done.add(turn)
                on_path.discard(turn)
                path.pop()
            elif parent in on_path:
                raise _refused(f"an edge makes the turn {uuid_of(parent)} its own ancestor")
            else:
                on_path.add(parent)
                path.append((parent, iter(parents[parent])))


def _refused(message: str) -> SlicebaseError:
    hint = "nothing of this owner was stored; export it again where it comes from"
    return SlicebaseError("bad-move", message, hint=hint)
