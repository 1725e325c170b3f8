# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lifetime tokens that the cyclic garbage collector cannot end early.

The collector clears unreachable cycles in any order: first it calls finalizers, including those of
weak references, then it clears one ``__dict__`` after another. Data that machine code reads must
not
be freed that way while a builtin can still be called. A token is a plain array, which the collector
does not traverse, so it dies exactly when its last reference goes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Token = NDArray[np.float64]


def token(end: Callable[..., Any], *arguments: Any) -> Token:
    """Return a token that calls a function when it dies, except at exit of the process.

    Args:
        end: the function. It and its arguments live as long as the token, invisible to the
            collector: if they refer to the token's owner, neither is ever freed.
        arguments: its arguments.
    """
    made = np.empty(0)
    weakref.finalize(made, end, *arguments).atexit = False
    return made
