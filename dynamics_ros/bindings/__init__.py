# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of other array libraries, with their exact derivatives.

One file per library, which is imported when a function is created; may import ``kernels``.
"""

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
