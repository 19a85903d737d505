"""Notes on the disk: what is read, what is refused, and when a stamp can be trusted."""

import pytest

from slicebase.errors import SlicebaseError
from slicebase.workspace.note_files import ABSENT, is_certain, read_note_bytes, stamps
from slicebase.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("path", "code"), [("none.md", "no-input"), ("a/b/none.md", "no-input"), ("docs", "not-a-file"), ("", "no-input")]
)
def test_a_path_that_is_no_note_is_refused(path: str, code: str, workspace: Workspace) -> None:
    (workspace.root / "docs").mkdir()
    with pytest.raises(SlicebaseError) as caught:
        read_note_bytes(workspace.root, path)
    assert caught.value.code == code


def test_a_note_is_read_with_its_digest_and_the_stamp_that_a_look_finds(workspace: Workspace) -> None:
    (workspace.root / "a.md").write_bytes(b"text")
    found = read_note_bytes(workspace.root, "a.md")
    assert found.digest == "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert stamps(workspace.root, ["a.md", "none.md", "a.md/b"]) == [found.stamp, ABSENT, ABSENT]
    assert stamps(workspace.root / "none", ["a.md"]) == [ABSENT]


def test_a_stamp_is_certain_two_seconds_after_the_change() -> None:
    assert not is_certain("8 5000000000 1 1", 7_000_000_000)
    assert is_certain("8 5000000000 1 1", 7_000_000_001)
    assert is_certain(ABSENT, 0)
    assert not is_certain("", 10**18)
