import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.cli.failures import as_our_error
from slicebase.web.admission import Admission
from slicebase.web.app import application

TOKEN = "a-token-of-tests-0123456789"


def client_of(root: Path, *, write: bool = False) -> TestClient:
    """Returns a client of the application over a workspace. With `write`, it has the token."""
    admission = Admission(token=TOKEN.encode())
    app = application(lambda: Slicebase.open(root, root, create=False), admission, write=write, as_ours=as_our_error)
    headers = {"authorization": f"Bearer {TOKEN}"} if write else {}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("web-template")
    with Slicebase.init(made) as base, as_file(files("slicebase") / "samples") as samples:
        base.import_([samples / "claude-code-session.jsonl", samples / "long-session.jsonl"])
    return made


@pytest.fixture
def root(tmp_path: Path, template: Path) -> Path:
    """A workspace with the two conversations of the samples."""
    return Path(shutil.copytree(template, tmp_path / "workspace"))


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    """A client of a server that only reads."""
    with client_of(root) as made:
        yield made


@pytest.fixture
def writer(root: Path) -> Iterator[TestClient]:
    """A client with the token of a server that may write."""
    with client_of(root, write=True) as made:
        yield made
