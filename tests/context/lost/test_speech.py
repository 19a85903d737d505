"""Who wrote a text: speech, pasted text, messages of the client; and the points that a text makes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.languages import is_other_language
from slicebase.context.lost.points import MOST, points, without_narration
from slicebase.context.lost.speech import blocks, is_client_result, is_pasted, said_by_user, typed

REPORT = """## Review

**1. Two readers** `a.go:12`

`OpenAll()` is called five times.

**Fix:** Pass the reader on.

Not tested:
- the empty list
- two writers

```go
never(code)
```

| case | ms |
|---|---|
| small | 10 |

> quoted words"""


def test_a_title_belongs_to_the_point_below_it_and_a_short_list_is_one_point() -> None:
    assert [point.text for point in points(REPORT)] == [
        "**1. Two readers** `a.go:12` `OpenAll()` is called five times. **Fix:** Pass the reader on.",
        "Not tested: - the empty list - two writers",
        "| case | ms | | small | 10 |",
    ]


def test_a_point_has_the_heading_above_it() -> None:
    assert next(points(REPORT)).above == "## Review"


@given(st.text(alphabet=st.sampled_from("aB. \n-*#`1)!?>|:~"), max_size=80))
def test_a_point_stands_where_it_says_and_is_not_too_long(text: str) -> None:
    found = list(points(text))
    assert all(" ".join(text[each.start : each.end].split()).startswith(each.text[:1]) for each in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(0 <= block.start < block.end <= len(text) for block in blocks(text))


def test_a_long_paragraph_is_divided_at_its_sentences() -> None:
    text = " ".join(f"Sentence number {number} says something about the reader." for number in range(20))
    found = list(points(text))
    assert len(found) > 2
    assert all(len(each.text) <= MOST for each in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Let me look at the reader.", None),
        ("Now let me check what the reader does here, line by line:", None),
        ("Good. The reader is a type alias. Let me change it.", "The reader is a type alias."),
        ("Reading stops at 10 lines.", "Reading stops at 10 lines."),
        ("Launching a review workflow.", None),
        ("Launching two agents at once breaks it.", "Launching two agents at once breaks it."),
        ("Now let me also check the rest to make sure I don't miss any.", None),
        ("**1. Weak coverage** of the reader.", "**1. Weak coverage** of the reader."),
    ],
)
def test_what_only_announces_the_next_step_is_cut_off(text: str, told: str | None) -> None:
    found = [without_narration(point, text) for point in points(text)]
    assert [point.text for point in found if point] == ([told] if told else [])


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        ("Please look at the reader, it fails for me.", False),
        ("can we use `make_all(x, y)` here?", False),
        ("2026-01-02 10:00:00 started\n2026-01-02 10:00:01 failed", True),
        ("=== RUN TestA\n    a_test.go:7: no\n--- FAIL: TestA", True),
        ("```\nlet's use it\n```", True),
        ("> you should never do that", True),
        ("def f(x): return {x: [y for (y) in z(x)]}", True),
    ],
)
def test_logs_code_and_quotations_are_pasted(text: str, pasted: bool) -> None:
    assert {is_pasted(block) for block in blocks(text)} == {pasted}


@pytest.mark.parametrize(
    "text",
    ["<command-name>/compact</command-name>", "[Request interrupted by user]", "Base directory for this skill: /x"],
)
def test_messages_of_the_client_are_no_prompts(text: str) -> None:
    assert not said_by_user(text).strip()


def test_the_words_that_the_user_gave_to_a_command_of_the_client_are_the_users() -> None:
    text = "<command-name>/fix</command-name><command-args>never touch a.py</command-args>"
    assert said_by_user(text).strip() == "never touch a.py"
    assert said_by_user(text).index("never") == text.index("never")
    assert not said_by_user(text.replace("/fix", "/compact")).strip()


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("fix this review comment:\n\nThe handler must always return the error.", ["fix this review comment:"]),
        (
            "Here is what CI printed:\n\nAlways run composer install with --no-dev\n\nPlease look at it.",
            ["Here is what CI printed:", "Please look at it."],
        ),
        (
            "1. Must have 2FA\n2. Never cache tokens\n\nthat is an old list, ignore it",
            ["that is an old list, ignore it"],
        ),
        ("- never log card numbers\n- tax must be shown", ["- never log card numbers", "- tax must be shown"]),
        ("the error: look here:\n\nnever do x", ["the error: look here:", "never do x"]),
        ("the error: see this comment: \n\nnever do x", ["the error: see this comment:"]),
        ("it fails:\n```\nnever do x\n```\nfix it", ["it fails:", "fix it"]),
    ],
)
def test_what_was_copied_in_is_told_apart_block_by_block(text: str, own: list[str]) -> None:
    assert [line.strip() for line in typed(text).splitlines() if line.strip()] == own
    assert len(typed(text)) == len(text)


def test_a_byte_order_mark_in_what_the_user_says_is_a_space() -> None:
    assert said_by_user("\ufeffNever push to main.") == " Never push to main."


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Bitte niemals direkt auf main pushen", True),
        ("Никогда не пушь напрямую", True),
        ("mainに直接プッシュしないでください", True),
        ("Never push to main", False),
        ("rename tests", False),
        ("Ich will, dass wir niemals auf main pushen", True),
        ("N'utilise jamais force push, toujours une branche", True),
        ("https://example.com/pull/2", False),
        ("Missing field causes lost per-file tracking", False),
        ("use `für` as the key of the table", False),
        ("No toques el flujo de android, está en producción", True),
        ("ne touche pas au fichier de config", True),
        ("Mach den Button rot und den Text größer", True),
        ("add es and de", False),
        ("update en, es, fr, de translations", False),
        ("the column is a DER certificate, en passant fix the die roll", False),
    ],
)
def test_what_is_not_in_english_is_known(text: str, other: bool) -> None:
    assert is_other_language(text) is other


@pytest.mark.parametrize(
    "text",
    ["No non-null assertions, no any casts.", "no naïve datetimes", "no calls to José",
     "use non root users only, no su", "send mails to Dan per week", "support de_DE and fr_FR, no others"],
)  # fmt: skip
def test_a_name_or_a_part_of_a_word_makes_no_other_language(text: str) -> None:
    assert not is_other_language(text)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "File has not been read yet. Read it first before writing to it.",
        "Todos have been modified successfully.",
        "",
    ],
)
def test_messages_of_the_client_are_no_results(text: str) -> None:
    assert is_client_result(text)


def test_a_commit_that_a_user_pastes_is_not_typed() -> None:
    log = "Details:\ncommit 05e4219e1dff47a0c8c4b8c500b07ce3e0f3ab2e\nAuthor: Ada <a@example.com>\nCommit: Ada"
    assert "Author" not in typed(f"The lines are off.\n\n{log}\n\nPlease look.")
    assert "The lines are off." in typed(f"The lines are off.\n\n{log}")
