"""The OpenAPI 3.1 document of the API, made from the types of its endpoints."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from slicebase import __version__
from slicebase.web.endpoints import PREFIX, Endpoint, Raw
from slicebase.web.problems import MEDIA_TYPE, Problem

_REFERENCES = "#/components/schemas/{name}"
_OF_SLICES: Final = {"ETag": "The digest of the export.", "Slice-Id": "The id of the slice."}
_OF_FAILURES: Final = {
    "Retry-After": "With 503: the seconds after which the same request may work.",
    "Allow": "With 405: the methods that work.",
    "WWW-Authenticate": "With 401: the token is a bearer token.",
}
_HEALTH: Final = {
    "type": "object",
    "properties": {"status": {"const": "ok"}, "version": {"type": "string"}},
    "required": ["status", "version"],
}
# What is no endpoint: its summary, the media type of its answer, and the schema.
OTHERS: Final = {
    "/health": ("Opens the database and reads it.", "application/json", _HEALTH),
    f"{PREFIX}/changes": (
        "Tells what has grown, without an end: the events `watching`, `grown`, `problem` and `recovered`.",
        "text/event-stream",
        {"type": "string"},
    ),
    f"{PREFIX}/verify/progress": (
        "Verifies everything: the events `progress`, then `verdict` or `problem`.",
        "text/event-stream",
        {"type": "string"},
    ),
}


def document(endpoints: Iterable[Endpoint], *, needs_token: bool) -> dict[str, Any]:
    """Returns the document that describes these endpoints."""
    known = list(endpoints)
    types = [Problem, *(type_ for each in known for type_ in (each.asked, each.answer) if type_ is not Raw)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCES)
    by_type = dict(zip(map(id, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in known:
        place = PREFIX + each.path.replace(":path}", "}")
        paths.setdefault(place, {})[each.method.lower()] = _operation(each, by_type, components)
    for place, (summary, media_type, schema) in OTHERS.items():
        paths[place] = {"get": _other(place, summary, {media_type: {"schema": schema}})}
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Slicebase",
            "version": __version__,
            "description": "Verifiable memory for long-running AI agents.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": security},
        "security": [{"token": []}] if needs_token else [{}],
    }


def _operation(each: Endpoint, by_type: Mapping[int, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    fields = components[each.asked.__name__]["properties"]
    required = components[each.asked.__name__].get("required", [])
    in_query = [name for name in fields if name not in each.in_path] if each.method == "GET" else []
    places = [*((name, "path") for name in each.in_path), *((name, "query") for name in in_query)]
    parameters = [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in required,
            "schema": fields[name],
        }
        for name, place in places
    ]
    operation: dict[str, Any] = {
        "operationId": f"{each.method.lower()}{each.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "summary": each.summary,
        "description": f"The verb `{each.verb}`.",
        "parameters": parameters,
        "responses": {"200": _answer(each, by_type), "default": _failure()},
    }
    if each.answer is Raw:
        not_modified = {"description": "The client has it: `If-None-Match` names its ETag."}
        operation["responses"]["304"] = not_modified | {"headers": _headers(_OF_SLICES, required=True)}
    if each.method == "POST":
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(each, fields, required)}},
        }
        operation["security"] = [{"token": []}]
    return operation


def _body(each: Endpoint, fields: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
    """Returns the schema of a body: the fields that are not in the path."""
    given = {name: schema for name, schema in fields.items() if name not in each.in_path}
    return {
        "type": "object",
        "properties": given,
        "required": [name for name in required if name in given],
        "additionalProperties": False,
    }


def _other(place: str, summary: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the operation of an address that is no endpoint."""
    return {
        "operationId": f"get{place.removeprefix(PREFIX).replace('/', '_')}",
        "summary": summary,
        "responses": {"200": {"description": HTTPStatus.OK.phrase, "content": content}, "default": _failure()},
    }


def _answer(each: Endpoint, by_type: Mapping[int, Any]) -> dict[str, Any]:
    schema = {"type": "object"} if each.answer is Raw else by_type[id(each.answer)]
    answer = {"description": HTTPStatus.OK.phrase, "content": {"application/json": {"schema": schema}}}
    return {**answer, "headers": _headers(_OF_SLICES, required=True)} if each.answer is Raw else answer


def _failure() -> dict[str, Any]:
    schema = {"$ref": _REFERENCES.format(name=Problem.__name__)}
    return {
        "description": "What went wrong.",
        "content": {MEDIA_TYPE: {"schema": schema}},
        "headers": _headers(_OF_FAILURES, required=False),
    }


def _headers(described: Mapping[str, str], *, required: bool) -> dict[str, Any]:
    return {
        name: {"description": text, "required": required, "schema": {"type": "string"}}
        for name, text in described.items()
    }
