"""What sessions lost, for the next prompt: the ranker of contexts over the turns before, and nothing that is done."""

from pathlib import Path

import pytest

from slicebase.base import Slicebase
from tests.codes import code_of
from tests.context.rendered import pieces_in
from tests.context.transcripts import Transcript

SESSION = "11111111-2222-4333-8444-555555555555"


def stored(folder: Path, script: Transcript, name: str = SESSION) -> Slicebase:
    base = Slicebase.init(folder)
    file = folder / f"{name}.jsonl"
    file.write_text(script.as_claude_code(name))
    base.import_([file])
    return base


def about_a_shop() -> Transcript:
    script = Transcript()
    script.user("why is it broken?")
    script.say("The `parseInvoiceTotal()` helper rounds twice.")
    script.say("`INVOICE_MAX_ROWS` is 500 in production.")
    script.say("Herr Müller owns the account of staging.")
    script.say("서버가 주문을 두 번 저장합니다 그래서 합계가 틀립니다.")
    script.run("grep -n flag shop/flags.py", "12: the discount flag is off by default")
    for number in range(8):
        script.say(f"Unrelated remark number {number} about the frontend colours of page {number}.")
    return script


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("invoice total", "parseInvoiceTotal"),
        ("invocie total", "parseInvoiceTotal"),
        ("max rows", "INVOICE_MAX_ROWS"),
        ("Mueller", "Herr Müller"),
        ("서버", "서버가"),
        ("turn the discount flag on", "the discount flag is off by default"),
    ],
)
def test_a_prompt_finds_what_a_search_finds(prompt: str, words: str, tmp_path: Path) -> None:
    script = about_a_shop()
    script.summary("They talked.")
    with stored(tmp_path, script) as base:
        assert words in base.lost(prompt=prompt).wanted[0].text
        assert words in base.lost_context(SESSION, 600, prompt=prompt).text


def test_what_the_summary_says_is_not_given_again_and_a_prompt_without_content_leaves_the_order_to_the_list(
    tmp_path: Path,
) -> None:
    script = about_a_shop()
    script.summary("The `parseInvoiceTotal()` helper rounds twice.")
    with stored(tmp_path, script) as base:
        assert not any("rounds twice" in each.text for each in base.lost(prompt="invoice total").wanted)
        found = base.lost(prompt="yes")
        assert [each.item for each in found.wanted] == list(found.items)


def test_what_was_done_after_the_first_compaction_comes_back_in_nothing_after_the_second(tmp_path: Path) -> None:
    script = Transcript()
    script.user("Send the newsletter to all customers with send_mail.py")
    script.say("I look at send_mail.py first, which needs the flag --really.")
    script.summary("They talked about the shop.")
    script.run("python send_mail.py --really", "sent 12000")
    script.say("Done: the newsletter was sent to all 12,000 customers.")
    script.user("thanks! now write the changelog")
    script.say("The changelog is written in CHANGES.md, with the section 2.1.")
    script.summary("They talked about the shop again.")
    script.user("Never send it twice.")
    prompt = "send the newsletter"
    with stored(tmp_path, script) as base:
        found = base.lost(prompt=prompt)
        texts = [
            *(each.text for each in found.items),
            *(each.text for each in found.wanted),
            base.lost_context(SESSION, 2000).text,
            base.lost_context(SESSION, 2000, prompt="go on with the next thing").text,
        ]
        for text in texts:
            assert "Send the newsletter to all customers with" not in text
            assert "now write the changelog" not in text
            assert "python send_mail.py" not in text
        assert "the newsletter was sent" in base.lost_context(SESSION, 2000).text


def test_what_was_lost_as_of_a_time_is_of_the_compactions_before_it(tmp_path: Path) -> None:
    script = Transcript()
    script.user("Never touch the table of orders.")
    script.summary("They talked about the shop.")
    script.user("Never touch the table of customers.")
    script.summary("They talked about the shop again.")
    with stored(tmp_path, script) as base:
        times = [turn.time for turn in base.graph.turns(SESSION)]
        found = [base.lost_context(SESSION, as_of=time) for time in times]
        assert ["orders" in each.text for each in found[:3]] == [False, True, True]
        assert ["customers" in each.text for each in found] == [False, False, False, True]
        assert found[3].pieces == base.lost_context(SESSION).pieces
        past = base.lost_context(SESSION, as_of=times[2])
        assert (past.manifest.filters["last"], past.undated) == (past.manifest.as_of, 0)
        assert base.context_again(past.id).id == past.id


