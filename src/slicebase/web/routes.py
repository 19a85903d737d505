"""Which endpoint an address of the API names."""

from collections.abc import Iterable, Mapping
from re import Pattern
from typing import Final, NamedTuple

from starlette.routing import compile_path

from slicebase.web.endpoints import PREFIX, Endpoint
from slicebase.web.problems import WrongMethodError

_READS: Final = ("GET", "HEAD")


class _Address(NamedTuple):
    pattern: Pattern[str]
    endpoints: dict[str, Endpoint]  # by method


class FoundEndpoint(NamedTuple):
    """An endpoint, and the fields of its path."""

    endpoint: Endpoint
    in_path: Mapping[str, str]


class ApiRoutes:
    """The addresses of the API. Those that begin with the same word are compared in the order of the table."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._by_word: dict[str, dict[str, _Address]] = {}
        for each in endpoints:
            word = each.path.split("/")[1]
            known = self._by_word.setdefault(word, {})
            if each.path not in known:
                known[each.path] = _Address(compile_path(each.path)[0], {})
            known[each.path].endpoints[each.method] = each

    def find(self, method: str, path: str) -> FoundEndpoint | None:
        """Returns the endpoint of a path; None for one that the API does not have. Raises `wrong-method`."""
        if not path.startswith(PREFIX + "/"):
            return None
        rest = path[len(PREFIX) :]
        allowed: set[str] = set()
        for address in self._by_word.get(rest.split("/", 2)[1], {}).values():
            match = address.pattern.match(rest)
            if match is None:
                continue
            found = address.endpoints.get("GET" if method in _READS else method)
            if found is not None:
                return FoundEndpoint(found, match.groupdict())
            allowed |= address.endpoints.keys()
        if allowed:
            raise WrongMethodError(", ".join(sorted(allowed | ({"HEAD"} if "GET" in allowed else set()))))
        return None
