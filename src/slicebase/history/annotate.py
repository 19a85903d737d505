"""Annotates turns as they are stored, and again when a missing parent has arrived (ruling 17)."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence, Set

from slicebase.graph.annotate import ANCESTORS, ANNOTATION_RULES, Rules, Trace, annotate, trace_of
from slicebase.graph.record import AnnotationRecord, annotation_records
from slicebase.graph.turn import Annotation, Turn, tree_parent
from slicebase.truth.truth import Truth
from slicebase.truth.turn_writer import AddedTurns

_MOST_TRACES = 20_000  # that are kept, of the turns annotated last

# The edges that importers make. Annotations by these rules never counted the `default` edges of graph files.
_EDGES = ("reply", "branch")


class Annotator:
    """Annotates the batches of one import. It keeps the traces of turns: most parents have just been read."""

    def __init__(self, truth: Truth, rules: Rules = ANNOTATION_RULES) -> None:
        self._truth = truth
        self._rules = rules
        self.forget()

    def forget(self) -> None:
        """Forgets what was annotated, because it was not stored after all."""
        self._traces: OrderedDict[tuple[str, str], Trace] = OrderedDict()  # by session and turn
        self._session: str | None = None
        self._children: Counter[str] = Counter()  # how many children each turn of the session has
        self._counted: set[str] = set()  # the turns whose number of children is known

    def __call__(self, added: AddedTurns) -> Iterable[AnnotationRecord]:
        session = added.turns[0].session
        new = {turn.id: turn for turn in added.turns}
        if session != self._session:
            self._session, self._children, self._counted = session, Counter(), set()
        self._count_children(added, new.keys())
        annotations = {turn.id: self._annotate_new(turn) for turn in parents_first(added.turns)}
        # A new turn below one that has its parent now is annotated twice: the second one counts.
        annotations |= {each.turn: each for each in self._annotate_again(session, added.joined, new.keys())}
        return annotation_records(session, list(annotations.values()))

    def _count_children(self, added: AddedTurns, new: Set[str]) -> None:
        """Counts the stored children of new turns' parents. Only an awaited turn has children before it arrives."""
        parents = {parent for turn in added.turns if (parent := _parent_of(turn)) is not None}
        unknown = parents - self._counted
        if not added.joined:
            unknown -= new
        records = self._truth.turns.mentioning(added.turns[0].session, unknown)
        above = (tree_parent(record.parents, _EDGES) for record in records if record.id not in new)
        self._children.update(parent for parent in above if parent in unknown)
        self._counted |= unknown | new

    def _annotate_new(self, turn: Turn) -> Annotation:
        parent = _parent_of(turn)
        order = self._children[parent] if parent else 0
        if parent:
            self._children[parent] += 1
        return self._annotate(turn, parent, order)

    def _annotate(self, turn: Turn, parent: str | None, order: int) -> Annotation:
        above = self._trace(parent, turn.session) if parent else None
        annotation, trace = annotate(turn, above, order if above else 0, self._rules)
        self._remember(turn.session, turn.id, trace)
        return annotation

    def _trace(self, turn_id: str, session: str) -> Trace | None:
        """Returns the trace of a turn of this session; None if it belongs to another session or has not arrived."""
        if (session, turn_id) not in self._traces:
            chain = self._chain(turn_id, session)
            if not chain:
                return None
            self._remember(session, turn_id, trace_of(chain, self._truth.turns.annotation_of(turn_id)))
        return self._traces[session, turn_id]

    def _remember(self, session: str, turn_id: str, trace: Trace) -> None:
        self._traces[session, turn_id] = trace
        if len(self._traces) > _MOST_TRACES:
            self._traces.popitem(last=False)

    def _chain(self, turn_id: str | None, session: str) -> list[Turn]:
        """Returns a stored turn and its nearest ancestors in the session, nearest first."""
        chain: list[Turn] = []
        while turn_id is not None and len(chain) < ANCESTORS:
            turn = self._truth.turn(turn_id)
            if turn is None or turn.session != session:
                break
            chain.append(turn)
            turn_id = _parent_of(turn)
        return chain

    def _annotate_again(self, session: str, joined: Sequence[str], new: Iterable[str]) -> Iterator[Annotation]:
        """Annotates the turns that were annotated as roots and now have a parent, and everything below them."""
        if not joined:
            return
        just_added = set(new)
        records = {each.record.id: each.record for each in self._truth.turns.of_session(session)}
        children: dict[str, list[str]] = {}
        for record in records.values():
            parent = tree_parent(record.parents, _EDGES)
            if parent is not None:
                children.setdefault(parent, []).append(record.id)
        queue = [turn_id for turn_id in joined if turn_id in records and turn_id not in just_added]
        while queue:
            turn = self._truth.turn(queue.pop(0))
            if turn is not None:
                parent = _parent_of(turn)
                yield self._annotate(turn, parent, children[parent].index(turn.id) if parent else 0)
                queue += children.get(turn.id, [])


def parents_first(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yields the turns in their order, but none before a parent that is among them."""
    waiting = {turn.id: turn for turn in turns}
    for turn in turns:
        path = [turn]
        while path:
            above = next((waiting[parent.id] for parent in path[-1].parents if parent.id in waiting), None)
            if above is not None and above is not path[-1]:
                path.append(above)
                continue
            done = path.pop()
            if waiting.pop(done.id, None) is not None:
                yield done


def _parent_of(turn: Turn) -> str | None:
    return tree_parent(((parent.id, parent.type) for parent in turn.parents), _EDGES)
