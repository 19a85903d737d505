"""A history for agents of pydantic-ai over the turns of a workspace, and its tools as a toolset.

    with Slicebase.open(".") as memory:
        history = SlicebaseHistory("support-42", memory)
        agent = Agent(model, capabilities=[history], toolsets=[SlicebaseToolset(memory)])
        await agent.run("How are codes compared?", message_history=await history.messages())

Messages come back as they were given. They are turns at the same time: searched, cited, verified, and judged after a
compaction, which happens when the history passes a number of tokens. docs/adapters.md says how.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai import AbstractToolset, ModelRetry, RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    SystemPromptPart,
    TextContent,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.toolsets import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from slicebase.base import Slicebase
from slicebase.core.hashing import tokens as tokens_of
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import plain_text
from slicebase.importers.json_stream import repaired
from slicebase.importers.model_messages import ADDED_BY, ModelMessageJson, message_content, message_parts
from slicebase.library.narratives import shorter_narrative
from slicebase.mcp.calls import McpClient, ServerEnvironment
from slicebase.mcp.refusals import refusal_text
from slicebase.mcp.tools import call_tool, offered, schema
from slicebase.verbs.conversation import LiveConversation

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    from slicebase.verbs.lost import Losses

FORMAT_OF_MESSAGES: Final = "pydantic-ai"
_LEAST: Final = 2_000  # tokens of a history: less has no room for a narrative
_LONGEST_PART: Final = 4_000  # tokens of a narrative, and of what was lost


# History


class SlicebaseHistory(AbstractCapability[Any]):
    """The messages of a session. Verbs run in a thread, so that the event loop is not blocked.

    A history of more than `tokens` is compacted before the next request: the narrative of the session replaces the
    older messages, and the request has what it lost beside its prompt.
    """

    def __init__(self, session_id: str, memory: Slicebase, *, tokens: int = 100_000) -> None:
        if tokens < _LEAST:
            hint = f"give {_LEAST} or more"
            raise SlicebaseError("bad-budget", f"a history of {tokens} tokens is too small", hint=hint)
        self.session_id, self.tokens = session_id, tokens
        self._memory = memory
        self._conversation = LiveConversation(memory, session_id, FORMAT_OF_MESSAGES, message_content)

    async def messages(self) -> list[ModelMessage]:
        """Returns the messages as they are now, for `message_history`."""
        return _loaded(await asyncio.to_thread(self._conversation.items))

    async def lost(self, prompt: str | None = None) -> "Losses":
        """Returns what compactions of the session lost; with a prompt, also what of it the prompt asks for."""
        return await asyncio.to_thread(lambda: self._memory.lost(self.session_id, prompt=prompt))

    async def process(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Keeps the messages of a request, and returns those to send: the same ones, unless they are too many.

        The last message is the request itself. It is not complete yet, and is kept with the next one.
        """
        return await asyncio.to_thread(self._process, messages)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: "ModelRequestContext"
    ) -> "ModelRequestContext":
        """Processes the messages, in the request and in the history of the run."""
        messages = await self.process(list(request_context.messages))
        request_context.messages = messages.copy()
        ctx.messages[:] = messages
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: "AgentRunResult[Any]") -> "AgentRunResult[Any]":
        """Keeps the last messages of a run."""
        await asyncio.to_thread(self._conversation.become, _dumped(result.all_messages()))
        return result

    async def on_node_run_error(self, ctx: RunContext[Any], *, node: Any, error: Exception) -> Any:
        """Keeps the messages of a run that failed."""
        await asyncio.to_thread(self._conversation.become, _dumped(ctx.messages))
        raise error

    def _process(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        given = _dumped(messages)
        items, replaced = self._conversation.become(given[:-1])
        if replaced:
            messages, given = [*_loaded(items[:1]), *messages[replaced:]], [items[0], *given[replaced:]]
        given = [repaired(each)[0] for each in given]
        sizes = [tokens_of(plain_text(message_parts(each))) for each in given]
        if sum(sizes) <= self.tokens:
            return messages
        start = _start_of_tail(messages, sizes, self.tokens // 4)
        if start == 0 or (start == 1 and _is_compacted(messages[0])):
            return messages
        return self._compacted(messages, start, next(filter(None, map(_prompt, reversed(given))), None))

    def _compacted(self, messages: list[ModelMessage], start: int, prompt: str | None) -> list[ModelMessage]:
        text = self._narrative()
        system = [part for each in messages[:start] for part in each.parts if isinstance(part, SystemPromptPart)]
        summary = ModelRequest(parts=[*system, CompactionPart(text, metadata={ADDED_BY: "narrative"})])
        self._conversation.compact(text, _dumped([summary])[0], kept=len(messages) - 1 - start)
        room = min(_LONGEST_PART, self.tokens // 8) + tokens_of(self.session_id)
        lost = self._memory.lost_context(self.session_id, max(500, room), prompt=prompt)
        now = datetime.fromtimestamp(self._memory.surroundings.now() / 1000, UTC)
        last = _with_text(messages[-1], lost.text, lost.id, now) if lost.pieces else messages[-1]
        return [summary, *messages[start:-1], last]

    def _narrative(self) -> str:
        narrative, room = self._memory.narrate_session(self.session_id), min(_LONGEST_PART, self.tokens // 4)
        if tokens_of(narrative.text) <= room:
            return narrative.text
        file = self._memory.library.folder.find(narrative.file_id)
        return shorter_narrative(self._memory.truth, file, room) or narrative.text


def _dumped(messages: Sequence[ModelMessage]) -> list[ModelMessageJson]:
    dumped: list[ModelMessageJson] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return dumped


def _loaded(items: Sequence[ModelMessageJson]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(json.dumps(items))


def _prompt(message: ModelMessageJson) -> str:
    """Returns the words of a person in a message."""
    role, parts = message_content(message)
    said = (part.text for part in parts if role == "user" and part.type == "text" and part.text)
    return "\n\n".join(said).strip()


def _is_compacted(message: ModelMessage) -> bool:
    return any(isinstance(part, CompactionPart) for part in message.parts)


def _start_of_tail(messages: Sequence[ModelMessage], sizes: Sequence[int], room: int) -> int:
    """Returns where the messages begin that stay: the last ones for which there is room.

    They begin with a response, and have the calls of all results in them.
    """
    start, used = len(messages) - 1, sizes[-1]
    while start and used + sizes[start - 1] <= room:
        start -= 1
        used += sizes[start]
    calls = {call: place for place, each in enumerate(messages) for call in _ids(each, is_call=True)}
    place = len(messages)
    while place > start:
        place -= 1
        answered = (calls[call] for call in _ids(messages[place], is_call=False) if call in calls)
        start = min([start, *answered])
        while start and place == start and isinstance(messages[start], ModelRequest):
            start -= 1
    return start


def _ids(message: ModelMessage, *, is_call: bool) -> list[str]:
    """Returns the ids of the calls of tools in a message, or of the calls that it has results of."""
    if not is_call and isinstance(message, ModelRequest):
        return [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
    kind = "tool-call" if is_call else "tool-return"
    ids = (getattr(part, "tool_call_id", None) for part in message.parts if part.part_kind.endswith(kind))
    return [each for each in ids if each]


def _with_text(message: ModelMessage, text: str, manifest: str, now: datetime) -> ModelMessage:
    """Returns a request with a text before its prompt, and after the results of tools, which come first."""
    assert isinstance(message, ModelRequest)
    results = [part for part in message.parts if isinstance(part, ToolReturnPart)]
    others = [part for part in message.parts if not isinstance(part, ToolReturnPart)]
    added = UserPromptPart([TextContent(text, metadata={ADDED_BY: manifest})], timestamp=now)
    return replace(message, parts=[*results, added, *others])


# Tools


class SlicebaseToolset(AbstractToolset[Any]):
    """The tools of the MCP server, with the same results: stored text is labelled as data and fenced.

    A call that is refused raises `ModelRetry` with the reason and a hint. Writes are signed with the conversation.
    """

    def __init__(
        self, memory: Slicebase, *, read_only: bool = False, id: str = "slicebase", max_retries: int | None = None
    ) -> None:
        self._id, self._max_retries = id, max_retries
        self._tools = offered(read_only)
        around = memory.surroundings
        self._environment = ServerEnvironment(
            memory.root, memory.root, "", read_only, around.clock, around.entropy, around.redaction.enabled
        )

    @property
    def id(self) -> str:
        """The id of the toolset, which is unique for an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Returns the tools. Those that write are called one after another."""
        most = ctx.max_retries if self._max_retries is None else self._max_retries
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=name,
                    description=tool.description,
                    parameters_json_schema=schema(tool.takes),
                    sequential=tool.writes,
                ),
                max_retries=most,
                args_validator=_ARGUMENTS,
            )
            for name, tool in self._tools.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Calls a tool, and returns its result as text."""
        around = self._environment._replace(session=ctx.conversation_id or ctx.run_id or self._id)
        client = McpClient(FORMAT_OF_MESSAGES)
        try:
            return (await asyncio.to_thread(call_tool, around, client, self._tools[name], tool_args)).text
        except SlicebaseError as error:
            raise ModelRetry(refusal_text(around.shown(error))) from error


_ARGUMENTS: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))  # the tool says what is wrong
