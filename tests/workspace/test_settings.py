"""Settings: every key has a default, shows where its value comes from, and is set without a change to other lines."""

import json
import os
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.workspace import settings
from slicebase.workspace.settings import (
    SETTING_KEYS,
    Settings,
    load_settings,
    set_setting,
    settings_with_sources,
    with_value,
    without_value,
)
from slicebase.workspace.workspace import Workspace
from tests.codes import code_of


def write(workspace: Workspace, text: str) -> None:
    (workspace.root / "slicebase.toml").write_text(text)


def read(workspace: Workspace) -> str:
    return (workspace.root / "slicebase.toml").read_text()


def test_every_setting_has_a_default(workspace: Workspace) -> None:
    assert load_settings(workspace.root) == Settings()
    assert {setting.source for setting in settings_with_sources(workspace.root, {})} == {"default"}
    assert {key.field for key in SETTING_KEYS.values()} == set(Settings._fields)


def test_the_file_sets_what_it_names(workspace: Workspace) -> None:
    write(
        workspace,
        "overflow.bytes = 1000\n[provenance]\nenabled = true\nagent = 'me'\n[freshness]\nhalf_life_days = 30\n",
    )
    assert load_settings(workspace.root) == Settings(1000, True, "me", 30)


def test_a_setting_shows_where_it_comes_from(workspace: Workspace) -> None:
    write(workspace, "# ours\n[freshness]\nhalf_life_days = 30\n[provenance]\nagent = 'one'\n")
    found = {setting.name: (setting.value, setting.source) for setting in settings_with_sources(workspace.root, {})}
    assert found["freshness.half_life_days"] == (30, "slicebase.toml:3")
    assert found["provenance.agent"] == ("one", "slicebase.toml:5")
    found = {
        each.name: (each.value, each.source)
        for each in settings_with_sources(workspace.root, {"SLICEBASE_AGENT": "two"})
    }
    assert found["provenance.agent"] == ("two", "SLICEBASE_AGENT")


TEXT = """# how this project keeps its memory
[freshness] # in days
half_life_days = 30   # a month

[provenance]
enabled = false
"""


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("freshness.half_life_days", "45.5", TEXT, TEXT.replace("30 ", "45.5 ")),
        ("provenance.enabled", "true", TEXT, TEXT.replace("false", "true")),
        ("provenance.agent", 'say "x"', TEXT, TEXT + 'agent = "say \\"x\\""\n'),
        ("overflow.bytes", "1000", TEXT, TEXT + "\n[overflow]\nbytes = 1000\n"),
        ("overflow.bytes", "1000", "", "[overflow]\nbytes = 1000\n"),
        ("overflow.bytes", "7", "overflow.bytes = 5 # small", "overflow.bytes = 7 # small"),
        ("provenance.enabled", None, TEXT, TEXT.replace("enabled = false\n", "")),
        ("overflow.bytes", None, TEXT, TEXT),
    ],
)
def test_setting_one_leaves_the_rest_as_it_is(
    workspace: Workspace, name: str, value: str | None, before: str, after: str
) -> None:
    write(workspace, before)
    set_setting(workspace, name, value)
    assert read(workspace) == after
    load_settings(workspace.root)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nonsense", "1"),
        ("nonsense", None),
        ("overflow.bytes", "many"),
        ("overflow.bytes", "-1"),
        ("provenance.enabled", "1"),
    ],
)
def test_an_unknown_setting_or_a_wrong_value_is_refused_and_nothing_is_written(
    workspace: Workspace, name: str, value: str | None
) -> None:
    write(workspace, TEXT)
    assert code_of(set_setting, workspace, name, value) == "bad-setting"
    assert read(workspace) == TEXT


@pytest.mark.parametrize(
    "text",
    ["overflow.bytes = 0", "overflow.bytes = true", "overflow.bytes = 'x'", "overflow = 3", "nonsense = 1",
     "provenance.enabled = 1", "freshness.half_life_days = -1", "freshness.half_life_days = nan", "[", "a = 'é",
     "[other]\nkey = 1\n", "\x00"],
)  # fmt: skip
def test_an_unknown_setting_or_a_wrong_value_in_the_file_is_refused_and_the_file_stays_as_it_is(
    workspace: Workspace, text: str
) -> None:
    write(workspace, text)
    assert code_of(load_settings, workspace.root) == "bad-setting"
    assert code_of(set_setting, workspace, "overflow.bytes", "5") == "bad-setting"
    assert read(workspace) == text


@pytest.mark.parametrize("name", ["freshness.half_life_days", "provenance.agent", "overflow.bytes"])
def test_a_file_keeps_its_line_ends(workspace: Workspace, name: str) -> None:
    write(workspace, TEXT)
    set_setting(workspace, name, "7")
    wanted = (workspace.root / "slicebase.toml").read_bytes().replace(b"\n", b"\r\n")
    (workspace.root / "slicebase.toml").write_bytes(TEXT.encode().replace(b"\n", b"\r\n"))
    set_setting(workspace, name, "7")
    assert (workspace.root / "slicebase.toml").read_bytes() == wanted


def test_a_file_that_is_not_text_is_refused(workspace: Workspace) -> None:
    (workspace.root / "slicebase.toml").write_bytes(b"\xff")
    assert code_of(load_settings, workspace.root) == "bad-setting"


# A file that comes with a repository names nothing outside of it

TEXTS = {
    "provenance.agent": "a name, which is only written down",
    "url": "an address, which only the settings of the user can have",
}


def test_every_setting_that_is_text_is_known_to_be_a_path_or_not() -> None:
    assert {name for name, key in SETTING_KEYS.items() if str in key.types and not key.is_path} == TEXTS.keys()


