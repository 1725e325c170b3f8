# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any

VERSION: int

class Call:
    """Machine code of a kernel as a function of arrays."""

    def __init__(
        self,
        address: int,
        inputs: tuple[tuple[int, ...], ...],
        outputs: tuple[tuple[int, ...], ...],
        bound: Any,
        slow_path: Callable[..., Any],
        name: str,
        doc: str,
        keep: Any,
    ) -> None: ...
    def __call__(self, *values: Any, out: Any = None) -> Any: ...

class Method:
    """Function of a class that looks for a Call first."""

    def __init__(self, function: Callable[..., Any], arrays: int) -> None: ...

class Program:
    """Kernels and copies on fixed arrays."""

    def __init__(self, steps: tuple[tuple[int, tuple[Any, ...], Any], ...]) -> None: ...
    def __call__(self) -> bool: ...
