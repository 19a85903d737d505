"""Small transcripts for tests: texts, calls and results."""

from typing import Any

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Parent, Part, Role, Turn


class Transcript:
    """Turns in a chain, as in the session of a coding agent."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def add(self, role: Role, *parts: Part, after: int = -1) -> Turn:
        number = len(self.turns)
        above = (Parent(self.turns[after].id),) if self.turns else ()
        turn = Turn(turn_id("test", "lost", number), "s", role, parts, number * 1000, above, f"sha256:{number}")
        self.turns.append(turn)
        return turn

    def user(self, text: str) -> Turn:
        return self.add("user", Part("text", text=text))

    def say(self, text: str) -> Turn:
        return self.add("assistant", Part("text", text=text))

    def call(self, name: str, arguments: Any, result: str = "", *, error: bool = False) -> Turn:
        """Adds a call and its result, and returns the turn of the call."""
        call_id = f"c{len(self.turns)}"
        called = self.add("assistant", Part("tool_call", name=name, arguments=arguments, call_id=call_id))
        self.add("tool", Part("tool_result", text=result, call_id=call_id, error=error))
        return called

    def run(self, command: str, result: str = "", *, error: bool = False) -> Turn:
        return self.call("Bash", {"command": command}, result, error=error)

    def summary(self, text: str) -> Turn:
        return self.add("system", Part("text", text=text, summary=True))
