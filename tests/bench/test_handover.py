"""When a next action is what really came next, and how texts are scored."""

from bench._used import Known, Thing
from bench.handover import Answer, CameNext, Cut, score
from tests.context.transcripts import Transcript


def _cut(prompt: str) -> Cut:
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
    cut = _cut("Show the discount of every basket in the receipt.")
    came = CameNext(Known(cut.before), cut)
    assert came.is_named_by("Mend the failure in cart.py")
    assert came.is_named_by("run `mise run test -- -k orders`")
    assert came.is_named_by("task: each receipt shows the discount of the basket")
    assert not came.is_named_by("Mend the failure of `mise run test`")  # only the family of a command
    assert not came.is_named_by("Count the failed orders of each customer.")
    assert not came.is_named_by("Show the discount.")


def test_without_a_prompt_the_agent_goes_on_with_the_last_one() -> None:
    cut = _cut("")
    assert CameNext(Known(cut.before), cut).is_named_by("prompt: Please count the failed orders of each customer.")


def test_precision_is_the_share_of_what_is_named_and_recall_of_what_is_used() -> None:
    one, two, three = (Thing("file", name) for name in "abc")
    cut = _cut("")
    found = score(
        [
            Answer("m", cut, frozenset([one, two]), frozenset([one]), ()),
            Answer("m", cut, frozenset(), frozenset([three]), ()),
        ]
    )
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert score([], ["file"]).f1 == 0
