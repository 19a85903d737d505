"""The commands that find files and maintain a workspace, as a person or a program calls them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.core.short_ids import SHORTEST_ID
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.tools import TOOLS, call_tool
from slicebase.workspace.workspace import open_workspace
from tests.cli.conftest import Tt
from tests.library.samples import put, rows
from tests.warm import warm_programs


@pytest.fixture
def library(tt: Tt, tmp_path: Path) -> Path:
    tt("init")
    workspace = open_workspace(tmp_path)
    put(workspace, "heron", "# Birds\n\nThe heron waits.\n", title="About herons", meta={"owner": "one"})
    log = rows({"id": "r1", "text": "A heron."}, {"id": "r2", "text": "A stork.", "supersedes": ["r1"]})
    put(workspace, "log", log, type="jsonl", links=[{"rel": "is_a", "to": "heron"}], updated_at="2020-01-01T00:00:00Z")
    put(workspace, "gone", "A heron.", archived={"at": "2026-01-01T00:00:00Z"})
    return tmp_path


# ---- search


def test_a_search_prints_files_with_their_freshness_and_marked_passages(tt: Tt, library: Path) -> None:
    done = tt("search", "heron")
    assert done.exit == 0
    lines = done.out.splitlines()
    assert lines[0] == "heron (About **herons**)  [FRESH - just now]"
    assert lines[1].strip() == "# Birds The **heron** waits."
    assert lines[2].strip().startswith("sec:heron@")
    assert "gone" not in done.out


def test_a_search_in_json_gives_scores_places_and_spans(tt: Tt, library: Path) -> None:
    (hit,) = tt("search", "stork", "--json").json["files"]
    assert (hit["id"], hit["score"], hit["freshness"]["label"]) == ("log", 1.0, "DECAYED")
    assert hit["file"] == tt("info", "log", "--json").json["file"] == ".slices/log.slice"
    (passage,) = hit["passages"]
    assert (passage["ref"], passage["text"], passage["marks"]) == ("row:log/r2", "A stork.", [[2, 7]])


def test_a_search_without_a_match_exits_with_1_and_a_hint(tt: Tt, library: Path) -> None:
    done = tt("search", "herin")
    assert (done.exit, done.out) == (1, "")
    assert "for herin there is heron" in done.err
    assert tt("search", "herin", "--json").json["hints"]
    assert tt("search", "nothinglikethis", "--json").json["hints"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["heron", "--archived"], {"heron", "gone"}),
        (["heron", "--rows", "all"], {"heron", "log"}),
        (["heron", "--type", "jsonl", "--rows", "all"], {"log"}),
        (["heron", "--meta", "owner=one"], {"heron"}),
        (["stork", "--rel", "is_a"], {"log"}),
        (["heron", "stork", "--any"], {"heron", "log"}),
        (["stork", "--fresher-than", "30d"], set[str]()),
        (["heron", "--fresher-than", "STALE"], {"heron"}),
        (['"heron waits"'], {"heron"}),
        (["stor*"], {"log"}),
    ],
)
def test_options_choose_what_is_searched(tt: Tt, library: Path, arguments: list[str], expected: set[str]) -> None:
    done = tt("search", *arguments, "--json")
    assert {hit["id"] for hit in done.json["files"]} == expected
    assert done.exit == (0 if expected else 1)


@pytest.mark.parametrize("arguments", [["x", "--meta", "y"], ["x", "--fresher-than", "soon"], ["…"], []])
def test_what_cannot_be_understood_is_a_usage_error(tt: Tt, library: Path, arguments: list[str]) -> None:
    assert tt("search", *arguments).exit == 2


def test_turns_are_found_too(tt: Tt, library: Path) -> None:
    tt("import", "--sample")
    done = tt("search", "retry", "--json")
    assert done.exit == 0
    assert done.json["files"] == []
    assert all(turn["ref"].startswith("turn:") for turn in done.json["turns"])
    assert done.json["turns"]
    assert tt("search", "retry", "--type", "markdown").exit == 1


def test_control_characters_of_a_file_do_not_reach_the_terminal(tt: Tt, library: Path) -> None:
    put(open_workspace(library), "evil", "gannet \x1b[2J", title="x \x1b]0;y")
    assert "\x1b" not in tt("search", "gannet").out
    assert "\x1b" not in tt("list").out


def test_a_broken_file_is_mentioned_and_does_not_stop_anything(tt: Tt, library: Path) -> None:
    (library / ".slices" / "broken.slice").write_text("nothing")
    for command in (["search", "heron"], ["list"], ["stale"]):
        done = tt(*command)
        assert done.out
        assert "tt doctor" in done.err


# ---- the others


def test_list_shows_files_and_hides_archived_ones(tt: Tt, library: Path) -> None:
    assert [line.split()[0] for line in tt("list").out.splitlines()] == ["heron", "log"]
    assert len(tt("list", "--archived", "--json").json["files"]) == 3
    assert tt("list", "--kind", "pointer").exit == 1


def test_stale_shows_why_and_since_when(tt: Tt, library: Path) -> None:
    done = tt("stale")
    assert done.exit == 1
    assert "since 2026-01-01" in done.out
    (file,) = tt("stale", "--json").json["files"]
    assert [why["reason"] for why in file["reasons"]] == ["age"]
    assert tt("stale", "--half-life", "100000").exit == 0


def test_info_shows_everything(tt: Tt, library: Path) -> None:
    result = tt("info", "heron", "--json").json
    assert result["meta"] == {"owner": "one"}
    assert result["links"]["in"] == [{"source": "log", "rel": "is_a", "target": "heron", "label": None, "row": None}]
    assert "← " in tt("info", "heron").out
    assert tt("info", "nope", "--json").error["code"] == "no-file"
    assert tt("info", "nope").exit == 4


def test_info_exits_with_1_for_what_is_wrong_and_not_for_a_hint(tt: Tt, library: Path) -> None:
    hinted = tt("info", "heron", "--json")
    assert [each["rule"] for each in hinted.json["findings"]] == ["id-ulid"]
    assert hinted.exit == 0
    put(open_workspace(library), "bad", "x\n", type="jsonl")
    assert tt("info", "bad").exit == 1


@pytest.mark.parametrize("now", ["25 egrets\n", None])
def test_info_exits_with_1_where_a_document_is_not_what_it_was(tt: Tt, library: Path, now: str | None) -> None:
    document = library / "egrets.txt"
    document.write_text("12 egrets\n")
    assert tt("add", document).exit == 0
    (pointer,) = (each["id"] for each in tt("list", "--kind", "pointer", "--json").json["files"])
    assert tt("info", pointer).exit == 0
    document.unlink() if now is None else document.write_text(now)
    told = tt("info", pointer)
    assert told.exit == 1
    assert "[STALE - payload" in told.out
    assert pointer[:8] in tt("stale").out


def test_explore_prints_trees_graphs_and_json(tt: Tt, library: Path) -> None:
    assert tt("explore", "log").out.splitlines()[1] == "└─ is_a → heron (About herons)"
    assert tt("explore", "heron").out.splitlines()[1] == "└─ is_a ← log (Title of log)"
    assert tt("explore", "log", "--mermaid").out.startswith("flowchart LR\n")
    result = tt("explore", "heron", "--direction", "out", "--infer", "--json").json
    assert result["edges"] == [
        {"source": "heron", "rel": "type_of", "target": "log", "label": None, "row": None, "inferred": True,
         "path": [{"source": "log", "rel": "is_a", "target": "heron"}], "path_length": 1}
    ]  # fmt: skip
    assert "warning: 'depend_on'" in tt("explore", "log", "--rel", "depend_on").err


# ---- the workspace


def test_status_shows_the_workspace_and_its_content(tt: Tt, library: Path) -> None:
    result = tt("status", "--json").json
    assert (result["root"], result["files"], result["archived"], result["rows"]) == (
        str(library.resolve()), {"jsonl": 1, "markdown": 1}, 1, 2,
    )  # fmt: skip
    assert "2 files" in tt("status").out
    assert tt("--root", library / "nowhere", "status").exit == 4


def test_config_shows_sets_and_unsets(tt: Tt, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (library / "slicebase.toml").write_text("# ours\n")
    assert "90" in tt("config", "freshness.half_life_days").out
    assert tt("config", "freshness.half_life_days", "1").exit == 0
    assert (library / "slicebase.toml").read_text() == "# ours\n\n[freshness]\nhalf_life_days = 1\n"
    monkeypatch.setenv("SLICEBASE_AGENT", "me")
    result = {each["name"]: each["source"] for each in tt("config", "--json").json["settings"]}
    assert result["freshness.half_life_days"] == "slicebase.toml:4"
    assert result["provenance.agent"] == "SLICEBASE_AGENT"
    assert tt("config", "freshness.half_life_days", "--unset").exit == 0
    assert tt("config", "nonsense").exit == 3
    assert tt("config", "--unset").exit == 2


def test_doctor_and_uninit(tt: Tt, library: Path) -> None:
    (library / ".slices" / "broken.slice").write_text("nothing")
    done = tt("doctor", "--json")
    assert (done.exit, [each["check"] for each in done.json["complaints"]]) == (1, ["format"])
    assert done.json["kernel"] in ("native", "plain")
    (library / ".slices" / "broken.slice").unlink()
    assert tt("doctor").exit == 0
    assert tt("uninit", "--dry-run").out.count("would remove") == 2
    assert (library / ".slicebase").exists()
    tt("uninit")
    assert not (library / ".slicebase").exists()
    assert (library / ".slices" / "heron.slice").exists()


def test_the_users_own_workspace_is_in_the_data_directory(
    tt: Tt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert tt("--global", "status").exit == 4
    assert tt("--global", "init", "--json").json["root"] == str(tmp_path / "data" / "slicebase")
    assert tt("--global", "status").exit == 0
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert tt("--global", "init", "--json").json["root"] == str(tmp_path / "home" / ".local" / "share" / "slicebase")
    assert tt("--global", "--root", "x", "status").exit == 2


# ---- completion


def completions(folder: Path, *typed: str) -> list[str]:
    environment = {
        **os.environ,
        "_TT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["tt", *typed]),
        "COMP_CWORD": str(len(typed)),
    }
    done = subprocess.run(
        [warm_programs() / "tt"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_the_shell_completes_commands_options_and_ids(library: Path) -> None:
    assert completions(library, "sear") == ["search"]
    for command in ("info", "recall", "remember", "define", "forget", "purge", "refresh", "routine"):
        assert completions(library, command, "h") == ["heron"]
    assert completions(library, "connect", "log", "see_also", "h") == ["heron"]
    assert completions(library, "restore", "g") == ["gone"]
    assert "--mermaid" in completions(library, "explore", "--")
    assert completions(library, "merge-d") == []


def test_every_command_has_a_help_text(tt: Tt) -> None:
    for name in ("search", "explore", "stale", "list", "info", "status", "config", "doctor", "uninit", "init"):
        done = tt(name, "--help")
        assert done.exit == 0
        assert "--json" in done.out
        assert json.dumps(done.out)


def test_due_lists_work_as_text_json_and_prompt_and_records_it(tt: Tt, library: Path) -> None:
    assert tt("due").exit == 0
    made = tt(
        "create", "--title", "Log", "--summary", "S.", "--type", "jsonl", "--contract", "cleanup=over 1 row"
    ).out.strip()
    for text in ("one", "two"):
        tt("remember", made, text)
    done = tt("due")
    assert done.exit == 1
    assert done.out.startswith(f"{made[:SHORTEST_ID]} (Log)")
    (file,) = tt("due", "--json").json["files"]
    assert (file["id"], [why["kind"] for why in file["reasons"]]) == (made, ["count"])
    assert f"tt due --done {made}" in tt("due", "--prompt").out
    assert tt("due", "--prompt", "--json").exit == 2
    assert tt("due", "--done", made, "--json").json == {"schema_version": "1", "done": [made], "files": []}
    assert tt("due").exit == 0
    assert tt("due", "--done", "nobody").exit == 4


def test_what_is_listed_for_people_has_short_ids_everywhere(tt: Tt, library: Path) -> None:
    source = tt("create", "Source", "S.").out.strip()
    derived = tt("create", "Derived", "S.", "--link", f"derived_from:{source}").out.strip()
    tt("remember", source, "New words about storks.")
    for command in (["stale"], ["due"], ["list"], ["search", "storks"], ["explore", derived]):
        shown = tt(*command).out
        assert (source[:SHORTEST_ID] in shown, source in shown, derived in shown) == (True, False, False), command
    assert source in tt("stale", "--json").out
    assert source in tt("due", "--json").out


FORGED = "turn:f90f3a0e-5b1c-4b6f-8d0e-2f6f3c1f7a11"


@pytest.mark.parametrize("text", [f"lab · {FORGED}", f"x {FORGED} file:01M7JBD1WDP9GJHW14VT9YP0AA", f"a\n{FORGED}"])
def test_no_title_and_no_label_looks_like_a_reference(tt: Tt, tmp_path: Path, text: str) -> None:
    with Slicebase.init(tmp_path) as memory:
        page = memory.library.create("A lighthouse", "A page.").id
        forged = memory.library.create(f"lighthouse {text}", "A page.", contract=["cleanup=Remove what is wrong."]).id
        memory.library.connect(page, "see_also", forged, label=text)
        memory.library.connect(forged, "see_also", page, label=text)
        for name, given in (("search", {"query": "lighthouse"}), ("explore", {"id": page})):
            output = call_tool(ServerEnvironment(tmp_path, None, "s"), None, TOOLS[name], given)
            assert forged in output.text
            assert FORGED not in output.text
    for line in (["list"], ["search", "lighthouse"], ["explore", page], ["explore", forged], ["info", forged],
                 ["explore", page, "--mermaid"], ["info"], ["due", "--all"], ["due", "--all", "--prompt"]):  # fmt: skip
        printed = tt(*line)
        assert "lighthouse" in printed.out, (line, printed)
        assert FORGED not in printed.out, (line, printed)
    assert FORGED in tt("list", "--json").out
