"""Compiles the kernel of context slices. Everything else about the package is in pyproject.toml.

Where it cannot be compiled, the package is installed without it: then the plain version of the same code runs.
"""

import hashlib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FOLDER = Path("src/slicebase/graph")
NAMES = sorted(path.stem for path in FOLDER.glob("native*.pxd"))
SOURCES = [FOLDER / f"{name}{suffix}" for name in NAMES for suffix in (".py", ".pxd")]
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


def extension(name: str) -> Extension:
    return Extension(
        f"slicebase.graph.{name}",
        [str(FOLDER / f"{name}.py")],
        # No two steps may be joined into one, because each of them rounds (ruling 8).
        extra_compile_args=["-O2", "-ffp-contract=off"],
        depends=[str(path) for path in SOURCES],
        define_macros=[("SLICEBASE_NATIVE_SOURCE", f'"{DIGEST}"')],
    )


modules = cythonize([extension(name) for name in NAMES], include_path=["src"], build_dir="build")
for module in modules:
    module.optional = True  # here, because cythonize drops it
setup(ext_modules=modules)
