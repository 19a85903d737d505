"""Benchmarks, each with what it is compared with: `python -m bench` runs all, `python -m bench files` runs one."""
