"""The figures of a soak: what was tried and what went wrong, as a table that a page can quote."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "reliability.md"
BEGIN: Final = "<!-- soak: begin -->\n"
END: Final = "<!-- soak: end -->\n"
_HEAD: Final = (
    "| what | tries | acknowledged | lost | false alarms | unfinished | unwitnessed | locked | seconds |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
)


@dataclass
class Outcome:
    """What one try gave. `lost`, `alarms` and `unfinished` say what went wrong."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)  # acknowledged, and not there
    alarms: list[str] = field(default_factory=list)  # verify, an error or a doctor that speaks of damage without any
    unfinished: list[str] = field(default_factory=list)  # work that cannot be repeated, files or texts that stay
    unwitnessed: bool = False
    locked: int = 0  # verbs that waited for others as long as is documented
    skipped: str = ""

    @property
    def problems(self) -> list[str]:
        kinds = {"lost": self.lost, "false alarm": self.alarms, "unfinished": self.unfinished}
        return [f"{kind}: {problem}" for kind, problems in kinds.items() for problem in problems]


class Figures:
    """The figures of all tries of one kind."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.tries = self.acknowledged = self.lost = self.alarms = self.unfinished = self.unwitnessed = self.locked = 0
        self.seconds = 0.0

    def add(self, outcome: Outcome, seconds: float) -> None:
        self.tries += 1
        self.acknowledged += outcome.acknowledged
        self.lost += len(outcome.lost)
        self.alarms += len(outcome.alarms)
        self.unfinished += len(outcome.unfinished)
        self.unwitnessed += outcome.unwitnessed
        self.locked += outcome.locked
        self.seconds += seconds

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.alarms or self.unfinished)

    def row(self) -> str:
        counts = (self.tries, self.acknowledged, self.lost, self.alarms, self.unfinished, self.unwitnessed, self.locked)
        return f"| {self.what} | " + " | ".join(f"{count:,}" for count in counts) + f" | {self.seconds:.0f} |\n"


def table(figures: list[Figures]) -> str:
    """Returns the figures as a table in Markdown."""
    return _HEAD + "".join(each.row() for each in figures)


def record(figures: list[Figures], page: Path = PAGE) -> None:
    """Writes the table between its two marks on the page. Rows of kinds that did not run stay."""
    before, _, rest = page.read_text().partition(BEGIN)
    quoted, _, after = rest.partition(END)
    rows = {line.split(" | ")[0]: line for line in quoted.splitlines(keepends=True)[2:]}
    rows.update({f"| {each.what}": each.row() for each in figures})
    page.write_text(f"{before}{BEGIN}{_HEAD}{''.join(rows.values())}{END}{after}")
