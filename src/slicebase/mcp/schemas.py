"""JSON Schemas of a tool's arguments and results, made from their types, in few tokens.

What a client pays for in every request is kept short: definitions stand where they are used, names of types are left
out, and so is `null` where a key may just as well be absent.
"""

from functools import cache
from typing import Any, Final

import msgspec

_LEFT_OUT: Final = frozenset({"title"})
_NO_DEFAULTS: Final[tuple[Any, ...]] = (None, "", [], {}, False)


@cache
def schema(type_: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a type, in one piece."""
    (root,), definitions = msgspec.json.schema_components([type_], ref_template="{name}")
    made = _short(root, definitions)
    assert isinstance(made, dict)
    return made


def _short(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_short(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        described = {key: value for key, value in node.items() if key != "$ref"}
        return {**_short(definitions[node["$ref"]], definitions), **described}
    if "anyOf" in node:
        others = [each for each in node["anyOf"] if each != {"type": "null"}]
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        node = {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
        if "$ref" in node:
            return _short(node, definitions)
    return {key: _value(key, value, definitions) for key, value in node.items() if not _is_idle(key, value)}


def _value(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":  # its keys are names of fields, not words of JSON Schema
        return {name: _short(each, definitions) for name, each in value.items()}
    return value if key in ("examples", "enum", "default", "required") else _short(value, definitions)


def _is_idle(key: str, value: Any) -> bool:
    return key in _LEFT_OUT or (key in ("default", "required") and value in _NO_DEFAULTS)
