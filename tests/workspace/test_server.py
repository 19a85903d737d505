"""The user names the server of new memories, and a repository never does."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase import Slicebase, SlicebaseError
from slicebase.workspace.server import URL_VARIABLE, server_url, shown_url
from slicebase.workspace.settings import load_settings, set_setting, settings_with_sources
from slicebase.workspace.workspace import open_workspace

ADDRESS = "postgresql://ada:sesame-1234@db.example:5432/memory?sslmode=require"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's own workspace."""
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "data" / "slicebase"
    folder.mkdir(parents=True)
    Slicebase.init(folder).close()
    return folder


@pytest.fixture
def project(tmp_path: Path, own: Path) -> Path:
    with Slicebase.init(tmp_path / "project") as memory:
        return memory.root


def test_without_a_word_of_the_user_a_memory_is_a_file(project: Path) -> None:
    assert server_url() == ""
    assert open_workspace(project).url == ""


def test_the_variable_and_then_the_settings_of_the_user_name_the_server(
    project: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_setting(open_workspace(own), "url", ADDRESS)
    assert open_workspace(project).url == ADDRESS
    monkeypatch.setenv(URL_VARIABLE, "postgresql://other.example/memory")
    assert open_workspace(project).url == "postgresql://other.example/memory"


def test_the_settings_of_a_workspace_cannot_name_a_server(project: Path, own: Path) -> None:
    (project / "slicebase.toml").write_text(f'url = "{ADDRESS}"\n')
    with pytest.raises(SlicebaseError) as caught:
        load_settings(project)
    assert caught.value.code == "bad-setting"
    assert "sesame" not in repr(caught.value)
    assert open_workspace(project).url == ""
    (project / "slicebase.toml").unlink()
    with pytest.raises(SlicebaseError):
        set_setting(open_workspace(project), "url", ADDRESS)
    assert not (project / "slicebase.toml").exists()


@pytest.mark.parametrize("url", ["mysql://db", "db.example", "postgresql:/db", "file:///memory.db"])
def test_what_is_no_address_of_postgresql_is_refused_and_not_repeated(
    own: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SlicebaseError) as caught:
        set_setting(open_workspace(own), "url", url)
    assert caught.value.code == "bad-setting"
    (own / "slicebase.toml").write_text(f'url = "{url}"\n')
    with pytest.raises(SlicebaseError):
        server_url()
    monkeypatch.setenv(URL_VARIABLE, url)
    with pytest.raises(SlicebaseError) as caught:
        server_url()
    assert url not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:ses%ame@db/x",
        "postgresql://ada:ses@ame@db/x",
        "postgresql://ada:ses/ame@db/x",
        "postgresql://ada:12/ame@db/x",
        "postgresql://ada:ses ame@db/x",
        "postgresql://ada:ses\udcffame@db/x",
        "postgresql://ada:12/3?ame@db/x",
        "postgresql://ada:12/3?ses&ame@db/x",
        "postgresql://ses:ame/x",
        "postgresql://[ses/ame",
        "host=db password=sesame",
    ],
)
def test_an_address_with_marks_in_its_password_that_are_not_encoded_is_refused_and_never_shown(
    own: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libpq reads the end of such a password as a host, a port or a parameter, and repeats it in its errors."""
    monkeypatch.setenv(URL_VARIABLE, url)
    with pytest.raises(SlicebaseError) as caught:
        server_url()
    assert caught.value.code == "bad-setting"
    (setting,) = [each for each in settings_with_sources(own, {URL_VARIABLE: url}) if each.name == "url"]
    told = f"{caught.value} {caught.value.hint} {setting}"
    assert not any(part in told for part in ("ses", "ame@", "udcff"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:ses#a?me@db:5/x", "db:5/x"),
        ("postgresql://ada:ses%2Fame@db", "db"),
        ("postgresql://[ada:same@[::1]:5432/x?sslmode=require", "[::1]:5432/x"),
        ("postgres://ada@h1:1,h2:2,h3/x?a=1&b=2", "h1:1,h2:2,h3/x"),
        ("postgresql:///x?host=/run&password=sesame", "/x"),
        ("postgresql://?host=/run", ""),
    ],
)
def test_an_address_is_shown_as_libpq_reads_it(url: str, shown: str) -> None:
    assert server_url({URL_VARIABLE: url}) == url
    assert shown_url(url) == f"postgresql://{shown}"


@given(st.text("abc:/@?#%[]&=,41\udc80 \n"))
def test_no_text_of_any_form_is_an_error_where_an_address_is_shown(text: str) -> None:
    assert "@" not in shown_url(f"postgresql://{text}")
    assert shown_url(f"postgresql://ada:Secret{text}@db/x").count("Secret") == 0


def test_settings_with_an_address_can_be_read_by_their_owner_alone(own: Path) -> None:
    set_setting(open_workspace(own), "url", ADDRESS)
    assert (own / "slicebase.toml").stat().st_mode & 0o077 == 0


def test_the_settings_of_a_workspace_say_that_those_of_the_user_name_the_server(own: Path, project: Path) -> None:
    set_setting(open_workspace(own), "url", ADDRESS)
    (shown,) = [each for each in settings_with_sources(project, os.environ) if each.name == "url"]
    assert shown.value == "postgresql://db.example:5432/memory"
    assert shown.source == str(own / "slicebase.toml")


@pytest.mark.parametrize("text", ["", "# url", "[context]\nsemantic = true\n"])
def test_settings_of_the_user_without_an_address_change_nothing(own: Path, text: str) -> None:
    (own / "slicebase.toml").write_text(text)
    assert server_url() == ""


@pytest.mark.parametrize("data", [b"\xff\xfe", b"url = ", b"url = [1]", b"url = 5"])
def test_settings_of_the_user_that_cannot_be_read_are_an_error_of_ours(own: Path, data: bytes) -> None:
    (own / "slicebase.toml").write_bytes(data)
    with pytest.raises(SlicebaseError) as caught:
        server_url()
    assert caught.value.code == "bad-setting"


def test_what_is_shown_of_an_address_has_no_user_no_password_and_no_parameters(own: Path) -> None:
    set_setting(open_workspace(own), "url", ADDRESS)
    assert shown_url(ADDRESS) == "postgresql://db.example:5432/memory"
    (shown,) = [each for each in settings_with_sources(own, {}) if each.name == "url"]
    assert shown.value == "postgresql://db.example:5432/memory"
