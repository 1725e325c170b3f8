# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Things that live as long as a token, whatever the cyclic collector does before.

The collector takes unreachable cycles apart in any order: first it calls finalizers, those of weak
references among them, then it clears ``__dict__`` after ``__dict__``. What machine code reads must
not go that way while a builtin can still be called. A token is a plain array: the collector does
not follow arrays, so a token's end comes when its last reference goes, and not before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Token = NDArray[np.float64]


def token(end: Callable[..., Any], *arguments: Any) -> Token:
    """Return a token; when it is gone a function is called, but not at the end of the process.

    Args:
        end: the function. It and its arguments live as long as the token, out of the collector's
            sight: where they lead to who holds the token, all of it stays for ever.
        arguments: its arguments.
    """
    made = np.empty(0)
    weakref.finalize(made, end, *arguments).atexit = False
    return made
