"""What tests look at of an error: its code."""

from collections.abc import Callable
from typing import Any

import pytest

from slicebase.errors import SlicebaseError


def code_of(action: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """The code of the error that a call must raise."""
    with pytest.raises(SlicebaseError) as caught:
        action(*arguments, **named)
    return caught.value.code
