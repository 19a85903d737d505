"""The numbers of a workspace over HTTP."""

from pathlib import Path

from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.workspace.workspace import open_workspace
from tests.library.samples import put
from tests.web.api.test_files import ok


def test_the_numbers_of_a_workspace(client: TestClient, root: Path) -> None:
    workspace = open_workspace(root, root)
    put(workspace, "page", updated_at="2019-01-01T00:00:00.000Z")
    (workspace.library / "broken.slice").write_text("---\nslice: [\n---\n")
    found = ok(client, "/status")
    assert (found["name"], found["sessions"], found["files"]) == (root.name, 2, {"markdown": 1})
    assert found["freshness"] == {"FRESH": 0, "AGING": 0, "STALE": 0, "DECAYED": 1}
    assert (found["stale"], len(found["broken"]), found["last_seal"]) == (1, 1, None)
    assert found["database_bytes"] > 0
    assert found["kernel"] in ("native", "plain")


def test_the_last_seal_is_named(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.seal()
        sealed = memory.seal()
    assert ok(client, "/status")["last_seal"] == {"id": sealed.id, "time": sealed.file.updated_at}
