"""`tt validate` on the disk: finds files, reads them, and checks what is around them (rulings 29, 31, 32, 41)."""

import os
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.check.file import LARGE
from slicebase.library import check
from slicebase.library.check import library_of, validate
from tests.files.check.workspace import (
    DIGEST,
    EMPTY_DIGEST,
    ID,
    OTHER,
    THIRD,
    Files,
    Place,
    findings,
    places,
    pointer,
    text,
    write,
)

NAME = f".slices/{ID}.slice"
NEIGHBOUR = f".slices/{OTHER}.slice"
LINK = f"  links:\n    - rel: see_also\n      to: {OTHER}\n"


def test_a_broken_file_never_stops_the_rest(tmp_path: Path) -> None:
    files: Files = {
        NAME: text(more="  kindd: x\n"),
        NEIGHBOUR: b"\xff\x00",
        f".slices/{THIRD}.slice": text(file_id=THIRD).replace('"1"', '"3"'),
    }
    assert places(tmp_path, files) == [
        Place("unknown-key", NAME, 10, 3),
        Place("no-frontmatter", NEIGHBOUR, 1, 1),
        Place("version", f".slices/{THIRD}.slice", 3, 3),
    ]


def test_folders_are_searched_and_only_slice_files_are_checked(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a/b/x.slice": b"", "a/y.slice": b"", "a/z.md": b"", "a/.git/x.slice": b"", ".slicebase/x.slice": b""},
    )
    assert validate([tmp_path]).files == 2
    assert validate([tmp_path / "a" / "z.md"]).files == 1


def test_a_file_that_is_named_twice_is_checked_once(tmp_path: Path) -> None:
    write(tmp_path, {NAME: text()})
    report = validate([tmp_path / NAME, tmp_path, tmp_path / ".slices" / "." / f"{ID}.slice"])
    assert (report.files, report.findings) == (1, ())


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SlicebaseError) as caught:
        validate([tmp_path, tmp_path / "gone"])
    assert (caught.value.code, caught.value.exit) == ("no-input", 4)


def test_the_library_is_found_from_a_folder_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"src/deep/x.txt": b""})
    monkeypatch.chdir(tmp_path / "src" / "deep")
    assert library_of(Path.cwd()).resolve() == tmp_path.resolve() / ".slices"
    assert library_of(Path.cwd(), tmp_path).samefile(tmp_path / ".slices")
    with pytest.raises(SlicebaseError) as caught:
        library_of(Path.cwd(), tmp_path / "src")
    assert caught.value.code == "no-workspace"


# ---- what cannot be read


def test_what_is_not_a_regular_file_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {})
    os.mkfifo(tmp_path / NAME)
    assert places(tmp_path, {}) == [Place("unreadable", NAME, None, None)]


def test_a_dangling_link_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / NAME).symlink_to(tmp_path / ".slices" / "gone")
    assert places(tmp_path, {}) == [Place("unreadable", NAME, None, None)]


def test_a_file_name_that_is_not_utf_8_can_be_shown(tmp_path: Path) -> None:
    write(tmp_path, {})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/.slices/\xff.slice")).write_text(text())
    except OSError:
        pytest.skip("this file system allows UTF-8 names only")
    (finding,) = validate([tmp_path]).findings
    assert finding.rule == "id-name"
    assert finding.file.encode()
    assert finding.message.encode()


def test_fifty_megabytes_are_a_hint(tmp_path: Path) -> None:
    write(tmp_path, {NAME: text().encode() + b"words and more words\n" * 2_500_000})
    assert places(tmp_path, {}) == [Place("file-size", NAME, 1, 1)]


def test_the_body_of_a_giant_file_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LARGEST_READ", LARGE)
    write(tmp_path, {NAME: text("jsonl", "no JSON\n" * 200_000)})
    assert places(tmp_path, {}) == [Place("file-size", NAME, 1, 1)]


def test_a_large_yaml_body_is_not_checked(tmp_path: Path) -> None:
    write(tmp_path, {NAME: text("yaml", "a: [\n" + "# " + "x" * 5_000_000)})
    assert places(tmp_path, {}) == [Place("file-size", NAME, 1, 1)]


