"""Runs the named benchmarks, or all of them. A benchmark is a module of this package with a function `run`."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import bench


def main(names: list[str]) -> None:
    known = sorted(module.name for module in iter_modules(bench.__path__) if not module.name.startswith("_"))
    if unknown := set(names) - set(known):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in names or known:
        import_module(f"bench.{name}").run()


if __name__ == "__main__":
    main(sys.argv[1:])
