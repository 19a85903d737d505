"""Cited text whose file became something that cannot be read: drift, never an error of Python's own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.library.check import validate
from slicebase.runs.evidence import Evidence
from tests.codes import code_of

RUN = "r"
# What a cloned repository can name as a payload: nothing can have the first three paths, the others lead nowhere.
HOSTILE = [
    "../d\0.md",
    "../\0/d.md",
    "./payloads/01M7JNBHH3XF12RH64CZ923SGG\0",
    "../loop",
    "../loop/below/d.md",
    "../two",
    "../" + "x" * 5000,
    "../out/passwd",
    "../pipe/d.md",
    ".",
]


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    opened = Slicebase.init(tmp_path)
    opened.runs.start(RUN, "Objective", "Done")
    for link, target in (("loop", "loop"), ("two", "three"), ("three", "two"), ("out", "/etc")):
        (tmp_path / link).symlink_to(target)
    return opened


def cited(memory: Slicebase) -> tuple[str, Evidence]:
    """Cites a document in a verified claim. Returns the pointer's id and the evidence."""
    path = memory.root / "d.md"
    path.write_text("# T\n\nThe limit is ten.\n")
    added = memory.add(path)
    evidence = memory.cite(added.ref, "The limit is ten.")
    memory.runs.claim(RUN, "It is ten.", cite=evidence, status="verified")
    return added.id, evidence


def assert_drifted(memory: Slicebase, evidence: Evidence) -> None:
    """Checks that every reader of the evidence says that its text is gone, and goes on."""
    assert memory.runs.compact(RUN).snapshots
    marks = [check["message"] for check in memory.runs.snapshot(RUN)["validation"]["checks"] if check["message"]]
    assert marks
    assert all(evidence.evidence_id in mark for mark in marks)
    assert "gone" in memory.why(f"claim:{RUN}/c1").children[0].note
    assert {finding.status for finding in memory.verify().findings} == {"DRIFTED"}
    memory.doctor()
    validate([memory.root / ".slices"], memory.root)
    memory.library.recall(memory.library.list_files()[0].id)
    memory.context("limit")
    assert memory.runs.stop(RUN).tally.stopped == "OBJECTIVE_ACHIEVED"


@pytest.mark.parametrize("target", ["d.md", "loop/../away/d.md"])
def test_a_cited_file_that_became_a_loop_of_links_has_drifted(
    memory: Slicebase, target: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing is read behind a loop, either: the same text is there, outside of the workspace."""
    pointer, evidence = cited(memory)
    away = tmp_path_factory.mktemp("away")
    (memory.root / "away").symlink_to(away)
    (memory.root / "d.md").rename(away / "d.md")
    (memory.root / "d.md").symlink_to(target)
    with pytest.raises(SlicebaseError):
        memory.library.refresh(pointer)
    assert_drifted(memory, evidence)


@pytest.mark.parametrize("uri", HOSTILE, ids=lambda path: ascii(path)[:30])
def test_a_payload_may_name_any_path(memory: Slicebase, uri: str) -> None:
    pointer, evidence = cited(memory)
    file = memory.root / ".slices" / f"{pointer}.slice"
    written = uri.replace("\0", "\\0")
    file.write_text(file.read_text().replace("uri: ../d.md", f'uri: "{written}"'))
    assert f'uri: "{written}"' in file.read_text()
    assert_drifted(memory, evidence)
    with pytest.raises(SlicebaseError):
        memory.library.refresh(pointer)
    memory.library.purge(pointer)


OPENED: list[Callable[[Slicebase, str], object]] = [
    lambda memory, path: memory.add(path),
    lambda memory, path: memory.library.create("Title", "Summary", from_file=path),
    lambda memory, path: memory.import_(path),
    lambda memory, path: memory.export("s", path),
    lambda memory, path: memory.runs.from_file(path),
    lambda memory, path: Slicebase.open(path),
    lambda memory, path: Slicebase.init(path),
]


@pytest.mark.parametrize(
    "name", ["loop", "loop/below", "two/a/b", "n\0ul", "\ud800"], ids=lambda path: ascii(path)[:30]
)
@pytest.mark.parametrize("verb", OPENED, ids=map(str, range(len(OPENED))))
def test_a_verb_that_takes_a_path_takes_any(
    memory: Slicebase, verb: Callable[[Slicebase, str], object], name: str
) -> None:
    code_of(lambda: verb(memory, f"{memory.root}/{name}"))


@pytest.mark.parametrize("to", [path for path in HOSTILE if path != "."], ids=lambda path: ascii(path)[:30])
def test_a_link_may_name_any_path(memory: Slicebase, to: str) -> None:
    file = memory.library.create("Title", "Summary", body="Text.").file
    path = memory.root / file.name
    written = to.replace("\0", "\\0")
    path.write_text(
        path.read_text().replace("\n---\n", f'\n  links:\n    - {{rel: see_also, to: "{written}"}}\n---\n', 1)
    )
    validate([memory.root / ".slices"], memory.root)
    memory.doctor()
    memory.library.explore(file.id or "")
    memory.library.recall(file.id or "")


@pytest.mark.parametrize("name", ["loop", "n\0ul"], ids=ascii)
def test_a_git_file_may_name_any_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / ".git").write_text(f"gitdir: {name}\n")
    assert code_of(Slicebase.init, tmp_path) == "no-repository"


@pytest.mark.parametrize("name", ["loop", "n\\u0000ul"])
def test_the_settings_may_name_any_file_of_rules(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "slicebase.toml").write_text(f'[redaction]\nrules = "{name}"\n')
    assert code_of(lambda: Slicebase.init(tmp_path).library.create("T", "S", body="Text.")) in (
        "bad-setting",
        "cannot-read",
    )
