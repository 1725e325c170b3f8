"""dynibo (Rust) on the same robot: its arguments made of ours, beforehand.

Angular before linear; base velocity and acceleration in world axes; its gravity is 9.80665.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRAVITY = (0.0, 0.0, -9.80665)


class DyniboPeer:
    """dynibo's model at one state, for fixed and floating roots alike.

    Attributes:
        robot: its Robot or FloatingRobot.
        base: what its calls take before q: nothing, or its BaseState.
        q, v, a: of the joints.
        link: its number of the frame.
    """

    def __init__(self, urdf: str, root: str, frame: str, state: tuple[Array, Array, Array]) -> None:
        """Load the robot.

        Raises:
            Exception: of dynibo's own, where it refuses the robot.
        """
        import dynibo

        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            Path(file.name).write_text(urdf)
            kind = dynibo.Robot if root == 'fixed' else dynibo.FloatingRobot
            self.robot: Any = kind.from_urdf(file.name)
        self.link = self.robot.link_id(frame)
        self.q, self.v, self.a = state
        self.base: tuple[Any, ...] = ()
        if root == 'floating':
            q, v, a = state
            R = rotation_matrix(q[3:7])
            linear = a[:3] + np.cross(v[3:6], v[:3])
            self.base = (
                dynibo.BaseState(
                    dynibo.Pose(q[:3], q[3:7]),
                    dynibo.Twist(R @ v[3:6], R @ v[:3]),
                    dynibo.Twist(R @ a[3:6], R @ linear),
                ),
            )
            self.q, self.v, self.a = q[7:].copy(), v[6:].copy(), a[6:].copy()

    def joint_torques(self) -> Array:
        """Inverse dynamics of the joints, without the base."""
        tau = self.robot.inverse_dynamics(*self.base, self.q, self.v, self.a)
        return np.asarray(tau)[-len(self.v) :]


def rotation_matrix(quaternion: Array) -> Array:
    """(3, 3) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)
