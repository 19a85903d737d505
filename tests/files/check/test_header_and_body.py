"""Every rule: an input that breaks it gives exactly that finding at its position, and the fixed input gives none."""

from pathlib import Path
from typing import NamedTuple

import pytest

from slicebase.files.findings import FORMAT_RULES, SEVERITIES
from tests.files.check.workspace import (
    DIGEST,
    EMPTY_DIGEST,
    ID,
    OTHER,
    THIRD,
    Files,
    Place,
    places,
    pointer,
    text,
)

NAME = f".slices/{ID}.slice"
CLEAN = text()


class Case(NamedTuple):
    rule: str
    broken: str | bytes
    line: int
    column: int
    fixed: str | bytes = CLEAN
    around: Files | None = None


def row(row_id: str = "R1", more: str = "", day: str = "01", **content: str) -> str:
    fields = "".join(f',"{key}":{value}' for key, value in content.items())
    return f'{{"_meta":{{"id":"{row_id}","created_at":"2026-01-{day}T00:00:00Z"{more}}}{fields}}}\n'


def link(rel: str = "see_also", to: str = OTHER, label: str = "") -> str:
    return f"  links:\n    - rel: {rel}\n      to: {to}\n" + (f"      label: {label}\n" if label else "")


def talk(header: str, *lines: str) -> str:
    return text(
        "conversation", "".join(line + "\n" for line in lines), f"    conversation:\n{header}" if header else ""
    )


NEIGHBOUR: Files = {f".slices/{OTHER}.slice": text(file_id=OTHER)}
PAYLOAD: Files = {"data/dump.bin": b""}
SAID = '{"role":"user","content":"x"}'
CALL = '{"role":"tool_call","name":"t","call_id":"c1"}'
RESULT = '{"role":"tool_result","call_id":"c1","content":"x"}'
NOTE = '{"type":"compaction_note","summary":"x"}'


def points(uri: str = "../data/dump.bin", digest: str = EMPTY_DIGEST, size: str = "0") -> str:
    return f"  payload:\n    uri: {uri}\n    hash: {digest}\n    size: {size}\n"


READING = [
    Case("no-frontmatter", b"", 1, 1),
    Case("no-frontmatter", "# Tides\n", 1, 1),
    Case("frontmatter-open", CLEAN.removesuffix("---\n"), 10, 1),
    Case("frontmatter-size", text(more="  meta:\n    x: " + "x" * 70_000 + "\n"), 11, 1),
    Case("frontmatter-shape", "---\n- slice\n---\n", 2, 1),
    Case("not-utf8", CLEAN.encode().replace(b"Tides", b"T\xc3\xa4\xff"), 6, 12),
    Case("not-utf8", CLEAN.encode() + b"one\ntw\xff", 12, 3),
    Case("yaml-syntax", text(more="  - x\n"), 10, 3),
    Case("yaml-character", text(more="  meta:\n    a: \x07\n"), 11, 8),
    Case("yaml-anchor", text(more="  meta:\n    a: &x 1\n"), 11, 8),
    Case("yaml-anchor", text(more="  meta:\n    a: *x\n"), 11, 8),
    Case("yaml-tag", text(more="  meta:\n    a: !!str 1\n"), 11, 8),
    Case("yaml-key", text(more="  meta:\n    ? a\n"), 11, 5),
    Case("yaml-duplicate-key", text(more="  title: Again\n"), 10, 3),
    Case("yaml-documents", text(more="...\n"), 10, 1),
    Case("yaml-nesting", text(more="  meta:\n    a: " + "[" * 20_000 + "\n"), 11, 69),
    Case("file-size", CLEAN + "x" * 1_100_000, 1, 1, CLEAN + "x" * 1_000_000),
]

