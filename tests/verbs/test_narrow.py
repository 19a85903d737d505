"""The folders that `project:` names."""

import pytest

from slicebase.context.query import Filter
from slicebase.verbs.narrow import _is_of


@pytest.mark.parametrize(
    ("value", "folders"),
    [
        ("/", {"/home/me/app", r"C:\Work\app", "/"}),
        ("*", {"/home/me/app", r"C:\Work\app", "/"}),
        ("app", {"/home/me/app", r"C:\Work\app"}),
        ("work/APP", {r"C:\Work\app"}),
        (r"C:\work", {r"C:\Work\app"}),
        ("/home", {"/home/me/app"}),
        ("/me", set()),
    ],
)
def test_a_project_is_a_folder_of_any_system_and_a_session_without_one_is_in_none(
    value: str, folders: set[str]
) -> None:
    known = ["/home/me/app", r"C:\Work\app", "/", ""]
    assert {folder for folder in known if _is_of(folder, [Filter("project", value)])} == folders
    assert {folder for folder in known if not _is_of(folder, [Filter("project", value, excludes=True)])} == folders
