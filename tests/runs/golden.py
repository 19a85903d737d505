"""Golden files: RECORD_GOLDEN=1 writes them anew, and the diff is reviewed."""

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"


def assert_golden(name: str, data: bytes, folder: Path = GOLDEN) -> None:
    path = folder / name
    if os.environ.get("RECORD_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert path.read_bytes() == data, f"{name} differs; if that is meant, record it with RECORD_GOLDEN=1"
