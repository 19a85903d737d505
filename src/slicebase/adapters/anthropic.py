"""The memory tool of the `anthropic` package, over the library of a workspace.

    with Slicebase.open(".") as memory:
        client.beta.messages.tool_runner(tools=[SlicebaseMemoryTool(memory)], ...)

A command that is refused raises the package's `ToolError`, whose text is the result that the model gets. Answers are
those of the package's own `BetaLocalFilesystemMemoryTool`; docs/adapters.md lists where they differ.
"""

from typing import Any

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

from slicebase import aio
from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Provenance


class SlicebaseMemoryTool(BetaAbstractMemoryTool):
    """A tool for `tool_runner` that keeps the files of a model as slice files."""

    def __init__(
        self,
        memory: Slicebase,
        *,
        provenance: Provenance | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool, self._provenance = memory.memory_tool, provenance

    def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command and returns its result."""
        try:
            return self._tool.execute(_given(command), provenance=self._provenance)
        except SlicebaseError as error:
            raise ToolError(error.message) from error

    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Forgets every file of the tool; `tt restore` restores one."""
        return self._tool.clear(provenance=self._provenance)


class AsyncSlicebaseMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous `tool_runner`."""

    def __init__(
        self,
        memory: aio.Slicebase,
        *,
        provenance: Provenance | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool, self._provenance = memory.memory_tool, provenance

    async def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command and returns its result."""
        try:
            return await self._tool.execute(_given(command), provenance=self._provenance)
        except SlicebaseError as error:
            raise ToolError(error.message) from error

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Forgets every file of the tool; `tt restore` restores one."""
        return await self._tool.clear(provenance=self._provenance)


def _given(command: BetaMemoryTool20250818Command) -> dict[str, Any]:
    """Returns a command as the input of a tool call: what the package knows of it, without what the model left out."""
    return command.model_dump(include=set(type(command).model_fields), exclude_none=True, warnings=False)
