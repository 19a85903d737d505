"""Small transcripts for tests: texts, calls and results, as turns and as a file of Claude Code."""

import json
from typing import Any

from slicebase.context.lost.judged import CompactedTurns
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

    def interrupt(self) -> Turn:
        return self.user("[Request interrupted by user]")

    def compactions(self) -> list[CompactedTurns]:
        """Returns the compactions, each with the turns since the one before."""
        found = []
        start = 0
        for number, turn in enumerate(self.turns):
            if any(part.summary for part in turn.parts):
                found.append(CompactedTurns(tuple(self.turns[start:number]), (turn,)))
                start = number + 1
        return found

    def as_claude_code(self, session: str) -> str:
        """Returns the text of a transcript file with these turns."""
        lines: list[dict[str, Any]] = []
        above = None
        for number, turn in enumerate(self.turns, 1):
            is_summary = any(part.summary for part in turn.parts)
            own = f"00000000-0000-4000-8000-{number:012}"
            lines.append(
                {
                    "parentUuid": above, "uuid": own, "sessionId": session, "cwd": "/repo", "version": "2.1.5",
                    "timestamp": f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
                    "type": "assistant" if turn.role == "assistant" else "user",
                    "message": {"role": "assistant" if turn.role == "assistant" else "user",
                                "content": [_block(part) for part in turn.parts]},
                    **({"isCompactSummary": True} if is_summary else {}),
                }
            )  # fmt: skip
            above = own
        return "".join(json.dumps(line) + "\n" for line in lines)


def _block(part: Part) -> dict[str, Any]:
    if part.type == "tool_call":
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": part.arguments}
    if part.type == "tool_result":
        return {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text, "is_error": part.error}
    return {"type": "text", "text": part.text}