FIELDS = [
    Case("slice-missing", "---\nother: 1\n---\n", 1, 1),
    Case("beside-slice", CLEAN.replace("slice:", "author: x\nslice:"), 2, 1),
    Case("unknown-key", text(more="  sumary: x\n"), 10, 3),
    Case("unknown-key", text(more="  contract:\n    purpos: x\n"), 11, 5, text(more="  contract:\n    purpose: x\n")),
    Case("required", CLEAN.replace('  v: "1"\n', ""), 2, 1),
    Case("required", CLEAN.replace(f"  id: {ID}\n", ""), 2, 1),
    Case("required", CLEAN.replace("Tides", '" "'), 6, 3),
    Case("required", CLEAN.replace(" When the water comes.", ""), 7, 3),
    Case("required", CLEAN.replace("  body:\n    type: markdown\n", ""), 2, 1),
    Case("required", CLEAN.replace("type: markdown", "other: x"), 8, 3),
    Case("field-type", CLEAN.replace("Tides", "[Tides]"), 6, 3),
    Case("field-type", text(more="  contract: append\n"), 10, 3, text(more="  contract:\n    write: append\n")),
    Case("field-type", text(more="  links: none\n"), 10, 3, text(more="  links: []\n")),
    Case(
        "field-type",
        text(more="  contract:\n    exclude: a\n" + link("routes_to", label="a")),
        11,
        5,
        text(more="  contract:\n    exclude: [a]\n" + link("routes_to", label="a")),
        NEIGHBOUR,
    ),
    Case("version", CLEAN.replace('"1"', '"2"'), 3, 3),
    Case("id-form", text(file_id="a b"), 5, 3),
    Case("id-ulid", text(file_id="tides"), 5, 3),
    Case("id-name", text(file_id=THIRD), 5, 3),
    Case("time", text(more="  updated_at: lately\n"), 10, 3, text(more="  updated_at: 2026-01-01T00:00:00Z\n")),
    Case(
        "time",
        text(more="  archived: {at: 12:30:45}\n"),
        10,
        14,
        text(more='  archived: {at: "2026-01-01T00:00:00Z"}\n'),
    ),
    Case(
        "time-form", text(more="  updated_at: 2026-01-01\n"), 10, 3, text(more="  updated_at: 2026-01-01T00:00:00Z\n")
    ),
]

MERGED = "\n<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"

KINDS = [
    Case("kind", text(kind="handle"), 4, 3),
    Case("body-type", text("prose"), 9, 5),
    Case("kind-body", text("none"), 9, 5),
    Case("kind-body", pointer(points()).replace("type: none", "type: text"), 9, 5, pointer(points()), PAYLOAD),
    Case("pointer-body", pointer(points(), "\ncontent\n"), 15, 1, pointer(points(), "\n \n"), PAYLOAD),
    Case("body-header", text("text", more="    code: {lang: c}\n"), 10, 5, text("code", more="    code: {lang: c}\n")),
    Case("merge-marks", text() + MERGED, 12, 1, text() + MERGED.replace("=======", "======")),
    Case("code-lang", text("code"), 8, 3, text("code", more="    code:\n      lang: c\n")),
    Case("payload-missing", pointer(), 2, 1, pointer(points()), PAYLOAD),
    Case("payload-missing", pointer(points(uri="")), 10, 3, pointer(points()), PAYLOAD),
    Case("payload-kind", text(more=points()), 10, 3, CLEAN, PAYLOAD),
    Case("payload-unproven", pointer(points(digest="")), 10, 3, pointer(points()), PAYLOAD),
    Case("payload-unproven", pointer(points(size="")), 10, 3, pointer(points()), PAYLOAD),
    Case("payload-absent", pointer(points("./gone.bin")), 11, 5, pointer(points()), PAYLOAD),
    Case("payload-size", pointer(points(size="7")), 13, 5, pointer(points()), PAYLOAD),
    Case("payload-hash", pointer(points(digest=DIGEST)), 12, 5, pointer(points()), PAYLOAD),
    Case("hash-form", pointer(points(digest="sha256:abc")), 12, 5, pointer(points()), PAYLOAD),
    Case(
        "purged-kind",
        text(more="  purged: {reason: asked}\n"),
        10,
        3,
        pointer(f"  purged: {{reason: asked}}\n  payload: {{hash: '{DIGEST}', size: 3}}\n"),
    ),
]

