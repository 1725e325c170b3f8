# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints have to be commanded for a frame to be led."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.robot import Robot


def moved_joints(robot: Robot, frame: str) -> NDArray[np.bool_]:
    """The velocities (nv) that move a frame.

    Raises:
        InvalidArgumentError: none does.
    """
    J = robot.jacobian(robot.random_configuration(0), frame)
    moving: NDArray[np.bool_] = np.abs(J).max(axis=0, initial=0.0) > 0.0
    if not moving.any():
        raise InvalidArgumentError('frame', f'no joint moves {frame!r}', 'a frame that moves')
    return moving
