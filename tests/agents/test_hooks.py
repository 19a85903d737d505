"""Hooks in a client's settings: everything else stays as it is, and removing them restores the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicebase.agents.clients import CLIENTS
from slicebase.agents.hook_settings import MARK
from slicebase.agents.hooks import ClientHooks
from slicebase.agents.json_text import JsonText
from slicebase.base import Slicebase
from slicebase.workspace.workspace import create_workspace
from tests.codes import code_of

CLIENT = "claude-code"
EVENTS = CLIENTS[CLIENT].events

SETTINGS = {
    "compact": b'{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[]}]}}',
    "tabs and other hooks": b"""{
\t"model": "opus",
\t"hooks": {
\t\t"PreCompact": [
\t\t\t{"matcher": "auto", "hooks": [{"type": "command", "command": "echo \\"hi, {there}\\""}]}
\t\t],
\t\t"SessionStart": []
\t},
\t"z": 1, "a": [1, {"b": "\\u00e9\xc3\xa9"}]
}
""",
    "empty object": b"{ }",
    "empty file": b"",
    "windows lines": b'{\r\n    "model": "opus",\r\n    "env": {}\r\n}\r\n',
    "no indentation": b'{"a": 1,\n"hooks": {}\n}',
}


@pytest.fixture
def hooks(tmp_path: Path) -> ClientHooks:
    return ClientHooks(create_workspace(tmp_path))


def settings_of(tmp_path: Path) -> Path:
    return tmp_path / CLIENTS[CLIENT].settings


def write(tmp_path: Path, data: bytes) -> Path:
    path = settings_of(tmp_path)
    path.parent.mkdir()
    path.write_bytes(data)
    return path


def commands(path: Path) -> list[str]:
    settings: dict[str, Any] = json.loads(path.read_bytes())
    return [
        hook["command"]
        for groups in settings["hooks"].values()
        for group in groups
        for hook in group["hooks"]
        if "hook run" in hook["command"]
    ]


@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS)
def test_uninstalling_leaves_the_settings_byte_for_byte_as_they_were(
    before: bytes, tmp_path: Path, hooks: ClientHooks
) -> None:
    path = write(tmp_path, before)
    assert hooks.install(CLIENT).changed
    assert sorted(commands(path)) == sorted(f"tt hook run {event} --client claude-code # slicebase" for event in EVENTS)
    assert hooks.status(CLIENT).missing == ()
    assert not hooks.install(CLIENT).changed
    assert hooks.uninstall(CLIENT).changed
    assert path.read_bytes() == before
    assert not hooks.uninstall(CLIENT).changed


@pytest.mark.parametrize("before", [data for data in SETTINGS.values() if data], ids=lambda data: str(data)[:12])
def test_everything_else_keeps_its_value_and_order(before: bytes, tmp_path: Path, hooks: ClientHooks) -> None:
    path = write(tmp_path, before)
    hooks.install(CLIENT)
    after = json.loads(path.read_bytes())
    for name, value in json.loads(before).items():
        if name != "hooks":
            assert after[name] == value
    assert [name for name in after if name in json.loads(before)] == list(json.loads(before))


def test_settings_that_somebody_changed_in_the_meantime_lose_only_our_hooks(tmp_path: Path, hooks: ClientHooks) -> None:
    path = write(tmp_path, SETTINGS["tabs and other hooks"])
    hooks.install(CLIENT)
    path.write_bytes(path.read_bytes().replace(b'"opus"', b'"haiku"'))
    hooks.uninstall(CLIENT)
    settings = json.loads(path.read_bytes())
    assert settings["model"] == "haiku"
    assert [group["matcher"] for group in settings["hooks"]["PreCompact"]] == ["auto"]
    assert b"slicebase" not in path.read_bytes()


def test_a_file_and_folder_that_we_created_are_removed_again(tmp_path: Path, hooks: ClientHooks) -> None:
    hooks.install(CLIENT)
    assert settings_of(tmp_path).exists()
    hooks.uninstall(CLIENT)
    assert not settings_of(tmp_path).parent.exists()


def test_a_file_that_we_created_stays_if_somebody_else_wrote_to_it(tmp_path: Path, hooks: ClientHooks) -> None:
    hooks.install(CLIENT)
    path = settings_of(tmp_path)
    path.write_text(JsonText(path.read_text()).with_item((), "opus", "model"))
    hooks.uninstall(CLIENT)
    assert json.loads(path.read_bytes()) == {"model": "opus"}


def test_a_dry_run_shows_the_change_and_writes_nothing(tmp_path: Path, hooks: ClientHooks) -> None:
    path = write(tmp_path, b"{}")
    shown = hooks.install(CLIENT, dry_run=True)
    assert shown.changed
    assert "SessionStart" in str(shown.text)
    assert path.read_bytes() == b"{}"
    hooks.install(CLIENT)
    before = path.read_bytes()
    assert hooks.uninstall(CLIENT, dry_run=True).text == "{}"
    assert path.read_bytes() == before


def test_only_a_hook_that_was_removed_by_hand_is_installed_again(tmp_path: Path, hooks: ClientHooks) -> None:
    hooks.install(CLIENT)
    path = settings_of(tmp_path)
    path.write_text(JsonText(path.read_text()).without_item(("hooks",), "PreCompact"))
    assert hooks.status(CLIENT).missing == ("PreCompact",)
    hooks.install(CLIENT)
    assert len(commands(path)) == len(EVENTS)


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"hooks": []}', b'{"hooks": {"PreCompact": {}}}', b'{"a": 1} // no'])
def test_settings_of_another_form_are_refused_and_left_alone(data: bytes, tmp_path: Path, hooks: ClientHooks) -> None:
    path = write(tmp_path, data)
    assert code_of(hooks.install, CLIENT) == "bad-client-settings"
    assert path.read_bytes() == data


def test_a_link_is_followed_inside_the_project_and_never_out_of_it(tmp_path: Path, hooks: ClientHooks) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "elsewhere.json").write_text("{}")
    settings_of(tmp_path).symlink_to(tmp_path / "elsewhere.json")
    assert hooks.install(CLIENT).changed
    assert MARK in (tmp_path / "elsewhere.json").read_text()
    settings_of(tmp_path).unlink()
    settings_of(tmp_path).symlink_to(tmp_path.parent / "none.json")
    assert code_of(hooks.install, CLIENT) == "outside-workspace"
    assert not (tmp_path.parent / "none.json").exists()


def test_uninit_removes_the_hooks_too(tmp_path: Path) -> None:
    base = Slicebase.init(tmp_path)
    base.hooks.install(CLIENT)
    assert any(CLIENT in what for what in base.uninit(dry_run=True))
    base.uninit()
    assert not settings_of(tmp_path).exists()
    assert not (tmp_path / ".slicebase").exists()


def test_an_unknown_client_is_an_error(hooks: ClientHooks) -> None:
    assert code_of(hooks.install, "other") == "unknown-client"


def test_settings_that_are_not_utf8_are_refused_and_left_alone(tmp_path: Path, hooks: ClientHooks) -> None:
    path = tmp_path / CLIENTS["claude-code"].settings
    path.parent.mkdir()
    path.write_bytes(b'{"\xf6":{}}')
    for verb in (hooks.install, hooks.uninstall, hooks.status):
        assert code_of(verb, "claude-code") == "not-utf8"
    assert path.read_bytes() == b'{"\xf6":{}}'
