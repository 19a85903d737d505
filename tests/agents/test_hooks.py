"""Hooks in a client's settings: everything else stays as it is, and removing them restores the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicebase.agents.clients import CLIENTS
from slicebase.agents.hook_settings import MARK
from slicebase.agents.hooks import ClientHooks, UserHooks
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
    "byte order mark": b'\xef\xbb\xbf{"model": "opus"}\n',
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
    settings: dict[str, Any] = json.loads(path.read_text("utf-8-sig"))
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
    after = json.loads(path.read_text("utf-8-sig"))
    told = json.loads(before.decode("utf-8-sig"))
    for name, value in told.items():
        if name != "hooks":
            assert after[name] == value
    assert [name for name in after if name in told] == list(told)


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
    hooks.uninstall(CLIENT)
    assert not path.parent.exists()


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


def test_uninit_removes_the_hooks_of_every_client(tmp_path: Path) -> None:
    base = Slicebase.init(tmp_path)
    for client in CLIENTS:
        base.hooks.install(client)
    assert all(any(client in what for what in base.uninit(dry_run=True)) for client in CLIENTS)
    base.uninit()
    assert {path.name for path in tmp_path.iterdir()} <= {".slices"}


def test_uninit_passes_over_settings_that_it_cannot_read_and_never_changed(tmp_path: Path) -> None:
    base = Slicebase.init(tmp_path)
    path = write(tmp_path, b"{ // mine")
    base.uninit()
    assert path.read_bytes() == b"{ // mine"


def test_an_unknown_client_is_an_error(hooks: ClientHooks) -> None:
    assert code_of(hooks.install, "other") == "unknown-client"


def test_settings_that_are_not_utf8_are_refused_and_left_alone(tmp_path: Path, hooks: ClientHooks) -> None:
    path = tmp_path / CLIENTS["claude-code"].settings
    path.parent.mkdir()
    path.write_bytes(b'{"\xf6":{}}')
    for verb in (hooks.install, hooks.uninstall, hooks.status):
        assert code_of(verb, "claude-code") == "not-utf8"
    assert path.read_bytes() == b'{"\xf6":{}}'


# All clients


@pytest.mark.parametrize("client", CLIENTS)
def test_the_hooks_of_every_client_come_and_go_without_a_trace(client: str, tmp_path: Path, hooks: ClientHooks) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert hooks.install(client).changed
    assert not hooks.install(client).changed
    assert hooks.status(client).state == "installed"
    assert {each.client: each.state for each in hooks.statuses()} == {
        name: "installed" if name == client else "missing" for name in CLIENTS
    }
    assert list(hooks.marked()) == [client]
    hooks.uninstall(client)
    assert [path for path in sorted(tmp_path.rglob("*")) if ".slicebase" not in path.parts] == [
        path for path in before if ".slicebase" not in path.parts
    ]


def test_a_hook_that_is_missing_makes_a_client_partly_installed_and_bad_settings_tell_why(
    tmp_path: Path, hooks: ClientHooks
) -> None:
    hooks.install(CLIENT)
    path = settings_of(tmp_path)
    path.write_text(JsonText(path.read_text()).without_item(("hooks",), "PreCompact"))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "hooks.json").write_text("[]")
    states = {each.client: each for each in hooks.statuses()}
    assert states[CLIENT].state == "partly"
    assert states["codex"].state == "unreadable"
    assert "hooks.json" in states["codex"].path
    assert states["codex"].problem


def limits(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_bytes())["hooks"]
    return {event: group["hooks"][0]["timeout"] for event, (group,) in found.items()}


def test_time_limits_have_the_unit_of_the_client(tmp_path: Path, hooks: ClientHooks) -> None:
    """Codex gives the end of a session three seconds; Gemini CLI counts milliseconds."""
    found = {client: limits(Path(hooks.install(client).path)) for client in ("claude-code", "codex", "gemini")}
    assert set(found["claude-code"].values()) == {10}
    assert found["codex"].pop("SessionEnd") == 3
    assert set(found["codex"].values()) == {10}
    assert set(found["gemini"].values()) == {10_000}
    assert set(found["gemini"]) == {"SessionStart", "BeforeAgent", "PreCompress", "SessionEnd"}


@pytest.mark.parametrize("before", [b'{\n  // mine\n  "theme": "dark" /* so */\n}\n', b'{"hooks": {"enabled": true}}'])
def test_settings_of_gemini_may_have_comments_and_what_is_no_event(
    before: bytes, tmp_path: Path, hooks: ClientHooks
) -> None:
    path = tmp_path / CLIENTS["gemini"].settings
    path.parent.mkdir()
    path.write_bytes(before)
    hooks.install("gemini")
    assert b"BeforeAgent --client gemini" in path.read_bytes()
    path.write_bytes(path.read_bytes() + b"\n")  # so that the hooks are taken out one by one
    hooks.uninstall("gemini")
    assert path.read_bytes() == before + b"\n"


def test_a_plugin_of_somebody_else_is_left_alone(tmp_path: Path, hooks: ClientHooks) -> None:
    path = tmp_path / CLIENTS["opencode"].settings
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    assert code_of(hooks.install, "opencode") == "bad-client-settings"
    assert not hooks.uninstall("opencode").changed
    assert hooks.status("opencode").state == "missing"
    assert path.exists()


def test_a_plugin_of_another_version_is_replaced_and_removed(tmp_path: Path, hooks: ClientHooks) -> None:
    path = Path(hooks.install("opencode", program="/old/tt").path)
    path.write_text(path.read_text() + "// changed\n")
    assert hooks.install("opencode").changed
    assert "/old/tt" not in path.read_text()
    hooks.uninstall("opencode")
    assert not (tmp_path / ".opencode").exists()


# The settings of the user


@pytest.mark.parametrize("client", CLIENTS)
def test_the_settings_of_the_user_are_restored_too(client: str, tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    hooks = UserHooks(tmp_path, {})
    change = hooks.install(client)
    assert Path(change.path).is_relative_to(tmp_path)
    assert "--scope user" in str(change.text)
    assert hooks.status(client).state == "installed"
    assert UserHooks(tmp_path, {}).uninstall(client).changed
    assert sorted(path.name for path in tmp_path.iterdir()) == [".local"]


def test_the_variables_of_clients_move_the_settings_of_the_user(tmp_path: Path) -> None:
    names = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME")
    hooks = UserHooks(tmp_path / "home", {name: str(tmp_path / name) for name in names})
    assert {Path(each.path).relative_to(tmp_path).parts[0] for each in hooks.statuses()} == set(names)


def test_each_folder_of_the_user_keeps_its_own_earlier_settings(tmp_path: Path) -> None:
    first, second = (UserHooks(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / name)}) for name in "ab")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "settings.json").write_text("{}")
    for each in (first, second):
        each.install(CLIENT)
    for each in (second, first):
        each.uninstall(CLIENT)
    assert (tmp_path / "b" / "settings.json").read_text() == "{}"
    assert not (tmp_path / "a").exists()


def test_settings_that_cannot_be_read_have_no_hook(tmp_path: Path, hooks: ClientHooks) -> None:
    hooks.install(CLIENT)
    assert hooks.has(CLIENT, "SessionStart")
    assert not hooks.has(CLIENT, "Other")
    (tmp_path / ".claude" / "settings.json").write_text("{")
    assert not hooks.has(CLIENT, "SessionStart"), "so that the hook of the user works"


def test_a_dry_run_for_the_user_writes_nothing(tmp_path: Path) -> None:
    assert UserHooks(tmp_path, {}).install(CLIENT, dry_run=True).changed
    assert not UserHooks(tmp_path, {}).uninstall(CLIENT, dry_run=True).changed
    assert list(tmp_path.iterdir()) == []


def test_a_link_of_the_user_is_followed_to_the_file_that_it_names(tmp_path: Path) -> None:
    """Many keep the settings of all programs in one folder, and link to them."""
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    (home / ".claude").mkdir(parents=True)
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text("{}")
    (home / ".claude" / "settings.json").symlink_to(dotfiles / "claude.json")
    assert UserHooks(home, {}).install(CLIENT).path == str(dotfiles / "claude.json")
    assert MARK in (dotfiles / "claude.json").read_text()
    UserHooks(home, {}).uninstall(CLIENT)
    assert (dotfiles / "claude.json").read_text() == "{}"
    assert (home / ".claude" / "settings.json").is_symlink()