CONTRACTS = [
    Case(
        "contract-enum",
        text(more="  contract:\n    write: prepend\n"),
        11,
        5,
        text(more="  contract:\n    write: append\n"),
    ),
    Case(
        "contract-enum",
        text(more="  contract:\n    overflow: burst\n"),
        11,
        5,
        text(more="  contract:\n    overflow: split\n"),
    ),
    Case(
        "contract-write",
        text(more="  contract:\n    write: supersede\n"),
        11,
        5,
        text(more="  contract:\n    write: replace\n"),
    ),
    Case(
        "contract-write",
        text("yaml", more="  contract:\n    write: append\n"),
        11,
        5,
        text("yaml", more="  contract:\n    write: replace\n"),
    ),
    Case(
        "exclude-unrouted",
        text(more="  contract:\n    exclude:\n      - Low water\n" + link("routes_to", label="elsewhere")),
        12,
        7,
        text(more="  contract:\n    exclude:\n      - Low water\n" + link("routes_to", label="low  water")),
        NEIGHBOUR,
    ),
]

LINKS = [
    Case("link-field", text(more="  links:\n    - rel: see_also\n"), 11, 5, text(more=link()), NEIGHBOUR),
    Case("link-field", text(more=f"  links:\n    - {OTHER}\n"), 11, 5, text(more=link()), NEIGHBOUR),
    Case("link-rel", text(more=link("relates")), 11, 7, text(more=link()), NEIGHBOUR),
    Case("link-form", text(more=link(to="https://example.org/x")), 12, 7, text(more=link()), NEIGHBOUR),
    Case("link-form", text(more=link("part_of", "../data/")), 12, 7, text(more=link("routes_to", "../data/")), PAYLOAD),
    Case("link-form", text(more=link("part_of", "../data")), 12, 7, text(more=link("routes_to", "../data")), PAYLOAD),
    Case(
        "link-target",
        text(more=link()),
        12,
        7,
        text(more=link()).replace(OTHER, THIRD),
        {f".slices/{THIRD}.slice": text(file_id=THIRD)},
    ),
    Case("link-target", text(more=link(to="./gone.slice")), 12, 7, text(more=link(to=f"./{OTHER}.slice")), NEIGHBOUR),
    Case(
        "link-target", text(more=link("routes_to", "./gone/")), 12, 7, text(more=link("routes_to", "../data/")), PAYLOAD
    ),
    Case("link-self", text(more=link(to=ID)), 12, 7, text(more=link()), NEIGHBOUR),
    Case("link-self", text(more=link(to=f"./{ID}.slice")), 12, 7, text(more=link()), NEIGHBOUR),
    Case("path-outside", text(more=link(to="../../x.slice")), 12, 7, text(more=link()), NEIGHBOUR),
    Case("path-outside", text(more=link(to="/etc/x.slice")), 12, 7, text(more=link()), NEIGHBOUR),
    Case("path-outside", pointer(points("/etc/hostname")), 11, 5, pointer(points()), PAYLOAD),
    Case("derived-field", text(more=f"  derived_from:\n    hash: {DIGEST}\n"), 10, 3),
    Case(
        "derived-field",
        text(more=f"  derived_from:\n    id: {OTHER}\n"),
        10,
        3,
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {EMPTY_DIGEST}\n"),
        NEIGHBOUR,
    ),
    Case(
        "hash-form",
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {'0' * 64}\n"),
        12,
        5,
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {EMPTY_DIGEST}\n"),
        NEIGHBOUR,
    ),
    Case(
        "derived-target",
        text(more=f"  derived_from:\n    id: {THIRD}\n    hash: {EMPTY_DIGEST}\n"),
        11,
        5,
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {EMPTY_DIGEST}\n"),
        NEIGHBOUR,
    ),
    Case(
        "derived-stale",
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {DIGEST}\n"),
        12,
        5,
        text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {EMPTY_DIGEST}\n"),
        NEIGHBOUR,
    ),
]

