"""Benchmarks, each beside what it is compared with: `python -m bench` runs all, `python -m bench files` one."""
