"""What benchmarks measure: what a handover names of what is used, and how much of an answer is found."""

import json
from collections import Counter
from hashlib import sha256
from xml.etree import ElementTree

from bench._plot import plot
from bench._recall_methods import ours, recency
from bench._recall_sets import CODING, HALVES, Asked, History, coding_questions, turn_of, workspace
from bench._used import Known, Thing
from bench.handover import Answer, CameNext, Cut, score
from bench.recall import Delivered, interval, measure
from slicebase.core.ids import is_uuid, turn_id
from slicebase.graph.turn import Part
from tests.context.transcripts import Transcript


def _file(name: str) -> Thing:
    return Thing("file", name)


def _known() -> Known:
    """Returns what a session shows: two files of one name, a command, declared, spoken and local names."""
    script = Transcript()
    script.call(
        "Glob",
        {"pattern": "**/*.py"},
        "/repo/shop/cart.py\n/repo/shop/hooks.py\n/repo/mail/hooks.py\n/repo/shop/tax.py",
    )
    script.call("Read", {"file_path": "/repo/shop/cart.py"}, "    1→def apply_code(code):\n    2→    max_tries = 3")
    script.run("cd /repo && pytest -q tests/test_cart.py::test_empty_cart", "1 passed in test_other_cart")
    script.run("mise run lint", "ok")
    script.say("The limit is `TRY_LIMIT`, not `max_tries`.")
    return Known(script.turns)


def test_an_edited_file_is_used_and_a_read_right_before_the_edit_adds_nothing() -> None:
    script = Transcript()
    script.call("Read", {"file_path": "/repo/shop/cart.py"}, "x")
    script.call("Edit", {"file_path": "/repo/shop/cart.py", "old_string": "a", "new_string": "b"}, "updated")
    assert _known().used(script.turns) == {_file("shop/cart.py")}
    refused = Transcript()
    refused.call("Read", {"file_path": "/repo/shop/cart.py"}, "x")
    refused.call("Edit", {"file_path": "/repo/shop/cart.py", "old_string": "a", "new_string": "b"}, "No.", error=True)
    assert not _known().used(refused.turns)


def test_a_file_that_is_read_searched_or_looked_into_is_used_and_one_that_is_only_listed_is_not() -> None:
    script = Transcript()
    script.call("Read", {"file_path": "shop/cart.py"}, "x")
    script.call("Grep", {"pattern": "x", "path": "/repo/mail/hooks.py"}, "/repo/shop/tax.py:1: x")
    script.run("git show HEAD:shop/hooks.py", "x")
    script.run("ls shop/tax.py && git status", "shop/tax.py")
    script.call("Glob", {"pattern": "shop/*.py"}, "shop/tax.py")
    assert _known().used(script.turns) == {_file("shop/cart.py"), _file("mail/hooks.py"), _file("shop/hooks.py")}


def test_a_command_that_is_run_again_is_used_with_other_flags_and_its_tests_by_their_names() -> None:
    script = Transcript()
    script.run("mise run lint --fix 2>&1 | tail -3", "ok")
    script.run("pytest -x tests/test_cart.py -k test_empty_cart", "failed: test_other_cart", error=True)
    script.run("make deploy", "ok")  # was never run before
    assert _known().used(script.turns) == {
        Thing("command", "mise run lint"),
        Thing("command", "pytest"),
        Thing("test", "test_empty_cart"),
        _file("tests/test_cart.py"),
    }


def test_a_name_is_used_where_the_agent_writes_it_and_not_where_it_is_printed_or_said() -> None:
    printed = Transcript()
    printed.run("git status", "apply_code TRY_LIMIT mise run lint shop/cart.py")
    printed.say("I know `apply_code` in shop/cart.py.")
    printed.user("See TRY_LIMIT.")
    assert not _known().used(printed.turns)
    script = Transcript()
    script.call("Grep", {"pattern": "def apply_code"}, "x")
    change = {"old_string": "keep(TRY_LIMIT)\nreturn 1", "new_string": "keep(TRY_LIMIT)\nreturn max_tries"}
    script.call("Edit", {"file_path": "/repo/shop/tax.py", **change}, "updated")
    assert _known().used(script.turns) == {Thing("identifier", "apply_code"), _file("shop/tax.py")}
    told = Transcript()
    told.call("Task", {"prompt": "Rename TRY_LIMIT in shop/tax.py."}, "done")
    assert _known().used(told.turns) == {Thing("identifier", "TRY_LIMIT"), _file("shop/tax.py")}


def test_a_text_names_known_things_a_file_also_by_a_name_that_no_other_has() -> None:
    known = _known()
    assert known.named("Edit tax.py, hooks.py and new.py.") == {_file("shop/tax.py")}
    assert known.named('Bash {"command":"cd /repo\\nmise run lint"}') == {Thing("command", "mise run lint")}
    assert known.named("We use pytest; apply_code_twice and max_tries are no names.") == frozenset()
    assert known.named("`pytest` tries `apply_code`") == {Thing("command", "pytest"), Thing("identifier", "apply_code")}


def test_an_edit_of_a_trajectory_changes_the_file_that_was_opened_before() -> None:
    before, after = Transcript(), Transcript()
    for text in ("open src/fields.py 12", "python reproduce.py"):
        before.add("assistant", Part("tool_call", name=text.split()[0], arguments=text))
    for text in ("edit 3:4\n    return 1\nend_of_edit", "python reproduce.py"):
        after.add("assistant", Part("tool_call", name=text.split()[0], arguments=text))
    assert Known(before.turns).used(after.turns) == {
        _file("src/fields.py"),
        _file("reproduce.py"),
        Thing("command", "python reproduce.py"),
    }


