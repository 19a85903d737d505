"""A change in a file that belongs to the project, as it is told."""

from typing import NamedTuple


class TextChange(NamedTuple):
    """What became of a file that is not ours alone."""

    path: str
    changed: bool
    text: str | None  # the file as it is now, or would be; None where there is none any more

    def said(self, dry_run: bool) -> str:
        """A word about it for people."""
        done = "changed" if self.text is not None else "removed"
        return f"{self.path} " + (f"{'would be' if dry_run else 'was'} {done}" if self.changed else "is that already")
