"""Where tests find their inputs."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
GOLDEN = PROJECT / "tests" / "golden"
SHARED = PROJECT.parent / "shared"  # real inputs beside the project; what needs them is skipped where they are absent