@pytest.mark.parametrize(
    "value", ["../rules.toml", "/etc/passwd", "link", "link/x", "a/../../x", "inner/out", "x\0", "rules.toml"]
)
def test_a_path_that_leads_out_of_the_workspace_is_refused(
    workspace: Workspace, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SETTING_KEYS["provenance.agent"]._replace(is_path=True)
    monkeypatch.setattr(settings, "SETTING_KEYS", {**SETTING_KEYS, "provenance.agent": path})
    (workspace.root / "link").symlink_to("..")
    (workspace.root / "inner").mkdir()
    (workspace.root / "inner" / "out").symlink_to("../../x")
    write(workspace, f"[provenance]\nagent = {json.dumps(value)}\n")
    if value == "rules.toml":
        assert load_settings(workspace.root).provenance_agent == value
        return
    with pytest.raises(SlicebaseError) as caught:
        load_settings(workspace.root)
    assert (caught.value.code, caught.value.where.line) == ("bad-setting", 2)
    assert "provenance.agent" in caught.value.message
    assert repr(value) in caught.value.message
    assert caught.value.hint
    (workspace.root / "slicebase.toml").unlink()
    assert code_of(set_setting, workspace, "provenance.agent", value) == "bad-setting"
    assert not (workspace.root / "slicebase.toml").exists()


def test_a_linked_file_is_read_and_written_inside_and_refused_outside(workspace: Workspace) -> None:
    (workspace.root / "config").mkdir()
    (workspace.root / "slicebase.toml").symlink_to("config/mine.toml")
    set_setting(workspace, "hooks.tokens", 900)
    assert load_settings(workspace.root).hooks_tokens == 900
    assert (workspace.root / "slicebase.toml").is_symlink()
    (workspace.root / "slicebase.toml").unlink()
    for target in ("/dev/zero", "../none.toml"):
        (workspace.root / "slicebase.toml").symlink_to(target)
        assert code_of(load_settings, workspace.root) == "outside-workspace"
        assert code_of(set_setting, workspace, "hooks.tokens", 900) == "outside-workspace"
        (workspace.root / "slicebase.toml").unlink()


@pytest.mark.parametrize(
    "text",
    [f"overflow.bytes = {'9' * 5000}", f"x = {'[' * 5000}", "a." * 3000 + "a = 1", "freshness.half_life_days = inf"],
    ids=["digits", "nesting", "tables", "infinite"],
)
def test_a_number_without_end_or_a_deep_value_is_refused(workspace: Workspace, text: str) -> None:
    write(workspace, text)
    assert code_of(load_settings, workspace.root) == "bad-setting"


def test_settings_that_are_no_file_or_have_no_end_are_refused(workspace: Workspace) -> None:
    path = workspace.root / "slicebase.toml"
    os.mkfifo(path)
    assert code_of(load_settings, workspace.root) == "bad-setting"
    path.unlink()
    path.write_text("# long\n" * 200_000)
    assert code_of(load_settings, workspace.root) == "bad-setting"


def test_a_form_that_is_not_understood_is_left_alone(workspace: Workspace) -> None:
    """An inline table is TOML as well, and has to be edited by hand."""
    text = "overflow = {bytes = 5}\n"
    write(workspace, text)
    assert load_settings(workspace.root).overflow_bytes == 5
    assert code_of(set_setting, workspace, "overflow.bytes", "7") == "bad-setting"
    assert read(workspace) == text


_lines = st.lists(
    st.sampled_from(["", "# note", "[a]", "[b] # table", "x = 1", "y = 'two' # y", 'z = "t # h"', "  w = true"]),
    max_size=8,
)


@given(lines=_lines, name=st.sampled_from(["a.x", "a.y", "b.z", "c.x"]))
def test_an_edited_text_says_what_was_wanted_and_the_same_otherwise(lines: list[str], name: str) -> None:
    text = "\n".join(lines) + "\n"
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    table, key = name.split(".")
    if isinstance(before.get(table, {}), dict):
        after = tomllib.loads(with_value(text, name, "7"))
        assert after == {**before, table: {**before.get(table, {}), key: 7}}
        assert with_value(with_value(text, name, "8"), name, "7") == with_value(text, name, "7")
        gone = tomllib.loads(without_value(with_value(text, name, "7"), name))
        assert gone.get(table, {}).get(key) is None


@pytest.mark.parametrize("line", [" " * 200_000, "[" + " " * 200_000, "x" + " " * 200_000 + "y", '" ' * 100_000])
def test_long_lines_of_a_file_from_elsewhere_are_searched_in_linear_time(workspace: Workspace, line: str) -> None:
    """A pattern that gives back what it has matched would need hours here."""
    write(workspace, f"[provenance]\nagent = '''\n{line}\n'''\n[hooks]\ntokens = 7\n")
    found = {each.name: each.source for each in settings_with_sources(workspace.root, {})}
    assert found["hooks.tokens"] == "slicebase.toml:6"


@pytest.mark.parametrize("name", ["slicebase.toml", "rules.toml"])
def test_a_key_of_thousands_of_parts_is_refused_with_its_file_and_line(workspace: Workspace, name: str) -> None:
    write(workspace, "redaction.rules = 'rules.toml'\n")
    (workspace.root / name).write_text("\n" + "a." * 60_000 + "b = 1\n")
    with Slicebase.open(workspace.root) as memory, pytest.raises(SlicebaseError) as caught:
        memory.library.create("Title", "A summary.")
    assert caught.value.code == ("bad-setting" if name == "slicebase.toml" else "bad-rule")
    assert caught.value.where == (str(workspace.root / name), 2, None)
