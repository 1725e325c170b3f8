# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped that trots: true states and readings of an IMU, from kinematics alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.robots import urdf_path
from dynamics_ros import Robot

ROBOT = Robot.from_urdf(urdf_path('anymal'), root_joint='floating')
FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
IMU = 'imu_link'
STANCE = np.array([0.0, 0.6, -1.2] * 2 + [0.0, -0.6, 1.2] * 2)
PERIOD = 0.005
CYCLE, SWING, LIFT = 0.5, 0.4, 0.05


@dataclass
class Sample:
    """True state, the mean rate and specific force since the last sample, and who stands."""

    stamp: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    rate: np.ndarray
    force: np.ndarray
    stands: np.ndarray


def _stance_order():
    """STANCE in the order of the robot's joints."""
    names = [
        f'{leg}_{joint}' for leg in ('LF', 'RF', 'LH', 'RH') for joint in ('HAA', 'HFE', 'KFE')
    ]
    return np.array([STANCE[names.index(name)] for name in ROBOT.joint_names])


def _way(t):
    """Time for which it has walked, but for the time that it took to accelerate [s]."""
    late = max(t - 0.5, 0.0)
    return late - 0.2 * (1.0 - np.exp(-late / 0.2))


def _base(t, speed, yaw):
    """Pose of the base at a time: it sways and walks from 0.5 s on."""
    way = speed * _way(t)
    sway = 1.0 - np.exp(-((max(t - 0.5, 0.0) / 0.2) ** 2))
    p = np.array([0.01 * np.sin(9.0 * t), 0.02 * np.sin(6.0 * t), 0.01 * np.sin(11.0 * t)])
    angles = np.array([0.05 * np.sin(2.0 * t), 0.04 * np.sin(7.0 * t), 0.03 * np.sin(5.0 * t)])
    R = Rotation.from_euler('ZYX', sway * angles + [yaw, 0.05, 0.0])
    return sway * p + [way, 0.0, 0.5], R


def walk(duration, speed=0.3, yaw=0.0, slip=0.0):
    """Feet that stand do not move; the first one slips sideways for 0.1 s, with a speed."""
    robot, q, last = ROBOT, ROBOT.neutral(), None
    q[7:] = _stance_order()
    p, R = _base(0.0, speed, yaw)
    q[:3], q[3:7] = p, R.as_quat()
    feet = robot.forward_kinematics(q, list(FEET))[:, :3, 3]
    q[2] -= feet[:, 2].min()
    height = q[2] - p[2]
    ground = feet[:, 2] - feet[:, 2].min()
    forward = R.apply([1.0, 0.0, 0.0]) * [1.0, 1.0, 0.0]
    X_BI = np.linalg.inv(robot.forward_kinematics(q, 'base')) @ robot.forward_kinematics(q, IMU)
    places, samples = feet.copy(), []
    places[:, 2] = ground
    homes, starts = places.copy(), places.copy()
    for k in range(round(duration / PERIOD)):
        t = k * PERIOD
        p, R = _base(t, 0.0, yaw)
        p = p + speed * _way(t) * forward + [0.0, 0.0, height]
        stands = np.ones(4, dtype=bool)
        for i in range(4):
            phase = (t - 0.5) / CYCLE + (0.5 if i in (1, 2) else 0.0)
            share = phase % 1.0 / SWING
            if t > 0.5 and share < 1.0 and phase >= 0.0:
                stands[i] = False
                # From where it stood to where the hip is in the middle of the next stance.
                lands = t + CYCLE * (SWING * (1.0 - share) + 0.5 * (1.0 - SWING))
                ahead = homes[i] + speed * _way(lands) * forward - starts[i]
                places[i] = (
                    starts[i] + (share - np.sin(2.0 * np.pi * share) / (2.0 * np.pi)) * ahead
                )
                places[i, 2] = ground[i] + LIFT * np.sin(np.pi * share) ** 2
            else:
                places[i, 2] = ground[i]
                places[i, 1] += PERIOD * slip * (i == 0 and 1.75 < t < 1.85)
                starts[i] = places[i]
        q = q.copy()
        q[:3], q[3:7] = p, R.as_quat()
        for _ in range(2):
            found = robot.forward_kinematics(q, list(FEET))[:, :3, 3]
            J = np.vstack([robot.jacobian(q, foot)[:3, 6:] for foot in FEET])
            q[7:] += np.linalg.lstsq(J, (places - found).ravel(), rcond=None)[0]
        pose = robot.forward_kinematics(q, 'base') @ X_BI
        if last is not None:
            before, velocity, last_q, last_v = last
            turn = Rotation.from_matrix(before[:3, :3].T @ pose[:3, :3]).as_rotvec()
            now = (pose[:3, 3] - before[:3, 3]) / PERIOD
            v = robot.difference(last_q, q) / PERIOD
            if velocity is not None:
                half = before[:3, :3] @ Rotation.from_rotvec(-0.5 * turn).as_matrix()
                force = half.T @ ((now - velocity) / PERIOD + [0.0, 0.0, 9.81])
                stamp = 10**9 + round(1e9 * t)
                a = (v - last_v) / PERIOD
                samples.append(Sample(stamp, last_q, v, a, turn / PERIOD, force, stands.copy()))
            last = pose, now, q, v
        else:
            last = pose, None, q, None
    return samples
