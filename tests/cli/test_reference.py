"""The documentation agrees with the program."""

import re

from slicebase.cli.commands import LISTED
from slicebase.cli.reference import reference
from tests.paths import PROJECT


def test_the_reference_is_up_to_date() -> None:
    """Run `make docs` when this fails."""
    assert (PROJECT / "docs" / "reference.md").read_text() == reference()


def test_every_command_is_shown_in_the_documentation() -> None:
    result = "\n".join(path.read_text() for path in [PROJECT / "README.md", *PROJECT.glob("docs/*.md")])
    for name in LISTED:
        assert re.search(rf"\btt {name}\b", result), f"`tt {name}` is not documented"


def test_links_between_documents_lead_to_existing_files() -> None:
    for page in [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *PROJECT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
