# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What functions of other libraries are made of."""

from __future__ import annotations

from typing import Any

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel


def check_kernel(kernel: Any) -> None:
    """Refuse what is no kernel.

    Raises:
        InvalidArgumentError: such as for a method of a robot.
    """
    if not isinstance(kernel, Kernel):
        expected = "a kernel, such as robot.kernel('gravity') or one of kernels.compile"
        raise InvalidArgumentError('kernel', f'a {type(kernel).__name__}', expected)
