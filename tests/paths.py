"""Where tests find their inputs."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
GOLDEN = PROJECT / "tests" / "golden"
SHARED = PROJECT.parent / "shared"  # real inputs beside the project; tests that need them are skipped without them
