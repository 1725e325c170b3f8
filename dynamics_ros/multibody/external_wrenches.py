# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External wrenches by frame name, and errors that name these frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from dynamics_ros.algorithms.quantity import WRENCH_INPUT
from dynamics_ros.errors import InvalidArgumentError

Wrenches = Mapping[str, ArrayLike]


def frames_and_wrenches(wrenches: Wrenches) -> tuple[tuple[str, ...], tuple[ArrayLike, ...]]:
    """Return frame names in alphabetical order and wrenches, so that a set of frames is one kernel.

    Raises:
        InvalidArgumentError: not a mapping.
    """
    if not isinstance(wrenches, Mapping):
        problem = f'a {type(wrenches).__name__}'
        raise InvalidArgumentError(
            'external_wrenches', problem, 'a mapping from frame names to wrenches (..., 6)'
        )
    frames = sorted(wrenches, key=str)
    return tuple(frames), tuple(wrenches[frame] for frame in frames)


def with_frames(error: InvalidArgumentError, frames: Sequence[str]) -> InvalidArgumentError:
    """Return a kernel's error with frame names in place of the kernel's wrench indices."""
    argument = re.sub(
        rf'\b{WRENCH_INPUT}(\d+)',
        lambda x: f'external_wrenches[{frames[int(x[1])]!r}]',
        error.argument,
    )
    if argument == error.argument:
        return error
    return InvalidArgumentError(argument, error.problem, error.expected)
