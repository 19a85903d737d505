"""`why` of derived files: from file to file, also where that has no end."""

from pathlib import Path

from slicebase.base import Slicebase
from slicebase.verbs.why import Reason
from tests.library.samples import put


def named(reason: Reason) -> list[str]:
    """Returns the references from a reason down to the last one."""
    return [reason.ref, *(named(reason.children[0]) if reason.children else ())]


def derived(root: Path, *pairs: tuple[str, str]) -> Slicebase:
    memory = Slicebase.init(root)
    for name, source in pairs:
        put(memory.workspace, name, derived_from={"id": source, "hash": "sha256:" + "0" * 64})
    return memory


def test_files_that_are_derived_from_each_other_are_a_circle_that_ends(tmp_path: Path) -> None:
    with derived(tmp_path, ("a", "b"), ("b", "c"), ("c", "a"), ("alone", "alone")) as memory:
        assert named(memory.why("file:a")) == ["file:a", "file:b", "file:c", "file:a"]
        assert named(memory.why("file:alone")) == ["file:alone", "file:alone"]
        assert memory.why("file:b", forward=True).children[0].ref == "file:a"


def test_a_long_chain_of_derived_files_ends_where_it_can_be_gone_on_with(tmp_path: Path) -> None:
    with derived(tmp_path, *((f"n{number}", f"n{number + 1}") for number in range(1_500))) as memory:
        chain = named(memory.why("file:n0"))
        assert chain[:2] == ["file:n0", "file:n1"]
        assert named(memory.why(chain[-1]))[0] == chain[-1] == "file:n100"
        assert memory.why("file:n0").as_json()["ref"] == "file:n0"
        assert named(memory.why("file:n1499")) == ["file:n1499", "n1500"]


def test_a_file_that_is_derived_from_a_context_with_itself_is_explained(tmp_path: Path) -> None:
    with derived(tmp_path) as memory:
        put(memory.workspace, "heron", "Herons wait in shallow water.")
        recorded = memory.context("herons in shallow water").id
        put(memory.workspace, "heron", "Herons wait.", derived_from={"id": recorded, "hash": "sha256:" + "0" * 64})
        found = memory.why("file:heron")
        assert [each.ref for each in found.children] == [recorded]
        assert [each.ref for each in memory.why(recorded, forward=True).children] == ["file:heron"]
