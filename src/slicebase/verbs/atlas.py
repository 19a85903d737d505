"""The atlas of sessions: surveys them, says what each survey was made from, and makes it again from that."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from heapq import nsmallest
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from slicebase.core.parsers import read_json
from slicebase.errors import SlicebaseError, refuse_out_of_range, refuse_unknown
from slicebase.graph.atlas import (
    ATLAS,
    AnchorChoice,
    AtlasManifest,
    Seam,
    SessionAtlas,
    SurveyedSession,
    Totals,
    TurnFigure,
    chosen_anchors,
    survey,
    totals,
)
from slicebase.graph.compact import CompactSession
from slicebase.graph.policy import SlicePolicyV1, policy_from
from slicebase.graph.turn import Role
from slicebase.truth.chains import ChainHead
from slicebase.truth.nodes import SessionLengths
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts
from slicebase.workspace.processes import processors

Answer = Literal["VERIFIED", "BROKEN", "UNVERIFIABLE"]
_LEAST_FOR_A_THREAD: Final = 2_000  # anchors
_CHAINS: Final = SessionLengths._fields


class Atlas(NamedTuple):
    """Which turns of some sessions matter, by the context slices of many anchors."""

    manifest: AtlasManifest
    sessions: tuple[SessionAtlas, ...]
    policy: SlicePolicyV1

    def __repr__(self) -> str:
        total = self.totals
        return f"Atlas(sessions={len(self.sessions)}, turns={total.turns}, slices={total.anchors})"

    @property
    def totals(self) -> Totals:
        """The figures of all sessions together."""
        return totals(self.sessions)

    def influential(self, limit: int) -> list[TurnFigure]:
        """Returns the turns with most influence, the most first."""
        found = (figure for each in self.sessions for figure in each.figures(limit))
        return nsmallest(limit, found, key=lambda figure: (-figure.influence, figure.turn))

    def bridges(self, limit: int) -> list[TurnFigure]:
        """Returns the turns through which slices reach most others, the most first."""
        found = (figure for each in self.sessions for figure in each.figures(limit, by_bridge=True))
        return nsmallest(limit, found, key=lambda figure: (-figure.carried, figure.turn))

    def seams(self, limit: int) -> list[Seam]:
        """Returns the turns whose slices have least in common with the slice above, the least first."""
        found = (seam for each in self.sessions for seam in each.seams(limit))
        return nsmallest(limit, found, key=lambda seam: (seam.overlap, seam.turn))

    def unreached(self, limit: int) -> list[str]:
        """Returns the turns that stand in no slice of another turn, by id."""
        return nsmallest(limit, (turn for each in self.sessions for turn in each.unreached(limit)))

    def as_json(self, limit: int) -> dict[str, Any]:
        """Returns the figures for JSON, with so many rows in each list. Fractions are millionths."""
        total = self.totals
        return {
            "manifest": msgspec.to_builtins(self.manifest),
            "totals": {**total._asdict(), "coverage": total.coverage},
            "influential": [each._asdict() for each in self.influential(limit)],
            "bridges": [each._asdict() for each in self.bridges(limit)],
            "seams": [each._asdict() for each in self.seams(limit)],
            "unreached": self.unreached(limit),
        }


class AtlasCheck(NamedTuple):
    """What became of one session when its atlas was made again; without a session, of the figures in the file."""

    session: str | None
    answer: Answer
    message: str


def atlas(truth: Truth, sessions: Sequence[str], policy: SlicePolicyV1, choice: AnchorChoice) -> Atlas:
    """Surveys sessions, each in one state."""
    surveyed = [_surveyed(truth, session, policy, choice) for session in sessions]
    manifest = AtlasManifest(ATLAS, policy.as_json(), choice, tuple(state for state, _ in surveyed))
    return Atlas(manifest, tuple(found for _, found in surveyed), policy)


def choice_of(roles: Iterable[Role], sample: int | None) -> AnchorChoice:
    """Returns a choice of anchors. Raises an error for a role that no turn can have, and for an empty sample."""
    if sample is not None:
        refuse_out_of_range("sample", sample, 1)
    given = set(roles)
    for role in given:
        refuse_unknown("roles", role, get_args(Role))
    return AnchorChoice(tuple(role for role in get_args(Role) if role in given), sample)


def _surveyed(
    truth: Truth, session: str, policy: SlicePolicyV1, choice: AnchorChoice
) -> tuple[SurveyedSession, SessionAtlas]:
    with truth.database.reading():
        heads = truth.sessions.heads(session)
        graph = truth.sessions.whole(session)
    found = _made(graph, policy, choice)
    turns, links, annotations = heads
    names = _named(turns), _named(links), _named(annotations)
    lengths = turns.length, links.length, annotations.length
    return SurveyedSession(session, *lengths, heads=names, result=found.digest), found


def _made(graph: CompactSession, policy: SlicePolicyV1, choice: AnchorChoice) -> SessionAtlas:
    anchors = chosen_anchors(graph, choice)
    threads = min(processors(), len(anchors) // _LEAST_FOR_A_THREAD) if graph.kernel is not None else 0
    if threads < 2:
        return SessionAtlas(graph, survey(graph, anchors, policy))
    with ThreadPoolExecutor(threads) as pool:
        return SessionAtlas(graph, survey(graph, anchors, policy, pool.map, threads))


def _named(head: ChainHead) -> str:
    return f"sha256:{head.hash.hex()}" if head.hash else ""


def replay(truth: Truth, printed: "PrintedAtlas") -> Iterator[AtlasCheck]:
    """Makes an atlas again, from its sessions as they were then, and compares the results and the listed figures."""
    manifest = printed.manifest
    policy = policy_from(manifest.policy)
    made: list[SessionAtlas] = []
    for state in manifest.sessions:
        answer, message, found = _replayed(truth, state, policy, manifest.anchors)
        made += [found] if found is not None else []
        yield AtlasCheck(state.session, answer, message)
    if len(made) == len(manifest.sessions):
        again = Atlas(manifest, tuple(made), policy).as_json(printed.limit)
        if other := [name for name, value in printed.figures.items() if _text(value) != _text(again.get(name))]:
            yield AtlasCheck(
                None, "BROKEN", f"the figures in the file are not those of its manifest: {', '.join(other)}"
            )


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _replayed(
    truth: Truth, state: SurveyedSession, policy: SlicePolicyV1, choice: AnchorChoice
) -> tuple[Answer, str, SessionAtlas | None]:
    """Returns what became of a session, and its figures if they are those of then."""
    then = SessionLengths(state.turns, state.links, state.annotations)
    with truth.database.reading():
        now = truth.sessions.heads(state.session)
        if not now[0].length:
            return "UNVERIFIABLE", "the session is not stored here", None
        heads = truth.sessions.heads(state.session, then)
        for name, length, stated, found in zip(_CHAINS, then, state.heads, heads, strict=True):
            if (length, stated) != (found.length, _named(found)):
                return "BROKEN", f"the session did not have these {name}", None
        try:
            graph = truth.sessions.at(state.session, then)
        except SlicebaseError as error:
            return "BROKEN", f"the session cannot be read as it was then: {error}", None
    made = _made(graph, policy, choice)
    if made.digest != state.result:
        return "BROKEN", f"the figures differ: {made.digest} instead of {state.result}", None
    return "VERIFIED", _since(then, now), made


def _since(then: SessionLengths, now: Iterable[ChainHead]) -> str:
    """Says what was added to a session."""
    more = [
        f"{head.length - length} {name}"
        for name, length, head in zip(_CHAINS, then, now, strict=True)
        if head.length > length
    ]
    return f"added since then: {', '.join(more)}" if more else "unchanged since then"


class PrintedAtlas(NamedTuple):
    """A manifest, and the figures that are printed with it, by name; none if it is alone."""

    manifest: AtlasManifest
    figures: dict[str, Any]

    @property
    def limit(self) -> int:
        """How many rows the longest list has."""
        return max((len(value) for value in self.figures.values() if isinstance(value, list)), default=0) or 1


def read_atlas(data: bytes) -> PrintedAtlas:
    """Reads the manifest of an atlas, alone or in the output of `tt atlas --json`."""
    value = read_json(data, what="the atlas", unique=True)
    inner, figures = value, {}
    if isinstance(value, dict) and "manifest" in value:
        inner = value["manifest"]
        figures = {name: each for name, each in value.items() if name not in ("manifest", "schema_version")}
    try:
        manifest = msgspec.convert(inner, AtlasManifest, strict=True)
        for state in manifest.sessions:
            state.session.encode()
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        hint = "give the output of `tt atlas --json`"
        raise SlicebaseError("bad-atlas", f"this is not the manifest of an atlas: {error}", hint=hint) from None
    if manifest.atlas != ATLAS:
        hint = f"this version makes {ATLAS}"
        raise SlicebaseError("bad-atlas", f"the figures of {manifest.atlas!r} are not known", hint=hint)
    if not manifest.sessions:
        raise SlicebaseError("bad-atlas", "there is nothing to make again: the atlas has no session")
    return PrintedAtlas(manifest, figures)


def sessions_of(parts: Parts, session: str | None, *, every: bool) -> Sequence[str]:
    """Returns the sessions that an atlas is made of: one, all that have turns, or the newest."""
    if session is not None:
        if every:
            raise SlicebaseError("bad-arguments", "an atlas is that of one session or of every session")
        parts.truth.turns.session(session)  # an unknown session is an error, not an empty one
        return [session]
    if every:
        return [each.id for each, turns in parts.truth.turns.sessions() if turns]
    from slicebase.verbs.sessions import list_sessions

    found = list_sessions(parts, limit=1)
    if not found:
        raise SlicebaseError("no-session", "there is no session", hint="`tt import` brings conversations in")
    return [found[0].id]
