"""The outline of a session has its prompts, decisions and compactions in order, and the files of its calls."""

from msgspec.structs import replace

from slicebase.context.lost_follow import items
from slicebase.context.outline import outline
from slicebase.graph.turn import Part
from tests.context.transcripts import Transcript


def test_an_outline_has_prompts_decisions_and_compactions_in_order_and_files_by_changes() -> None:
    talk = Transcript()
    asked = talk.user("Which cache should the gateway use?")
    talk.user("<command-name>/exit</command-name>")
    talk.user("[Request interrupted by user]")
    decided = talk.say("Read the code. We decided to use Redis for the cache, because it is there.")
    talk.call("Read", {"file_path": "/repo/read.py"}, "x")
    talk.call("Edit", {"file_path": "/repo/changed.py"}, "ok")
    boundary = talk.summary("The user asked for a cache.")
    talk.summary("It goes on.")
    shown = outline(talk.turns)
    assert [(step["kind"], step["ref"]) for step in shown["steps"]] == [
        ("prompt", f"turn:{asked.id}"),
        ("decision", f"turn:{decided.id}"),
        ("compaction", f"turn:{boundary.id}"),
    ]
    assert [(file["path"], file["changes"]) for file in shown["files"]] == [
        ("/repo/changed.py", 1),
        ("/repo/read.py", 0),
    ]


def test_its_decisions_are_those_that_lost_knows() -> None:
    talk = Transcript()
    talk.user("let's go with option B, and keep the old file name")
    talk.say("The plan is to keep the queue rather than the timer. Good, lots of decisions there.")
    known = [item.text for item in items(talk.turns) if item.kind == "decision"]
    assert known
    assert [step["text"] for step in outline(talk.turns)["steps"] if step["kind"] == "decision"] == known


def test_a_turn_without_a_time_has_none_in_it() -> None:
    talk = Transcript()
    talk.user("The first turn of a transcript is at the beginning of 1970.")
    talk.user("The second one is not.")
    assert [step["time"] for step in outline(talk.turns)["steps"] if step["kind"] == "prompt"] == [
        None,
        "1970-01-01T00:00:01.000Z",
    ]


def test_a_prompt_says_who_speaks() -> None:
    talk = Transcript()
    asked = talk.user("Please deploy it.")
    named = replace(asked, parts=(Part("text", text="Please deploy it.", name="Annabella"),))
    assert [step["text"] for step in outline([named])["steps"]] == ["Annabella: Please deploy it."]
