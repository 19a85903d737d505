"""The forms that values must have, as tables: for frontmatter, for a row's envelope, for a conversation's header."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard, Union

Forms = Mapping[str, Union["Form", "Forms"]]


class Form(NamedTuple):
    fits: Callable[[Any], bool]
    name: str  # as in "…, not text"


class Misfit(NamedTuple):
    path: tuple[str, ...]
    value: Any
    form: str

    @property
    def name(self) -> str:
        return ".".join(self.path)


def misfits(values: Mapping[str, Any], forms: Forms, path: tuple[str, ...] = ()) -> Iterator[Misfit]:
    """The values that have another form than the table's, in their own order. Null is absent, and fits."""
    for key, value in values.items():
        form = forms.get(key)
        if form is None or value is None:
            continue
        if isinstance(form, Form):
            if not form.fits(value):
                yield Misfit((*path, key), value, form.name)
        elif isinstance(value, dict):
            yield from misfits(value, form, (*path, key))
        else:
            yield Misfit((*path, key), value, "a mapping")


def is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_whole(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def is_share(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # mypy does not follow type()


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


TEXT: Final = Form(is_text, "text")
FLAG: Final = Form(lambda value: isinstance(value, bool), "true or false")
WHOLE: Final = Form(is_whole, "a whole number")
SHARE: Final = Form(is_share, "a number from 0 to 1")