def _cut_before(prompt: str) -> Cut:
    before, after = Transcript(), Transcript()
    before.user("Please count the failed orders of each customer.")
    before.call("Read", {"file_path": "/repo/shop/cart.py"}, "def apply_code(): ...")
    before.run("mise run test", "1 failed")
    if prompt:
        after.user(prompt)
    after.call("Edit", {"file_path": "/repo/shop/cart.py", "old_string": "a", "new_string": "b"}, "updated")
    after.run("mise run test -- -k orders", "ok")
    return Cut("s", "prompt", before.turns, after.turns, prompt, "")


def test_an_action_is_right_if_it_names_a_used_thing_a_command_that_is_run_or_the_words_of_the_prompt() -> None:
    cut = _cut_before("Show the discount of every basket in the receipt.")
    came = CameNext(Known(cut.before), cut)
    assert came.is_named_by("Mend the failure in cart.py")
    assert came.is_named_by("run `mise run test -- -k orders`")
    assert came.is_named_by("task: each receipt shows the discount of the basket")
    assert not came.is_named_by("Mend the failure of `mise run test`")  # only the family of a command
    assert not came.is_named_by("Count the failed orders of each customer.")
    assert not came.is_named_by("Show the discount.")


def test_without_a_prompt_the_agent_goes_on_with_the_last_one() -> None:
    cut = _cut_before("")
    assert CameNext(Known(cut.before), cut).is_named_by("prompt: Please count the failed orders of each customer.")


def test_precision_is_the_share_of_what_is_named_and_recall_of_what_is_used() -> None:
    one, two, three = (Thing("file", name) for name in "abc")
    cut = _cut_before("")
    found = score(
        [
            Answer("m", cut, frozenset([one, two]), frozenset([one]), ()),
            Answer("m", cut, frozenset(), frozenset([three]), ()),
        ]
    )
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert score([], ["file"]).f1 == 0


# Recall


def _own(number: int) -> str:
    return turn_id("bench", "s", number)


def test_a_question_is_answered_by_all_of_its_turns_or_by_any() -> None:
    asked = Asked("Why?", frozenset("ab"))
    assert [asked.answered_by(found) for found in ("", "ac", "abc")] == [0, 0.5, 1]
    assert [asked._replace(each_answers=True).answered_by(found) for found in ("c", "ac")] == [0, 1]


def test_recall_is_that_of_the_ranking_and_of_what_a_context_delivers_whole_or_as_an_excerpt() -> None:
    texts = [
        "The tide turns at noon.",
        "Lamps " * 3_000 + "stand near the harbour.",
        "Bread is baked daily.",
        "Thanks!",
    ]
    turns = [
        turn_of(_own(at), "s", "user", text, 1_700_000_000_000 + at, _own(at - 1) if at else None)
        for at, text in enumerate(texts)
    ]
    questions = [
        Asked("When does the tide turn?", frozenset([_own(0)])),
        Asked("Where is the harbour?", frozenset([_own(1)])),
        Asked("Who?", frozenset([turn_id("bench", "elsewhere", 0)])),  # no turn answers it: it is not asked
    ]
    with workspace(turns) as memory:
        history = History(memory, questions)
        found = measure([history], {"ours": ours, "recency": recency}, [2_000])
        assert history.neighbours[_own(0)] == [_own(0), _own(1), _own(2)]
    tide, harbour = found["ours"]
    assert (tide.ranked[0], harbour.ranked[0]) == (_own(0), _own(1))
    assert tide.figures == (1, 1, 1, 1, 1, 1)
    assert (tide.delivered, harbour.delivered) == ((Delivered(1, 1, 1),), (Delivered(1, 1, 0),))
    assert found["recency"][0].ranked == [_own(3), _own(2), _own(1), _own(0)]
    assert found["recency"][0].reciprocal_rank == 0.25


def test_an_interval_leaves_out_a_fortieth_of_the_means_on_each_side() -> None:
    samples = [[0, 0], [1, 1], *[[0, 1]] * 38]
    assert interval([0.0, 1.0], samples) == (0.5, 0.5)
    assert interval([0.0, 1.0], [[0, 0], *samples]) == (0, 0.5)


def test_questions_about_coding_sessions_are_in_halves_by_a_fixed_rule() -> None:
    sessions = {each["file"]: each for each in json.loads(CODING.read_text())["sessions"]}
    count: Counter[str] = Counter(dict.fromkeys(HALVES, 0))
    for file in sorted(sessions, key=lambda name: sha256(name.encode()).digest()):
        assert sessions[file]["half"] == min(HALVES, key=count.__getitem__)
        count[sessions[file]["half"]] += len(sessions[file]["questions"])
        assert len(sessions[file]["questions"]) <= 8
    assert count == {"tune": 30, "report": 30}
    asked = [each for half in HALVES for each in coding_questions(half)]
    assert len({each.text for each in asked}) == len(asked)
    assert all(1 <= len(each.evidence) <= 4 and all(map(is_uuid, each.evidence)) for each in asked)


def test_a_plot_has_a_line_and_a_name_for_each_series_and_names_do_not_cover_each_other() -> None:
    text = plot("A <title>", "µs", {"one & only": [(10, 1.5), (1000, 2)], "other": [(10, 1), (1000, 2.01)]})
    picture = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f"{space}polyline")) == 2
    names = [each for each in picture.iter(f"{space}text") if each.text in ("one & only", "other")]
    first, second = (float(each.attrib["y"]) for each in names)
    assert abs(first - second) >= 12
