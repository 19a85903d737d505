"""The proof of stored context slices against what this workspace has.

A turn's record never changes, edges and annotations are only added (rulings 15 and 17). So a stored slice whose turns,
edges and annotations are all found here was right once, and what is here beyond that is growth. It is BROKEN where
something here contradicts it, or where no growth explains the selection.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from slicebase.core.hashing import digest
from slicebase.core.times import from_text, whole_seconds
from slicebase.errors import SlicebaseError
from slicebase.graph.binary32 import shortest
from slicebase.graph.bundle import Bundle, GraphAround, Sibling, looked_at_beside, snapshot_hash
from slicebase.graph.compact import CompactSession
from slicebase.graph.export import ContextSlice, ExportedTurn, ExportFinding, SliceExport, compare
from slicebase.graph.policy import DEFAULT, PRESETS, SlicePolicyV1, policy_with
from slicebase.graph.proof import Drift, ExaminedSlice, ProofStatus, SliceProof, Unchecked, examine
from slicebase.graph.select import TurnGraph
from slicebase.graph.selection import context_slice
from slicebase.graph.turn import Annotation, Edge
from slicebase.truth.nodes import differing_turns
from slicebase.truth.policies import policy_named
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.truth import Truth
from slicebase.truth.turns import StoredTurn
from slicebase.verbs.bundle import around
from slicebase.verbs.slice_growth import near, new_turns, was_so

_NOT_OF_RECORDS = "what slices are read from does not follow from the records"
_VERIFY = "`tt verify` says what else is wrong"
# The errors of a graph that lacks one of the turns that are stored, and of rows and records that nobody has written.
_DAMAGE = frozenset({"database-damaged", "no-turn", "broken-record"})


def policy_elsewhere(name: str | None, assignments: tuple[str, ...]) -> SlicePolicyV1 | None:
    """Returns the policy of a preset or a file, where there is no workspace; None if none is given."""
    if name is None and not assignments:
        return None
    return policy_with(DEFAULT if name is None else policy_named(name, PRESETS.find), assignments)


def prove_elsewhere(data: bytes, policy: SlicePolicyV1 | None = None, *, key: bytes | None = None) -> SliceProof:
    """Checks a stored slice by itself, where there is no workspace."""
    return examine(data, key=key, policy=policy).proof()


def prove(truth: Truth, data: bytes, *, key: bytes | None = None, policy: SlicePolicyV1 | None = None) -> SliceProof:
    """Checks a stored slice by itself, and against the turns that are stored here."""

    def find_policy(params_hash: str) -> SlicePolicyV1 | None:
        try:
            return truth.policies.find(params_hash)
        except SlicebaseError:
            return None

    examined = examine(data, key=key, policy=policy, find_policy=find_policy)
    with truth.database.reading():
        return _Proof(truth, examined).run()


class _Proof:
    def __init__(self, truth: Truth, examined: ExaminedSlice) -> None:
        self._truth = truth
        self._examined = examined
        self._export = examined.export
        self._findings: list[ExportFinding] = []
        self._drift: list[Drift] = []
        self._unchecked: list[Unchecked] = []
        self._explained = examined.explained

    def run(self) -> SliceProof:
        if self._examined.findings:
            return self._examined.proof()
        try:
            return self._result(self._compared())
        except SlicebaseError as error:
            if error.code not in _DAMAGE:
                raise
            self._broken("workspace", f"{error.message}; {_VERIFY}", None, None)
            return self._result("BROKEN")

    def _compared(self) -> ProofStatus:
        """Compares the slice with what is here. Returns its status, if there are no findings."""
        policy, turns = self._examined.policy, self._export.turns
        stored = self._truth.turns.find(turn.id for turn in turns)
        missing = [turn.id for turn in turns if turn.id not in stored]
        if missing:
            self._truth.turns.lost.refuse()
        if not stored:
            self._unchecked.append(Unchecked("workspace", "none of its turns is stored here"))
            return "CONSISTENT"
        if missing:
            why = f"{len(missing)} of its turns are not stored here, such as turn:{missing[0]}"
            self._unchecked.append(Unchecked("workspace", why, stops=True))
            return "UNVERIFIABLE"
        self._records(stored)
        purged = list(self._texts(stored))
        if purged:
            why = f"the content of {len(purged)} turns was purged, such as turn:{purged[0]}"
            self._unchecked.append(Unchecked("content", why))
        if policy is None:
            why = f"no policy {self._export.policy_params_hash} is known here"
            self._unchecked.append(Unchecked("selection", why, stops=True))
        elif not self._findings:
            self._selection(policy, stored)
        return "PURGED" if purged else "DRIFTED" if self._drift else "VERIFIED"

    def _result(self, status: ProofStatus) -> SliceProof:
        return self._examined.proof(
            status,
            findings=tuple(self._findings),
            drift=tuple(self._drift),
            unchecked=(*self._examined.unchecked, *self._unchecked),
            explained=self._explained,
        )

    def _broken(self, check: str, message: str, expected: object, found: object) -> None:
        self._findings.append(ExportFinding(check, message, expected, found))

    # What never changes

    def _records(self, stored: Mapping[str, StoredTurn]) -> None:
        """Compares what the record of a turn says, which never changes."""
        bundle = self._examined.bundle
        contents = {turn.id: turn.content_hash for turn in bundle.graph.turns} if bundle else {}
        for turn in self._export.turns:
            record = stored[turn.id].record
            here = (record.session, record.role, whole_seconds(from_text(record.time)))
            given = (turn.session_id, turn.role, turn.created_at)
            if here != given:
                self._broken("turn", f"turn:{turn.id} is another one here", here, given)
            if turn.id in contents and contents[turn.id] != record.content_hash:
                message = f"turn:{turn.id} has another content here"
                self._broken("content-hash", message, record.content_hash, contents[turn.id])

    def _texts(self, stored: Mapping[str, StoredTurn]) -> Iterator[str]:
        """Compares the stored contents with their digests. Yields the turns whose content was purged."""
        for name, each in sorted(stored.items()):
            record = each.record
            text = self._truth.texts.get(f"session:{record.session}", record.content_hash)
            if text is not None and text.purged is not None:
                yield name
            elif text is None or digest(text.data or b"") != record.content_hash:
                self._broken("content", f"the stored content of turn:{name} is not what was stored", None, None)

    # The selection

    def _selection(self, policy: SlicePolicyV1, stored: Mapping[str, StoredTurn]) -> None:
        anchor, bundle = self._export.anchor_turn_id, self._examined.bundle
        with self._truth.sessions.around(anchor) as graph:
            found = context_slice(graph, anchor, policy)
            now = found.contents
            if (self._export.turns, self._export.edges) == (now.turns, now.edges):
                if bundle is None:
                    return
                if snapshot_hash(now, around(self._truth, graph, now, policy), found.annotators) == (
                    bundle.graph_snapshot_hash
                ):
                    return
            if self._is_damaged(graph, policy, {turn.id for turn in now.turns}):
                return
            siblings = self._siblings()
            self._annotations(stored, siblings)
            self._edges(stored)
            if bundle is not None:
                self._parents(graph, bundle, siblings)
            if not self._findings:
                self._growth(graph, policy, now)
            if not (self._findings or self._drift or self._explained or self._unchecked):
                self._beside(found, around(self._truth, graph, now, policy))
            if self._drift and not self._findings and not any(each.stops for each in self._unchecked):
                self._order(graph, policy)

    def _is_damaged(self, graph: TurnGraph, policy: SlicePolicyV1, selected: set[str]) -> bool:
        """Returns whether what slices are read from contradicts the records of the turns of then or of now.

        Otherwise that would look as if the graph had grown.
        """
        bundle, session = self._examined.bundle, self._export.turns[0].session_id
        here = selected.union(looked_at_beside(graph, selected, policy))
        then = {turn.id for turn in self._export.turns} | (
            {each.id for each in bundle.graph.siblings} if bundle else set()
        )
        stored = self._truth.turns.find(here | then)
        numbers = [each.seq for each in stored.values() if each.record.session == session]
        differing = {*differing_turns(self._truth.database.connection, session, numbers), *(here - stored.keys())}
        if differing:
            what = f"turn:{min(differing)}" + (f" and {len(differing) - 1} more" if len(differing) > 1 else "")
            self._broken("graph", f"{_NOT_OF_RECORDS} of {what}; {_VERIFY}", None, None)
        return bool(differing)

    def _beside(self, now: ContextSlice, here: GraphAround) -> None:
        """Names the turns that took the place of a sibling. Without one, what is here contradicts its own records."""
        bundle = self._examined.bundle
        known = {each.id for each in bundle.graph.siblings} if bundle else set()
        if bundle is not None and (new := [each.id for each in here.siblings if each.id not in known]):
            self._drift.append(Drift("new turns", tuple(f"turn:{each}" for each in new)))
            return
        for each in compare(self._export, now.contents):
            self._broken("selection", f"no record here explains {each.place}", each.derived, each.stored)
        if not self._findings:
            self._broken("graph", "no record here explains the graph around it", None, None)

    def _annotations(self, stored: Mapping[str, StoredTurn], siblings: Mapping[str, Sibling]) -> None:
        """Looks for the values of each turn among all annotations that it ever had."""
        bundle, known = self._examined.bundle, self._known({*stored, *siblings}, stored)
        here = {each.annotator for found in known.values() for each in found}
        if bundle is not None and (elsewhere := sorted({*bundle.annotators} - here)):
            self._unchecked.append(Unchecked("annotations", f"made elsewhere by {', '.join(elsewhere)}", stops=True))
            return
        again = []
        for turn in self._export.turns:
            values = [_values_of(each) for each in known[turn.id]]
            by = {each.annotator for each in known[turn.id] if _values_of(each) == _values(turn)}
            if not (by if bundle is None else by & {*bundle.annotators}):
                self._broken("annotation", f"turn:{turn.id} was never annotated so", None, _values(turn))
            elif _values(turn) != values[-1]:
                again.append(f"turn:{turn.id}")
        for name, sibling in siblings.items():
            scores = [(each.phase, shortest(each.salience)) for each in known[name]]
            if (sibling.phase, sibling.salience) not in scores:
                self._broken("annotation", f"turn:{name} was never annotated so", None, sibling.salience)
            elif (sibling.phase, sibling.salience) != scores[-1]:
                again.append(f"turn:{name}")
        if bundle is not None and not self._findings:
            again += [each for each in self._by_others(bundle, known) if each not in again]
        if again:
            self._drift.append(Drift("new annotations", tuple(again)))

    def _by_others(self, bundle: Bundle, known: Mapping[str, list[Annotation]]) -> list[str]:
        """Returns the turns that were annotated again, where the annotators of now are not those of the bundle.

        One that no turn has its values from is a contradiction.
        """
        turns = self._export.turns
        used = {each.annotator for turn in turns for each in known[turn.id] if _values_of(each) == _values(turn)}
        if idle := sorted({*bundle.annotators} - used):
            self._broken("annotators", "none of the turns has its values from these", sorted(used), idle)
        if {known[turn.id][-1].annotator for turn in turns} == {*bundle.annotators}:
            return []
        return [f"turn:{turn.id}" for turn in turns if len(known[turn.id]) > 1]

    def _known(self, turns: set[str], stored: Mapping[str, StoredTurn]) -> dict[str, list[Annotation]]:
        """Returns all annotations that turns ever had, oldest first."""
        known: dict[str, list[Annotation]] = {turn: [] for turn in turns}
        for session in {each.record.session for each in stored.values()}:
            for record in self._truth.turns.annotations_of(session):
                for row in record.rows(turns):
                    known[row[0]].append(Annotation(*row))
        return known

    def _siblings(self) -> dict[str, Sibling]:
        """Returns the siblings of a bundle that are stored here; those that are not cannot be checked."""
        given = {each.id: each for each in self._examined.bundle.graph.siblings} if self._examined.bundle else {}
        stored = self._truth.turns.find(given)
        if missing := sorted(given.keys() - stored.keys()):
            why = f"{len(missing)} of its siblings are not stored here, such as turn:{missing[0]}"
            self._unchecked.append(Unchecked("graph", why, stops=True))
        session = self._export.turns[0].session_id
        for name in sorted(name for name, each in stored.items() if each.record.session != session):
            self._broken("graph", f"turn:{name} is in another session", session, stored.pop(name).record.session)
        return {name: each for name, each in given.items() if name in stored}

    def _parents(self, graph: TurnGraph, bundle: Bundle, siblings: Mapping[str, Sibling]) -> None:
        """Compares the parents, also those that are not selected. One may have arrived since."""
        new: list[str] = []
        given = {turn.id: turn.parents for turn in bundle.graph.turns}
        for name, parents in (given | {name: each.parents for name, each in siblings.items()}).items():
            here = graph.parents(name)
            if gone := {*parents} - {*here}:
                self._broken("graph", f"turn:{name} has no such parent here", here, sorted(gone))
            new += [f"{parent} {name}" for parent in here if parent not in parents]
        if new and not any(each.what == "new edges" for each in self._drift):
            self._drift.append(Drift("new edges", tuple(new)))

    def _edges(self, stored: Mapping[str, StoredTurn]) -> None:
        """Looks for the edges here. One that is only here may have been added since, unless the turn itself has it."""
        selected = {turn.id for turn in self._export.turns}
        own = {
            Edge(parent, name, kind)
            for name, each in stored.items()
            for parent, kind in each.record.parents
            if parent in selected
        }
        linked = {
            Edge(link.parent, link.child, link.type)
            for session in {each.record.session for each in stored.values()}
            for link in self._truth.turns.links_of(session)
            if {link.parent, link.child} <= selected
        }
        given = set(self._export.edges)
        for edge in sorted(given - own - linked):
            self._broken("edges", "an edge of the slice is not here", None, _edge(edge))
        for edge in sorted(own - given):
            self._broken("edges", "the slice lacks an edge of its turns", _edge(edge), None)
        if added := sorted(linked - own - given):
            self._drift.append(Drift("new edges", tuple(_edge(edge) for edge in added)))

    def _growth(self, graph: TurnGraph, policy: SlicePolicyV1, now: SliceExport) -> None:
        """Looks for the turns without which the graph gives this selection: those that are new since.

        The selection of a bundle follows from what it says about the graph, and all of that is found here.
        """
        if self._examined.bundle is not None:
            found = [({turn.id for turn in now.turns} - {turn.id for turn in self._export.turns}, False)]
        else:
            rules = (False, True) if self._examined.kind == "kernel export" else (False,)
            each_rule = ((new_turns(graph, self._export, policy, ties), ties) for ties in rules)
            found = [(new, ties) for new, ties in each_rule if new is not None]
        if found:
            new, ties = min(found, key=lambda each: (len(each[0]), each[1]))
            self._explained += ("ties",) if ties else ()
            if new:
                self._drift.append(Drift("new turns", tuple(f"turn:{each}" for each in sorted(new))))
            return
        for each in compare(self._export, now):
            self._broken("selection", f"no growth explains {each.place}", each.derived, each.stored)

    def _order(self, graph: CompactSession | StoredGraph, policy: SlicePolicyV1) -> None:
        """Looks whether what is new came after what the slice has, as it must where turns are only appended.

        Where edges or annotations were added to stored turns around it, a turn can be selected that was not then: that
        says nothing. Turns that were stored in another order elsewhere look as if some had been taken out of the slice.
        """
        bundle, session = self._examined.bundle, self._export.turns[0].session_id
        selected = {turn.id for turn in self._export.turns}
        beside = {each.id for each in bundle.graph.siblings} if bundle else set()
        parents, families = near(graph, selected)
        for link in self._truth.turns.links_of(session):
            if link.parent in selected | parents or link.child in selected | beside:
                return
        annotated = Counter(turn for each in self._truth.turns.annotations_of(session) for turn in each.turns)
        if any(annotated[turn] > 1 for turn in (parents | families) - selected):
            return
        if not was_so(graph, self._export, policy, "ties" in self._explained, bundle.graph if bundle else None):
            why = (
                "turns that came before others that it has are not in it: they were left out, or it was made elsewhere"
            )
            self._unchecked.append(Unchecked("order", f"{why}, where turns were stored in another order", stops=True))


def _values_of(annotation: Annotation) -> tuple[object, ...]:
    return (
        annotation.phase,
        annotation.depth,
        annotation.sibling_order,
        *(shortest(getattr(annotation, name)) for name in ("salience", "homogeneity", "temporal", "complexity")),
    )


def _values(turn: ExportedTurn) -> tuple[object, ...]:
    return (
        turn.phase,
        turn.trajectory_depth,
        turn.trajectory_sibling_order,
        shortest(turn.salience),
        *(shortest(getattr(turn, f"trajectory_{name}")) for name in ("homogeneity", "temporal", "complexity")),
    )


def _edge(edge: Edge) -> str:
    return f"{edge.parent} {edge.child} {edge.edge_type}"