ROWS_CLEAN = text("jsonl", row())
ROWS = [
    Case("json-line", text("jsonl", row() + '{"a":}\n'), 12, 6, ROWS_CLEAN),
    Case("json-object", text("jsonl", row() + " [1]\n"), 12, 2, ROWS_CLEAN),
    Case("not-utf8", text("jsonl", row()).encode() + b'{"\xff":1}\n', 12, 3, ROWS_CLEAN),
    Case("row-meta", text("jsonl", '{"text":"x"}\n'), 11, 1, ROWS_CLEAN),
    Case("row-id", text("jsonl", '{"_meta":{"created_at":"2026-01-01T00:00:00Z"}}\n'), 11, 10, ROWS_CLEAN),
    Case("row-created-at", text("jsonl", '{"_meta":{"id":"R1"}}\n'), 11, 10, ROWS_CLEAN),
    Case("time", text("jsonl", row(day="77")), 11, 34, ROWS_CLEAN),
    Case("time-form", text("jsonl", row().replace("T00:00:00Z", "")), 11, 34, ROWS_CLEAN),
    Case("row-field", text("jsonl", row(more=',"confidence":7')), 11, 70, text("jsonl", row(more=',"confidence":0.7'))),
    Case("row-duplicate", text("jsonl", row() + row()), 12, 16, text("jsonl", row() + row("R2"))),
    Case(
        "supersedes-unknown",
        text("jsonl", row(more=',"supersedes":["R0"]')),
        11,
        71,
        text("jsonl", row("R0") + row(more=',"supersedes":["R0"]')),
    ),
    Case("supersedes-cycle", text("jsonl", row(more=',"supersedes":["R1"]')), 11, 70, ROWS_CLEAN),
    Case(
        "supersedes-fork",
        text("jsonl", row() + row("R2", ',"supersedes":["R1"]', "02") + row("R3", ',"supersedes":["R1"]', "03")),
        13,
        70,
        text("jsonl", row() + row("R2", ',"supersedes":["R1"]', "02") + row("R3", ',"supersedes":["R2"]', "03")),
    ),
    Case(
        "link-rel",
        text("jsonl", row(links=f'[{{"rel":"near","to":"{OTHER}"}}]')),
        11,
        74,
        text("jsonl", row(links=f'[{{"rel":"see_also","to":"{OTHER}"}}]')),
        NEIGHBOUR,
    ),
    Case(
        "link-target",
        text("jsonl", row(more=',"links":[{"rel":"is_a","to":"gone"}]')),
        11,
        85,
        text("jsonl", row(more=f',"links":[{{"rel":"is_a","to":"{OTHER}"}}]')),
        NEIGHBOUR,
    ),
    Case(
        "link-target",
        text("jsonl", row(more=',"links":[{"rel":"is_a","to":"row:gone/R9"}]')),
        11,
        85,
        text("jsonl", row(more=f',"links":[{{"rel":"is_a","to":"row:{OTHER}/R9"}}]')),
        NEIGHBOUR,
    ),
    Case(
        "path-outside",
        text("jsonl", row(more=',"links":[{"rel":"is_a","to":"../../x"}]')),
        11,
        85,
        text("jsonl", row(more=f',"links":[{{"rel":"is_a","to":"./{OTHER}.slice"}}]')),
        NEIGHBOUR,
    ),
    Case("yaml-syntax", text("yaml", "a: 1\nb: [\n"), 12, 4, text("yaml", "a: 1\nb: [2]\n")),
    Case("yaml-duplicate-key", text("yaml", "a: 1\na: 2\n"), 12, 1, text("yaml", "a: 1\nb: 2\n")),
]

