"""Adapters are tested where all packages that they adapt are installed: `make test-adapters` (docs/adapters.md)."""

from importlib.util import find_spec

PACKAGES = ("agents", "anthropic", "langgraph", "pydantic_ai")
collect_ignore_glob = [] if all(map(find_spec, PACKAGES)) else ["test_*.py"]
