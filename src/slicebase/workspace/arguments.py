"""Checks that what a program passes to a verb is of the type that the verb states, before the verb begins.

Without this, a number in place of a text ends as some error of Python, deep in our code. An annotation that is a text
names what is imported only when it is needed: a class is then known by its name, which means one thing in the package.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from slicebase.errors import SlicebaseError

# Names of types that are not classes, as annotations in quotes use them.
_ALIASES: Final[Mapping[str, object]] = {
    "None": NoneType,
    "Cites": object,  # the verbs of runs, to which it is passed on, state it in full
    "Direction": str,
    "ImportProgress": Callable,
    "Mapping[str, bytes]": Mapping[str, bytes],
    "Moment": float | str | datetime,
    "Which": str,
    "float": float,
    "int": int,
}
_UNIONS: Final = (Union, UnionType)
_KEY_AND_ITEM: Final = 2  # types that a mapping states


class _Parameters(NamedTuple):
    order: tuple[str, ...]  # of those that may be passed by position
    forms: Mapping[str, object]


@cache
def _parameters(method: Callable[..., Any]) -> _Parameters:
    plain: Any = method
    while hasattr(plain, "__wrapped__"):  # as `inspect.unwrap`, which takes long to import
        plain = plain.__wrapped__
    code = plain.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    forms = {name: form for name, form in plain.__annotations__.items() if name in names}
    return _Parameters(code.co_varnames[1 : code.co_argcount], forms)


def refuse_wrong_types(method: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Raises `bad-arguments` if an argument of a method is not of the type that its annotation states."""
    order, forms = _parameters(method)
    for name, value in (*zip(order, args, strict=False), *keywords.items()):
        form = forms.get(name, object)
        if type(value) is not form and not fits(value, form):
            raise wrong_type(name, value, form)


def wrong_type(name: str, value: object, form: object) -> SlicebaseError:
    """Returns the error for an argument that is not of its type."""
    what = f"`{name}` is {_WORDS.get(form, _stated(form))}: it is of type {type(value).__name__}"
    return SlicebaseError("bad-arguments", what)


_WORDS: Final[Mapping[object, str]] = {
    str: "not a text",
    str | None: "not a text",
    int: "not a number",
    bool: "not True or False",
}


def _stated(form: object) -> str:
    text = form if isinstance(form, str) else form.__name__ if isinstance(form, type) else str(form)
    return f"not {re.sub(r'[a-z_.]+[.](?=[A-Za-z])', '', text)}"  # without the names of modules


def fits(value: object, form: object) -> bool:
    """Returns whether a value is of the type that an annotation states. What cannot be told fits."""
    if isinstance(form, str):
        return any(_is_named(value, name.strip()) for name in form.split("|"))
    origin = get_origin(form)
    if origin in _UNIONS:
        return any(fits(value, each) for each in get_args(form))
    if origin is not None:
        return _fits_generic(value, origin, get_args(form))
    if form is Any or form is None:
        return form is Any or value is None
    if form in (int, float):  # to Python, a truth value is a number, too
        return isinstance(value, int | float if form is float else int) and not isinstance(value, bool)
    if form is Callable:
        return callable(value)
    return not isinstance(form, type) or getattr(form, "_is_protocol", False) or isinstance(value, form)


def _fits_generic(value: object, origin: Any, forms: tuple[Any, ...]) -> bool:
    if origin is Literal:
        return isinstance(value, str)  # the verb says which ones there are
    if origin is Callable:
        return callable(value)
    if origin is tuple and ... not in forms:
        return isinstance(value, tuple | list) and len(value) == len(forms) and all(map(fits, value, forms))
    if not isinstance(value, origin):
        return False
    if isinstance(value, Mapping) and len(forms) == _KEY_AND_ITEM:
        return all(fits(key, forms[0]) and fits(item, forms[1]) for key, item in value.items())
    # What is used up by looking into it, such as a generator, is left to the verb.
    return not isinstance(value, Collection) or all(fits(item, forms[0]) for item in value)


def _is_named(value: object, name: str) -> bool:
    if name in _ALIASES:
        return fits(value, _ALIASES[name])
    return any(base.__name__ == name for base in type(value).__mro__)
