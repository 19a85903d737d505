"""A contract as its readers want it: what belongs in a file, what does not, and where that goes (§ Contract)."""

from collections.abc import Callable
from typing import Any

from slicebase.files.slice_file import SliceFile


def told_contract(file: SliceFile, title_of: Callable[[str], str | None]) -> dict[str, Any]:
    """The contract with a place for each excluded topic, None where no link says one."""
    stated = file.contract
    routes = {plain(link.label): link.to for link in file.links if link.rel == "routes_to" and link.label}
    exclude = []
    for topic in stated.exclude:
        to = routes.get(plain(topic))
        exclude.append({"topic": topic, "to": to, "title": title_of(to) if to else None})
    return {
        "purpose": stated.purpose,
        "exclude": exclude,
        "format": stated.format,
        "cleanup": stated.cleanup,
        "write": stated.write,
        "overflow": stated.overflow,
    }


def plain(topic: str) -> str:
    """Topics are the same whatever their case and spacing."""
    return " ".join(topic.casefold().split())