CONVERSATIONS = [
    Case(
        "conversation-header", talk('      trace_id: "12"\n', SAID), 11, 7, talk(f"      trace_id: {'1' * 32}\n", SAID)
    ),
    Case("conversation-role", talk("", '{"content":"x"}'), 11, 1, talk("", SAID)),
    Case("conversation-role-unknown", talk("", '{"role":"bard","content":"x"}'), 11, 9, talk("", SAID)),
    Case("conversation-line", talk("", '{"role":"user"}'), 11, 1, talk("", SAID)),
    Case(
        "conversation-order",
        talk("", *(f'{{"role":"user","content":"x","ts":"2026-01-0{day}T00:00:00Z"}}' for day in (2, 1))),
        12,
        35,
        talk("", *(f'{{"role":"user","content":"x","ts":"2026-01-0{day}T00:00:00Z"}}' for day in (1, 2))),
    ),
    Case("time", talk("", '{"role":"user","content":"x","ts":"noon"}'), 11, 35, talk("", SAID)),
    Case(
        "conversation-contradiction",
        talk("      participants: [user]\n", SAID, CALL, RESULT),
        11,
        7,
        talk("      participants: [user, tool_call, tool_result]\n", SAID, CALL, RESULT),
    ),
    Case(
        "conversation-contradiction",
        talk("      includes_tool_calls: false\n", CALL, RESULT),
        11,
        7,
        talk("      includes_tool_calls: true\n", CALL, RESULT),
    ),
    Case(
        "conversation-contradiction",
        talk("      includes_compaction: true\n", SAID),
        11,
        7,
        talk("      includes_compaction: true\n", SAID, NOTE),
    ),
    Case("call-id", talk("", CALL.replace(',"call_id":"c1"', "")), 11, 1, talk("", CALL, RESULT)),
    Case("call-pairs", talk("", CALL, RESULT, RESULT), 13, 33, talk("", CALL, RESULT)),
    Case("call-unknown", talk("", RESULT), 11, 33, talk("", CALL, RESULT)),
    Case("call-unanswered", talk("", SAID, CALL), 12, 42, talk("", SAID, CALL, RESULT)),
]

ROUTINES = [
    Case(
        "routine-step",
        text("routine", '{"instruction":"x","read":"y"}\n'),
        11,
        1,
        text("routine", '{"instruction":"x"}\n'),
    ),
    Case(
        "routine-key",
        text("routine", '{"instruction":"x","notes":"y"}\n'),
        11,
        28,
        text("routine", '{"instruction":"x","note":"y"}\n'),
    ),
    Case(
        "routine-target",
        text("routine", '{"read":"gone"}\n'),
        11,
        9,
        text("routine", f'{{"read":"{OTHER}"}}\n'),
        NEIGHBOUR,
    ),
    Case(
        "routine-target",
        text("routine", '{"read":"../data"}\n'),
        11,
        9,
        text("routine", '{"read":"../data/dump.bin"}\n'),
        PAYLOAD,
    ),
    Case(
        "routine-target", text("routine", f'{{"run":"{THIRD}"}}\n'), 11, 8, text("routine", '{"run":"a-sub-agent"}\n')
    ),
    Case(
        "routine-target", text("routine", '{"run":"./gone.sh"}\n'), 11, 8, text("routine", '{"run":"sh ./gone.sh"}\n')
    ),
    Case(
        "path-outside",
        text("routine", '{"read":"../../x"}\n'),
        11,
        9,
        text("routine", f'{{"read":"./{OTHER}.slice"}}\n'),
        NEIGHBOUR,
    ),
]

CASES = [*READING, *FIELDS, *KINDS, *CONTRACTS, *LINKS, *ROWS, *CONVERSATIONS, *ROUTINES]
# Rules that need more than the bytes of one file in the library; tests/library/test_check.py tests them.
ON_DISK = {"unreadable", "id-duplicate", "file-name", "nested-folder", "row-repeated"}


def ids(case: Case) -> str:
    return case.rule


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_an_input_that_breaks_a_rule_gives_exactly_that_finding(case: Case, tmp_path: Path) -> None:
    # An input that breaks one of these two rules also breaks `id-name`, because the id differs from the file's name.
    also = {"id-name"} if case.rule in ("id-form", "id-ulid") else set()
    found = [place for place in places(tmp_path, {NAME: case.broken, **(case.around or {})}) if place.rule not in also]
    assert found == [Place(case.rule, NAME, case.line, case.column)]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_fixed_input_gives_no_finding(case: Case, tmp_path: Path) -> None:
    assert places(tmp_path, {NAME: case.fixed, **(case.around or {})}) == []


def test_every_rule_has_an_input_that_breaks_it() -> None:
    assert {case.rule for case in CASES} | ON_DISK == set(FORMAT_RULES)


def test_every_rule_has_a_severity_and_says_what_it_checks() -> None:
    for name, rule in FORMAT_RULES.items():
        assert rule.name == name
        assert rule.severity in SEVERITIES
        assert rule.checks
