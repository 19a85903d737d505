"""A `Session` of the OpenAI Agents SDK over the turns of a workspace.

    with Slicebase.open(".") as memory:
        session = SlicebaseSession("support-42", memory)
        await Runner.run(agent, "How are codes compared?", session=session)

Items come back as they were added. They are turns at the same time: searched, cited, verified, and judged after a
compaction. `pop_item` and `clear_session` remove nothing from the workspace; docs/adapters.md says what they do.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agents import SessionABC, TResponseInputItem
from agents.memory import SessionSettings

from slicebase.base import Slicebase
from slicebase.verbs.conversation import LiveConversation

if TYPE_CHECKING:
    from slicebase.verbs.lost import Losses

FORMAT_OF_ITEMS = "openai-agents"
_Result = TypeVar("_Result")


class SlicebaseSession(SessionABC):
    """The conversation of a session. Verbs run in a thread, so that the event loop is not blocked."""

    def __init__(self, session_id: str, memory: Slicebase, *, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._conversation = LiveConversation(memory, session_id, FORMAT_OF_ITEMS)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items in their order; with a limit, the last ones."""
        settings = self.session_settings
        most = limit if limit is not None or settings is None else settings.limit
        items = await _in_thread(self._conversation.items)
        chosen = items if most is None or most < 0 else items[len(items) - most :] if most < len(items) else items
        return cast("list[TResponseInputItem]", chosen)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items, each as a turn after the one before it."""
        await _in_thread(self._conversation.add, cast("list[dict[str, Any]]", items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item back and returns it. Its turn stays, as the end of a branch."""
        return cast("TResponseInputItem | None", await _in_thread(self._conversation.take_back))

    async def clear_session(self) -> None:
        """Clears the items. Their turns stay; `tt purge` removes their content."""
        await _in_thread(self._conversation.clear)

    async def compact(self, summary: str | None = None) -> "Losses":
        """Replaces the items by one summary, and returns what it lost.

        Without a summary, it is the narrative of the session, which needs no model.
        """
        return await _in_thread(self._compact, summary)

    def _compact(self, summary: str | None) -> "Losses":
        if self._conversation.items():
            self._conversation.compact(summary or self._memory.narrate_session(self.session_id).text)
        return self._memory.lost(self.session_id)

    async def lost(self, prompt: str | None = None) -> "Losses":
        """Returns what compactions of the session lost; with a prompt, also what of it the prompt asks for."""
        return await _in_thread(lambda: self._memory.lost(self.session_id, prompt=prompt))


async def _in_thread(verb: Callable[..., _Result], *given: Any) -> _Result:
    return await asyncio.to_thread(verb, *given)