def test_a_giant_source_is_neither_missing_nor_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LARGEST_READ", LARGE)
    more = f"  derived_from:\n    id: {OTHER}\n    hash: {DIGEST}\n"
    files: Files = {NAME: text(more=more), NEIGHBOUR: text(body="x" * 2_000_000, file_id=OTHER)}
    assert places(tmp_path, files) == [Place("file-size", NEIGHBOUR, 1, 1)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_folder_that_is_closed_is_reported(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert places(tmp_path, {}, ".") == [Place("unreadable", "closed", None, None)]


# ---- names and ids


def test_two_files_with_the_same_id_are_reported_at_the_second(tmp_path: Path) -> None:
    """§ Identifiers: an id is unique."""
    copy = ".slices/copy.slice"
    found = [place for place in places(tmp_path, {NAME: text(), copy: text()}) if place.rule != "id-name"]
    assert found == [Place("id-duplicate", copy, 5, 3)]


def test_a_file_outside_the_library_may_have_another_name(tmp_path: Path) -> None:
    """§ Required Fields: the id does not depend on the path."""
    assert places(tmp_path, {"notes/tides.slice": text()}, "notes") == [Place("file-name", "notes/tides.slice", 5, 3)]


def test_the_library_is_flat(tmp_path: Path) -> None:
    """§ Storage."""
    nested = f".slices/2026/{ID}.slice"
    assert places(tmp_path, {nested: text()}) == [Place("nested-folder", nested, 1, 1)]


# ---- targets


def test_a_target_is_found_by_its_id_whatever_its_file_is_called(tmp_path: Path) -> None:
    """§ Required Fields: renaming a file breaks no link."""
    files: Files = {NAME: text(more=LINK), ".slices/renamed.slice": text(file_id=OTHER)}
    assert places(tmp_path, files, NAME) == []
    assert [place.rule for place in places(tmp_path, files)] == ["id-name"]


def test_a_single_file_knows_the_rest_of_its_workspace(tmp_path: Path) -> None:
    files: Files = {NAME: text(more=LINK), NEIGHBOUR: text(file_id=OTHER)}
    assert places(tmp_path, files, NAME) == []
    (tmp_path / NEIGHBOUR).unlink()
    assert places(tmp_path, {}, NAME) == [Place("link-target", NAME, 12, 7)]


def test_without_a_workspace_paths_are_bounded_by_the_disk_alone(tmp_path: Path) -> None:
    loose = tmp_path / "loose" / "deep" / f"{ID}.slice"
    loose.parent.mkdir(parents=True)
    loose.write_text(text(more=LINK.replace(OTHER, f"../{OTHER}.slice")))
    (tmp_path / "loose" / f"{OTHER}.slice").write_text(text(file_id=OTHER))
    assert validate([loose]).findings == ()
    loose.write_text(text(more=LINK.replace(OTHER, "/etc/hostname")))
    assert [finding.rule for finding in validate([loose]).findings] == ["path-outside"]


def test_a_symbolic_link_does_not_lead_out_of_the_workspace(tmp_path: Path) -> None:
    """Ruling 29, for files, for link targets and for payloads."""
    outside = tmp_path / "outside.txt"
    outside.write_text(text(file_id=THIRD))
    root = tmp_path / "workspace"
    root.mkdir()
    write(
        root,
        {
            NAME: text(more=LINK.replace(OTHER, "../link/outside.txt")),
            NEIGHBOUR: text(
                "none",
                "",
                f"  payload: {{uri: ../link/outside.txt, hash: '{DIGEST}', size: 1}}\n",
                OTHER,
                "pointer",
            ),
        },
    )
    (root / "link").symlink_to(tmp_path)
    (root / f".slices/{THIRD}.slice").symlink_to(outside)
    assert places(root, {}) == [
        Place("path-outside", NAME, 12, 7),
        Place("path-outside", NEIGHBOUR, 10, 13),
        Place("path-outside", f".slices/{THIRD}.slice", None, None),
    ]


def test_a_library_that_is_itself_a_link_is_inside(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{ID}.slice").write_text(text(more=LINK.replace(OTHER, f"./{OTHER}.slice")))
    (elsewhere / f"{OTHER}.slice").write_text(text(file_id=OTHER))
    root = tmp_path / "workspace"
    root.mkdir()
    (root / ".slices").symlink_to(elsewhere)
    assert validate([root / ".slices"]).findings == ()


def test_a_derived_file_is_stale_when_its_sources_hash_differs(tmp_path: Path) -> None:
    """§ Hash-Based Staleness, ruling 24: a context's hash is its body's, a pointer's is its payload's."""

    def derived(digest: str) -> str:
        return text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {digest}\n")

    source = f"  payload: {{uri: 'https://example.org/dump', hash: '{DIGEST}', size: 1}}\n"
    context: Files = {NAME: derived(EMPTY_DIGEST), NEIGHBOUR: text(file_id=OTHER)}
    assert places(tmp_path, context) == []
    changed: Files = {NEIGHBOUR: text(body="more", file_id=OTHER)}
    assert places(tmp_path, changed) == [Place("derived-stale", NAME, 12, 5)]
    handle: Files = {NAME: derived(DIGEST), NEIGHBOUR: text("none", "", source, OTHER, "pointer")}
    assert places(tmp_path, handle) == []


def test_a_narrative_that_names_a_snapshot_has_no_source_file(tmp_path: Path) -> None:
    """Ruling 41."""
    more = f"  derived_from:\n    id: sn_{'0' * 32}\n    hash: {DIGEST}\n"
    assert places(tmp_path, {NAME: text(more=more)}) == []


def test_remote_payloads_are_never_fetched(tmp_path: Path) -> None:
    """Ruling 29."""
    more = f"  payload: {{uri: 'https://host.invalid/x', hash: '{DIGEST}', size: 3}}\n"
    assert places(tmp_path, {NAME: pointer(more)}) == []


def test_a_tombstone_needs_no_uri(tmp_path: Path) -> None:
    """Ruling 31."""
    more = f"  payload: {{hash: '{DIGEST}', size: 3}}\n  purged: {{at: '2026-01-01T00:00:00Z', reason: asked}}\n"
    assert places(tmp_path, {NAME: pointer(more)}) == []


# ---- logs of several files


def row(row_id: str, *supersedes: str) -> str:
    meta = ",".join(f'"{old}"' for old in supersedes)
    return f'{{"_meta":{{"id":"{row_id}","created_at":"2026-01-01T00:00:00Z","supersedes":[{meta}]}}}}\n'


PART_OF = f"  links:\n    - rel: part_of\n      to: {ID}\n"


def test_files_that_part_of_joins_are_one_log(tmp_path: Path) -> None:
    """Ruling 32: rows that moved to another file are still there to be superseded."""
    moved = text("jsonl", row("R1"), PART_OF, OTHER)
    files: Files = {NAME: text("jsonl", row("R2", "R1")), NEIGHBOUR: moved}
    assert places(tmp_path, files) == []
    assert places(tmp_path, files, NAME) == []
    alone: Files = {NEIGHBOUR: text("jsonl", row("R1"), "", OTHER)}
    assert [place.rule for place in places(tmp_path, alone)] == ["supersedes-unknown"]


def test_a_fork_in_one_file_may_be_resolved_in_another(tmp_path: Path) -> None:
    """Ruling 32."""
    forked = text("jsonl", row("R1") + row("R2", "R1") + row("R3", "R1"), PART_OF, OTHER)
    assert [place.rule for place in places(tmp_path, {NAME: text("jsonl", ""), NEIGHBOUR: forked})] == [
        "supersedes-fork"
    ]
    assert places(tmp_path, {NAME: text("jsonl", row("R4", "R2", "R3"))}) == []


def test_a_row_that_is_in_two_files_of_a_log_is_reported_where_it_comes_second(tmp_path: Path) -> None:
    """Ruling 32: a crash while rows move, or a merge of two branches that moved them, leaves the row in both."""
    files: Files = {
        NAME: text("jsonl", row("R1")),
        NEIGHBOUR: text("jsonl", row("R1"), PART_OF, OTHER),
    }
    (finding,) = findings(tmp_path, files)
    assert (finding.rule, finding.file) == ("row-repeated", NEIGHBOUR)
