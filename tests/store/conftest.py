from pathlib import Path

import pytest

from slicebase.store.finding import Finder
from slicebase.store.workspace import Workspace
from tests.store.shelves import library


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace, in no repository."""
    return library(tmp_path)


@pytest.fixture
def finder(workspace: Workspace) -> Finder:
    return Finder(workspace)
