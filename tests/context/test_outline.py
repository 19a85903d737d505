"""The outline of a session has its prompts, decisions and compactions in order, and the files of its calls."""

from msgspec.structs import replace

from slicebase.context.lost.follow import items
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


def test_a_turn_without_a_date_has_no_time_in_it() -> None:
    talk = Transcript()
    for text in ("The first turn is of 1970.", "So is the second, a second later.", "This one is not."):
        talk.user(text)
    turns = [*talk.turns[:-1], replace(talk.turns[-1], time=10**12)]
    assert [step["time"] for step in outline(turns)["steps"] if step["kind"] == "prompt"] == [
        None,
        None,
        "2001-09-09T01:46:40.000Z",
    ]


def test_a_prompt_says_who_speaks() -> None:
    talk = Transcript()
    asked = talk.user("Please deploy it.")
    named = replace(asked, parts=(Part("text", text="Please deploy it.", name="Annabella"),))
    assert [step["text"] for step in outline([named])["steps"]] == ["Annabella: Please deploy it."]
