"""Golden files: RECORD_GOLDEN=1 writes them again, and a person reviews the diff."""

import os
from pathlib import Path

from tests.paths import GOLDEN

FOLDER = GOLDEN / "runs"


def assert_golden(name: str, data: bytes, folder: Path = FOLDER) -> None:
    path = folder / name
    if os.environ.get("RECORD_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert path.read_bytes() == data, f"{name} differs; if that is intended, record it with RECORD_GOLDEN=1"
