"""What tools share: the environment of a call, arguments and results."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Provenance
from slicebase.mcp.refusals import for_agents
from slicebase.workspace.doors import Redaction, is_on
from slicebase.workspace.surroundings import Clock, Entropy
from slicebase.workspace.writer import client_name

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.shown import ShownTurns


class ServerEnvironment(NamedTuple):
    """What a server works with: a folder, the session that its writes are signed with, a clock and random bytes.

    A workspace is opened for one call and closed after it. So nothing happens before the first call, several servers
    can share a workspace, and a server that is killed leaves nothing half done.
    """

    start: Path
    root: Path | None
    session: str
    read_only: bool = False
    clock: Clock = time.time
    entropy: Entropy = os.urandom
    redact: bool = True
    progress: Callable[[str], None] = lambda what: None  # is told what a call does; ends one nobody waits for any more
    go_on: Callable[[], None] = lambda: None  # ends a call nobody waits for any more
    as_ours: Callable[[Exception], SlicebaseError | None] = lambda error: None  # for errors that are not ours
    within: "ShownTurns | None" = None  # what claims and conflicts may cite, if not everything

    def open(self) -> "Slicebase":
        """Opens the workspace for one call."""
        from slicebase.base import Slicebase

        around: dict[str, Any] = {"clock": self.clock, "entropy": self.entropy, "redact": self.redact}
        base = Slicebase.open(self.start, self.root, create=False, **around)
        base.before_first_write = self.go_on
        base.index_progress = lambda done, total: self.progress(f"{done:,} of {total:,} files read")
        return base

    def shown(self, error: SlicebaseError) -> SlicebaseError:
        """Returns an error as an agent sees it: without the secrets of a call, and with the names of tools."""
        redaction = Redaction(self.start, lambda: None, enabled=self.redact and is_on(os.environ))
        return for_agents(redaction.error(error))


class McpClient(NamedTuple):
    """What a client says about itself, as it says it."""

    name: str
    version: str = ""


class ToolCall(NamedTuple):
    """One call of a client: the open workspace, and who the client is."""

    environment: ServerEnvironment
    base: "Slicebase"
    client: McpClient | None

    @property
    def now(self) -> int:
        return self.base.surroundings.now()

    def progress(self, what: str) -> None:
        """Tells the client what the call does now, if it asked for that. Ends a call that nobody waits for any more."""
        self.environment.progress(what)

    @property
    def half_life(self) -> float:
        return self.base.settings.freshness_half_life_days

    def signed(self, **provenance: Any) -> Provenance:
        """Returns the provenance of a write, signed with the name of the client and the session.

        Where the settings ask for provenance, it also says how the text is known, and where it was written.
        """
        redacted = self.base.surroundings.redaction.text
        name, version = (client_name(text, redacted) for text in self.client or McpClient(""))
        given = Provenance(agent=name or None, session=self.environment.session, **provenance)
        if not self.base.settings.provenance_enabled:
            return given
        captured = self.base.surroundings.writer(f"{name} {version}".strip() or "a client")
        return replace(given, source=given.source or captured.source, context=given.context or captured.context)


class ToolOutput(NamedTuple):
    """The result of a tool: as values, and as text. The text is one of the values, for clients that show only these."""

    value: Struct
    text: str

    @property
    def structured(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self.value)
        return {"text": self.text, **values}

    def redacted(self, counts: Mapping[str, int]) -> "ToolOutput":
        """Returns the result with what was replaced in the arguments of the call, by rule."""
        if not counts:
            return self
        has_field = "redacted" in self.value.__struct_fields__
        listed = ", ".join(f"{count} {rule}" for rule, count in counts.items())
        value = replace(self.value, redacted=dict(counts)) if has_field else self.value
        return ToolOutput(value, f"{self.text}\nRedacted: {listed}")


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool."""


class Result(Struct, frozen=True, omit_defaults=True):
    """A value of a result. A key with its default value is left out."""


class ToolResult(Result, frozen=True, kw_only=True):
    """The result of a tool. Stored text is in its text only, fenced; all else are references, figures and our words."""

    text: str = ""
