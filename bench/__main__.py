"""Runs the named benchmarks, or all of them. A benchmark is a module of this package with a function `run`.

What follows one name and begins with a dash are options of that benchmark.
"""

import sys
from importlib import import_module
from inspect import signature
from itertools import takewhile
from pkgutil import iter_modules

import bench


def main(arguments: list[str]) -> None:
    names = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = arguments[len(names) :]
    known = sorted(module.name for module in iter_modules(bench.__path__) if not module.name.startswith("_"))
    if unknown := set(names) - set(known):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    runs = [import_module(f"bench.{name}").run for name in names or known]
    if options and (len(names) != 1 or not signature(runs[0]).parameters):
        sys.exit("options belong to one benchmark that has some: recall")
    for run in runs:
        run(*([options] if options else []))


if __name__ == "__main__":
    main(sys.argv[1:])
