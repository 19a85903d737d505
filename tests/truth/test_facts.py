"""Facts whose names a source chose: none of them is taken for one that Slicebase derives itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase

SAID: dict[str, Any] = {
    "copy_of": "another",
    "purged": True,
    "shown_last": "not a turn",
    "started": "in May",
    "waits": "for nobody",
}
FACTS = {f"stated.{name}": value for name, value in SAID.items()}


def as_log(path: Path, prompts: list[str]) -> None:
    messages = [{"role": "user", "content": prompt} for prompt in prompts]
    path.write_text(json.dumps({"id": "s1", **SAID, "title": prompts[-1], "messages": messages}))


def as_slice_file(path: Path, prompts: list[str]) -> None:
    meta = "\n".join(f"    {name}: {json.dumps(value)}" for name, value in SAID.items())
    head = f"slice:\n  id: 01KA1111111111111111111111\n  title: {prompts[-1]}\n  summary: s\n"
    body = "  body:\n    type: conversation\n    conversation: {session_id: s1}\n"
    lines = "\n".join(json.dumps({"role": "user", "content": prompt}) for prompt in prompts)
    path.write_text(f"---\n{head}{body}  meta:\n{meta}\n---\n{lines}\n")


@pytest.mark.parametrize("write", [as_log, as_slice_file])
def test_a_source_cannot_say_that_its_session_is_a_copy_or_was_purged(write: Any, tmp_path: Path) -> None:
    """It grows, is listed, and keeps its title and facts like any other, and what the source said is kept."""
    source = tmp_path / "chat.slice"
    with Slicebase.init(tmp_path / "workspace") as memory:
        for prompts in (["one"], ["one", "two"], ["one", "two"]):
            write(source, prompts)
            memory.import_(source)
            (listed,) = memory.graph.sessions()
            assert (listed.title, listed.turns) == (prompts[-1], len(prompts))
            assert (listed.copy_of, listed.is_purged) == ("", False)
        facts = memory.graph.session("s1").facts
        assert facts == {**facts, **FACTS}
        assert memory.lost("s1").session == "s1"
        assert memory.verify().status == "VERIFIED"
