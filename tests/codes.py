"""Tests check the code of an error, never its wording."""

from collections.abc import Callable
from typing import Any

import pytest

from slicebase.errors import SlicebaseError


def code_of(action: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """Returns the code of the error that a call must raise."""
    with pytest.raises(SlicebaseError) as caught:
        action(*arguments, **named)
    return caught.value.code
