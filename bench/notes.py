"""Notes in place: adding a folder, the second look, and a search, beside a plain read of the same files in one run.

`python -m bench.notes 1000 50000` uses other numbers of notes than 10,000.
"""

import hashlib
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.library import command, seconds, sentences, show
from slicebase.base import Slicebase

NOTES = 10_000
NOTE_BYTES = 2000
FOLDERS = 40
ROUNDS = 5
SECONDS = 15.0  # for adding 10,000 notes
SECOND_LOOK = 1.0  # seconds, as a process


def write_notes(folder: Path, notes: int) -> None:
    """Writes notes of real text with a few links, in several folders."""
    chance, lines = random.Random(1), sentences()
    for number in range(notes):
        path = folder / f"area{number % FOLDERS}" / f"note{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"# {' '.join(chance.choice(lines).split()[:6])}\n\n{chance.choice(lines)}\n"
        while len(text) < NOTE_BYTES:
            text += f"\n## {' '.join(chance.choice(lines).split()[:4])}\n\n" if chance.random() < 0.2 else "\n"
            text += chance.choice(lines) + "\n"
            if chance.random() < 0.1:
                other = chance.randrange(notes)
                text += f"See [[note{other}]] and [it](../area{other % FOLDERS}/note{other}.md).\n"
        path.write_text(text)


def plain_read(folder: Path) -> int:
    """Reads and hashes every file: what nobody can avoid."""
    size = 0
    for above, _, names in os.walk(folder):
        for name in names:
            data = Path(above, name).read_bytes()
            size += len(data) + len(hashlib.sha256(data).digest())
    return size


def measure(notes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_notes(root / "docs", notes)
        plain = seconds(lambda: plain_read(root / "docs"), ROUNDS)
        memory = Slicebase.init(root)
        print(f"notes: {notes:,} files of {NOTE_BYTES:,} bytes in {FOLDERS} folders")
        show("reading and hashing all", plain)
        added = seconds(lambda: memory.library.add(root / "docs"))
        limit = f", at most {SECONDS:.0f} s" if notes == NOTES else ""
        show("tt add: pointers and index", added, f"  {added / plain:.0f} of that{limit}")
        memory.library.refresh_all()  # reads again what was written in the granule of the clock
        for what, action in (
            ("tt add again", lambda: memory.library.add(root / "docs")),
            ("tt refresh --all", memory.library.refresh_all),
            ("a search", lambda: memory.library.search("index")),
        ):
            took = seconds(action, ROUNDS)
            show(f"{what}, nothing changed", took, f"  {took / plain:.1f} of that")
        look = seconds(command(memory.workspace, sys.executable, "-m", "slicebase", "refresh", "--all"), ROUNDS)
        show("tt refresh --all, as a process", look, f"  at most {SECOND_LOOK * 1000:.0f} ms" if notes == NOTES else "")
        changed = root / "docs" / "area0" / "note0.md"
        changed.write_text(changed.read_text() + "\nOne more line.\n")
        show("tt refresh --all, one changed", seconds(memory.library.refresh_all))
        (root / "docs").rename(root / "moved")
        show("tt add, all moved", seconds(lambda: memory.library.add(root / "moved")))
        memory.close()


def run(sizes: Sequence[int] = (NOTES,)) -> None:
    for notes in sizes:
        measure(notes)


if __name__ == "__main__":
    run([int(size) for size in sys.argv[1:]] or (NOTES,))
