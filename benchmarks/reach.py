# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a pusher can reach a point of a robot from outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros import Robot

Array = NDArray[np.float64]

CLEARANCE = 0.15
"""Free distance in front of a point from which it can be pushed [m]."""


def is_reachable(
    robot: Robot, q: Array, link: str, point: Array, away: Array, triangles: dict[str, Array]
) -> bool:
    """Whether a straight line to the point from outside does not intersect the robot."""
    X = robot.forward_kinematics(q, link)
    origin, direction = X[:3, :3] @ point + X[:3, 3], X[:3, :3] @ away
    for name, shape in triangles.items():
        X = robot.forward_kinematics(q, name)
        if _intersects(origin, direction, shape @ X[:3, :3].T + X[:3, 3]):
            return False
    return True


def _intersects(origin: Array, direction: Array, triangles: Array) -> bool:
    """Whether a ray intersects a triangle within `CLEARANCE`, by barycentric coordinates."""
    edges = np.stack(
        [
            triangles[:, 1] - triangles[:, 0],
            triangles[:, 2] - triangles[:, 0],
            np.broadcast_to(-direction, (len(triangles), 3)),
        ],
        axis=2,
    )
    crossed = np.abs(np.linalg.det(edges)) > 1e-15
    solved = np.linalg.solve(edges[crossed], (origin - triangles[crossed, 0])[..., np.newaxis])
    u, v, distance = solved[..., 0].T
    inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0)
    # From a millimetre on, which excludes the triangle of the point itself.
    return bool(np.any(inside & (distance > 1e-3) & (distance < CLEARANCE)))
