"""Reading a header: with yaml-rs where it is safe, with the scanner alone, and with PyYAML's C loader."""

from collections.abc import Callable
from time import process_time

import yaml

from slicebase.files.yaml.load import load, load_plainly

ROUNDS = 12
TIMES = 100
TEXT = """\
slice:
  v: "1"
  kind: context
  id: 01HF7YAT00YPRPA8JAB2VS3WER
  title: Queue design
  summary: Why the queue is a table. One writer, many readers, and what was rejected on the way to it.
  body:
    type: markdown
  contract:
    purpose: "Design of the queue: what was chosen, and why."
    exclude:
      - operations
      - benchmarks and figures
    write: replace
    overflow: summarize
  links:
    - rel: depends_on
      to: 01HF7YAT9BNWRDQP8DX3GP38ZG
    - rel: routes_to
      to: ./operations.slice
      label: operations
  meta:
    author: kim
    reviewed: true
"""
HEADERS = {
    "text": TEXT,
    "with a number": TEXT + "    weight: 3\n",
    "with a folded text": TEXT + "    note: >-\n      Two lines\n      of text.\n",
    "left to the scanner": TEXT + "    since: 1_000\n",
}


def best(read: Callable[[str], object], text: str) -> float:
    """Returns the processor time for reading a header once in microseconds, in the best of many rounds."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(TIMES):
            read(text)
        times.append(process_time() - start)
    return min(times) / TIMES * 1e6


def run() -> None:
    print(f"headers: reading a header of {len(TEXT):,} characters, best of {ROUNDS}, µs")
    print(f"  {'':<22} {'load':>8} {'scanner':>8} {'PyYAML C':>9}")
    for name, text in HEADERS.items():
        theirs = best(lambda text: yaml.load(text, yaml.CSafeLoader), text)
        print(f"  {name:<22} {best(load, text):8.1f} {best(load_plainly, text):8.1f} {theirs:9.1f}")
