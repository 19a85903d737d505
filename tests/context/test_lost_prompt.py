"""Which passages a context of what was lost has room for."""

from slicebase.context.lost import judge
from slicebase.context.lost_prompt import in_order, is_worth_its_room
from tests.context.transcripts import Transcript


def test_a_context_has_rules_open_tasks_and_tests_but_not_every_remark() -> None:
    script = Transcript()
    script.user("Never push to main.")
    script.say("Done: the reader was rewritten.")
    script.user("Write the release notes.")
    script.run("make test", "ok")
    script.call("TodoWrite", {"todos": [{"content": "Measure the import", "status": "pending"}]})
    script.say("- A blue sky was painted on the wall\n- A green bird was put on the roof of the old house")
    script.summary("They talked.")
    passages = in_order(judge(script.compactions()).items)
    worth = {each.text for each in passages if is_worth_its_room(each)}
    assert {"Never push to main.", "Measure the import", "make test"} <= worth
    assert any("blue sky" in each.text for each in passages)
    assert not any("blue sky" in text for text in worth)
