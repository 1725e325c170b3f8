# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check of kernels that are passed to bindings."""

from __future__ import annotations

from typing import Any

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel


def check_kernel(kernel: Any) -> None:
    """Check that an argument is a kernel.

    Raises:
        InvalidArgumentError: it is not a kernel, but for example a method of a robot.
    """
    if not isinstance(kernel, Kernel):
        expected = "a kernel, such as robot.kernel('gravity') or one of kernels.compile"
        raise InvalidArgumentError('kernel', f'a {type(kernel).__name__}', expected)
