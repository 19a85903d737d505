"""What axe finds in a page: the rules of WCAG 2.2 (A and AA) that a program can check."""

from functools import cache
from importlib.resources import files
from typing import Any, Final

from tests.browser.visits import Visit

SERIOUS: Final = ("serious", "critical")
_RUN: Final = """() => axe.run(document, {resultTypes: ["violations"], preload: false, runOnly: {
    type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}})
    .then((found) => found.violations)"""


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text()


def serious_findings(visit: Visit) -> list[str]:
    """Returns the serious and critical findings in a page, each with the elements that it names."""
    if not visit.run("'axe' in window"):
        visit.run(_axe())
    found: list[dict[str, Any]] = visit.run(_RUN)
    return [
        f"{each['id']}: {each['help']}: {' | '.join(node['html'][:160] for node in each['nodes'][:3])}"
        for each in found
        if each["impact"] in SERIOUS
    ]