def test_what_was_lost_as_of_a_time_stays_the_same_when_sessions_go_on(tmp_path: Path) -> None:
    script = Transcript()
    script.user("Never touch the table of orders.")
    script.user("Never touch the table of customers.")
    script.say("The orders have a lock.")
    script.say("Some customers wait.")
    script.summary("They talked about the shop.")
    prompt = "which orders do customers lock?"
    with stored(tmp_path, script) as base:
        time = base.graph.turns(SESSION)[-1].time

        def past() -> set[str]:
            return {base.lost_context(None, prompt=each, as_of=time).id for each in (None, prompt)}

        before = past()
        script.summary("They talked about the shop again.")  # one compaction, with the summary before
        for number in range(9):
            script.user(f"Never lock order {number}.")
        script.summary("They talked about locks.")
        later = script.as_claude_code("later").replace("00000000-", "00000001-").replace("2026-01-01", "2026-01-02")
        (tmp_path / "later.jsonl").write_text(later)
        (tmp_path / f"{SESSION}.jsonl").write_text(script.as_claude_code(SESSION))
        base.import_(sorted(tmp_path.glob("*.jsonl")))
        assert base.lost().session == "later"
        assert past() == before
        assert code_of(lambda: base.lost_context(as_of="2025-01-01T00:00:00Z")) == "no-session"


def test_a_created_file_is_rendered_as_its_name_and_a_command_as_its_text(tmp_path: Path) -> None:
    script = Transcript()
    script.call("Write", {"file_path": "/repo/tool.py", "content": 'x = "1"\n' * 500}, "File created successfully")
    script.run('go test -run "TestA|TestB" ./...', "ok")
    script.run("rm -rf data\nmake test\nkubectl delete pod a; ruff check \\\n  src\ngit push", "ok")
    script.say("Run it like this:\n\n```bash\nmake lint\nterraform destroy\n```")
    script.summary("They talked.")
    with stored(tmp_path, script) as base:
        text = base.lost_context(SESSION, 2000).text
    shown = [each.text for each in pieces_in(text)]
    assert {"make test", "ruff check \\\n  src", "make lint"} <= set(shown)
    assert not any(each in text for each in ("rm -rf", "kubectl", "git push", "terraform"))
    assert "/repo/tool.py" in shown
    assert 'go test -run "TestA|TestB" ./...' in shown
    assert "x = " not in text


def test_the_cost_of_a_session_that_continues_another_is_what_it_looked_up_itself(tmp_path: Path) -> None:
    script = Transcript()
    script.call("Read", {"file_path": "/repo/a.py"}, "x" * 300)
    script.summary("They talked.")
    script.user("go on")
    script.call("Read", {"file_path": "/repo/a.py"}, "x" * 300)
    lines = script.as_claude_code(SESSION).splitlines(keepends=True)
    other = SESSION[:-1] + "6"
    (tmp_path / f"{SESSION}.jsonl").write_text("".join(lines[:3]))
    (tmp_path / f"{other}.jsonl").write_text("".join(lines[3:]).replace(SESSION, other))
    with Slicebase.init(tmp_path) as base:
        base.import_(sorted(tmp_path.glob("*.jsonl")))
        (own,), (continued,) = base.lost_cost(SESSION), base.lost_cost(other)
    assert (own.tokens, continued.tokens) == (0, 100)


def test_a_session_that_was_never_compacted_has_an_empty_context(tmp_path: Path) -> None:
    script = Transcript()
    script.user("Never push to main.")
    with stored(tmp_path, script) as base:
        assert not base.lost(SESSION)
        assert not base.lost_context(SESSION, 500, prompt="push").pieces


def test_a_context_tells_rules_from_requests_and_from_what_cannot_be_judged(tmp_path: Path) -> None:
    script = Transcript()
    script.user("Never push to main.")
    script.say("Understood.")
    script.user("Bitte niemals direkt auf main pushen, immer eine Branch.")
    script.say("OK.")
    script.user("Add a test for the reader.")
    script.summary("They talked.")
    with stored(tmp_path, script) as base:
        found = pieces_in(base.lost_context(SESSION, 2000).text)
    assert [(each.group, each.text) for each in found] == [
        ("Constraints", "Never push to main."),
        ("Open tasks", "Add a test for the reader."),
        ("Said by the user, not known whether done", "Bitte niemals direkt auf main pushen, immer eine Branch."),
    ]
