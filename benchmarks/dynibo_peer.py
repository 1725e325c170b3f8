# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynibo (Rust) as a peer: the same robot, with arguments converted beforehand.

dynibo's 6-vectors are angular first; base velocity and acceleration are in world axes; its gravity
is 9.80665 m/s^2.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros import Robot

Array = NDArray[np.float64]

GRAVITY = (0.0, 0.0, -9.80665)

STEP = 0.1
"""Joint step by which the links that a joint moves are recognized [rad]."""


class DyniboPeer:
    """dynibo's model at one state, with a fixed or floating root.

    Attributes:
        robot: dynibo's Robot or FloatingRobot.
        base: arguments of its calls before q: nothing, or a BaseState.
        q, v, a: joint positions, velocities, accelerations in its order.
        joints: index of our joint for each of its joints.
        link: dynibo's index of the frame.
    """

    def __init__(
        self, urdf: str, ours: Robot, frame: str, state: tuple[Array, Array, Array]
    ) -> None:
        """Load the robot.

        Raises:
            Exception: any exception of dynibo, if it rejects the robot.
        """
        import dynibo

        floating = ours.model.root_joint == 'floating'
        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            Path(file.name).write_text(urdf)
            kind = dynibo.FloatingRobot if floating else dynibo.Robot
            self.robot: Any = kind.from_urdf(file.name)
        self.link = self.robot.link_id(frame)
        self.base: tuple[Any, ...] = ()
        q, v, a = state
        if floating:
            R = rotation_matrix(q[3:7])
            linear = a[:3] + np.cross(v[3:6], v[:3])
            self.base = (
                dynibo.BaseState(
                    dynibo.Pose(q[:3], q[3:7]),
                    dynibo.Twist(R @ v[3:6], R @ v[:3]),
                    dynibo.Twist(R @ a[3:6], R @ linear),
                ),
            )
            q, v, a = q[7:], v[6:], a[6:]
        self.joints = self._matched(ours, q)
        self.q, self.v, self.a = q[self.joints], v[self.joints], a[self.joints]

    def _matched(self, ours: Robot, q: Array) -> list[int]:
        """Match dynibo's joints, which have no names, by the links that they move."""
        frames = [i for i, frame in enumerate(ours.frame_names) if frame != 'world']
        links = [self.robot.link_id(ours.frame_names[i]) for i in frames]

        def moved(before: Array, after: Array) -> frozenset[int]:
            changed = np.abs(after - before).max(axis=1) > STEP**3
            return frozenset(int(i) for i in np.flatnonzero(changed))

        count = len(q)
        start = ours.nq - count
        base = ours.neutral()
        of_ours = {}
        for j in range(count):
            turned = base.copy()
            turned[start + j] += STEP
            poses = ours.all_frames(np.array([base, turned]))[:, frames]
            of_ours[moved(*poses.reshape(2, len(frames), 16))] = j
        joints = []
        for k in range(count):
            turned = np.zeros(count)
            turned[k] = STEP
            rows = [
                np.reshape(self.robot.forward_kinematics_all(*self.base, x), (-1, 7))[links]
                for x in (np.zeros(count), turned)
            ]
            joints.append(of_ours[moved(*rows)])
        return joints

    def joint_torques(self) -> Array:
        """Inverse dynamics at the state: torques of the joints in our order, without the base."""
        tau = self.robot.inverse_dynamics(*self.base, self.q, self.v, self.a)
        result = np.empty(len(self.joints))
        result[self.joints] = np.asarray(tau)[-len(self.joints) :]
        return result


def rotation_matrix(quaternion: Array) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)
