"""Setting keys of the frontmatter from the outside, by dotted keys (`tt define`)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from slicebase.errors import SlicebaseError
from slicebase.files.checks.fields import takes_text
from slicebase.files.edit import delete_key, set_key
from slicebase.files.parts import Contract
from slicebase.files.scalars import resolve
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml import load

# Keys that only their own verbs change, and which those are.
_MANAGED: Final[Mapping[str, str]] = {
    "id": "the id of a file never changes",
    "updated_at": "body writes set it",
    "updated_by": "writes with provenance set it",
    "archived": "use `tt forget` and `tt restore`",
    "purged": "use `tt purge`",
}


def define(file: SliceFile, assignments: Iterable[str]) -> SliceFile:
    """The file with each `key=value` set; `key=` takes the key away. Keys begin below `slice`."""
    for assignment in assignments:
        path, text = split_assignment(assignment)
        if path[0] in _MANAGED:
            raise SlicebaseError("managed-key", f"`{path[0]}` cannot be set by hand", hint=_MANAGED[path[0]])
        where = ("slice", *path)
        if text:
            file = set_key(file, where, value_for(path, text))
        elif file.node(where):
            file = delete_key(file, where)
    return file


def contract_from(assignments: Iterable[str]) -> Contract | None:
    """A new file's contract; `exclude` may be given several times."""
    given: dict[str, Any] = {}
    for assignment in assignments:
        path, text = split_assignment(assignment)
        name = path[-1]
        if path not in ((name,), ("contract", name)) or name not in Contract.__struct_fields__:
            hint = f"a contract has {', '.join(Contract.__struct_fields__)}"
            raise SlicebaseError("usage", f"a contract has no {'.'.join(path)}", hint=hint)
        if name == "exclude":
            topics = value_for(("contract", name), text)
            given[name] = (*given.get(name, ()), *(topics if isinstance(topics, list) else [text]))
        else:
            given[name] = text
    return Contract(**given) if given else None


def split_assignment(assignment: str) -> tuple[tuple[str, ...], str]:
    key, equals, text = assignment.partition("=")
    path = tuple(key.strip().removeprefix("slice.").split("."))
    if not equals or not all(path):
        raise SlicebaseError("usage", f"{assignment!r} is no key=value", hint="write it like meta.author=alice")
    return path, text


def value_for(path: tuple[str, ...], text: str) -> Any:
    """What a text means under a key: itself where the specification has a text there (ruling 21), else what YAML makes
    of a number, a truth value, something in quotes, or a list or mapping in brackets."""
    if takes_text(path):
        return text
    return load(text) if text[:1] in "[{\"'" else resolve(text)
