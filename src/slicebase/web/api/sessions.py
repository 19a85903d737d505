"""Sessions and their turns: lists, the tree of a session, a branch as a chat, and what compactions lost."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from slicebase.context.lost.rows import LossRow, loss_row
from slicebase.errors import SlicebaseError
from slicebase.verbs.chat import MOST_TURNS, ChatWindow
from slicebase.verbs.session_view import SessionView, WholeTurn
from slicebase.verbs.sessions import SessionRow, session_row
from slicebase.verbs.tree import MOST_ROWS, TreeWindow
from slicebase.web.endpoints import AddressText, Name, Paged, Parameters, cursor_of, get, read_cursor

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_LARGEST: Final = 2**53 - 1
RowNumber = Annotated[int, Meta(ge=0, le=_LARGEST, description="The number of a turn in its session, from 0.")]
RowCount = Annotated[int, Meta(ge=1, le=MOST_ROWS)]
TurnCount = Annotated[int, Meta(ge=0, le=MOST_TURNS)]


class SessionsQuery(Paged, frozen=True, kw_only=True):
    """Which sessions are listed: a query as `tt turns` takes it."""

    query: AddressText = ""


class SessionPage(Struct, frozen=True):
    """Sessions, the newest first, and the cursor of the next page."""

    rows: tuple[SessionRow, ...]
    next: str | None


def list_sessions(memory: "Slicebase", asked: SessionsQuery) -> SessionPage:
    """Lists the sessions that have a turn that a query finds, the newest first."""
    after = read_cursor(asked)
    try:
        found = memory.graph.sessions(asked.query, asked.limit + 1, after=after)
    except SlicebaseError as error:
        if after is None or error.code != "no-session":
            raise
        raise SlicebaseError("bad-cursor", str(error), hint="begin without a cursor") from None
    shown = found[: asked.limit]
    is_last = len(found) <= asked.limit
    return SessionPage(tuple(map(session_row, shown)), None if is_last else cursor_of(asked, shown[-1].id))


class SessionQuery(Parameters, frozen=True, kw_only=True):
    """A session."""

    session: Name


def session(memory: "Slicebase", asked: SessionQuery) -> SessionView:
    """Returns one session: its figures, its compactions, its subagents, and what it continues."""
    return memory.graph.session(asked.session)


class TreeQuery(Parameters, frozen=True, kw_only=True):
    """Rows of a tree: from a number on, or around a turn."""

    session: Name
    first: RowNumber = 0
    limit: RowCount = 200
    turn: Annotated[str, Meta(max_length=1000)] = ""


def tree(memory: "Slicebase", asked: TreeQuery) -> TreeWindow:
    """Returns rows of a session's tree, with the lanes of its branches."""
    return memory.graph.tree(asked.session, asked.first, asked.limit, turn=asked.turn or None)


class ReadingQuery(Parameters, frozen=True, kw_only=True):
    """A turn, and how many turns of its branch are shown on each side of it."""

    turn: Name
    before: TurnCount = 20
    after: TurnCount = 20
    alone: Annotated[bool, Meta(description="Whether the turn itself is shown, too.")] = True


def reading(memory: "Slicebase", asked: ReadingQuery) -> ChatWindow:
    """Returns the turns of a branch around a turn, as a chat."""
    return memory.graph.reading(asked.turn, asked.before, asked.after, alone=asked.alone)


class TurnQuery(Parameters, frozen=True, kw_only=True):
    """A turn."""

    turn: Name


def turn(memory: "Slicebase", asked: TurnQuery) -> WholeTurn:
    """Returns a turn with all of its text."""
    return memory.graph.whole(asked.turn)


class LostQuery(Parameters, frozen=True, kw_only=True):
    """A session, and how many items of each compaction are listed."""

    session: Name
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class LostAnswer(Struct, frozen=True):
    """What the compactions of a session lost, oldest first."""

    session: str | None
    compactions: tuple[LossRow, ...]


def lost(memory: "Slicebase", asked: LostQuery) -> LostAnswer:
    """Returns what each compaction of a session kept and lost. It takes about a second a megabyte."""
    found = memory.lost(asked.session)
    return LostAnswer(found.session, tuple(loss_row(loss, asked.limit) for loss in found.compactions))


class AtlasQuery(Parameters, frozen=True, kw_only=True):
    """A session (without one, the newest), the policy and the turns of its slices, and how many rows a list has."""

    session: Annotated[str, Meta(max_length=1000)] = ""
    policy: Annotated[str, Meta(min_length=1, max_length=200, description="A name or a hash.")] = "default"
    role: Literal["", "user", "assistant", "system", "tool"] = ""
    sample: Annotated[int, Meta(ge=1, le=_LARGEST)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10


def atlas(memory: "Slicebase", asked: AtlasQuery) -> dict[str, Any]:
    """Returns which turns of a session matter, by the context slices around its turns. It takes a while."""
    policy = memory.graph.requested_policy(asked.policy)  # never a file
    roles = (asked.role,) if asked.role else ()
    return memory.graph.atlas(asked.session or None, policy, roles=roles, sample=asked.sample).as_json(asked.limit)


# The id of a session may hold `#` and `/`, so it is always the end of a path.
ENDPOINTS: Final = (
    get("/sessions", "graph.sessions", list_sessions),
    get("/sessions/{session:path}", "graph.session", session),
    get("/trees/{session:path}", "graph.tree", tree),
    get("/lost/{session:path}", "lost", lost),
    get("/atlas", "graph.atlas", atlas, is_long=True),
    get("/readings/{turn}", "graph.reading", reading),
    get("/turns/{turn}", "graph.whole", turn),
)
