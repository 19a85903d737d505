from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase.store.truth import Truth


@pytest.fixture
def truth(tmp_path: Path) -> Iterator[Truth]:
    opened = Truth(tmp_path / "slicebase.db", create=True)
    yield opened
    opened.close()
