# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A fleet of simulated robots, and their recordings in all supported formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from dynamics_ros import Robot
from dynamics_ros.estimation import EffortModel
from dynamics_ros.recordings.bag import VERSION

Array = NDArray[np.float64]

FORMATS = ('mcap', 'sqlite3', 'ros1')

DESCRIPTION = Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf'

BEGIN = 1_750_000_000 * 10**9
"""Stamp of the first message of a fleet, in June 2025 [ns]."""

DAY = 86_400 * 10**9

HARMONICS = (1.0, 1.7, 2.3)
"""Multiples of the base frequency of each joint."""

EFFORT_NOISE, VELOCITY_NOISE = 0.03, 5e-4
"""Noise of efforts [Nm or N] and velocities [rad/s or m/s]."""

BLOCK = 20_000
"""Number of samples that are computed together."""


@dataclass(frozen=True)
class Push:
    """A force (3) on a frame during a time interval, in root axes [s, N]."""

    frame: str
    begin: float
    end: float
    force: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class FleetRobot:
    """A robot of the fleet, which may differ from its description.

    Attributes:
        robot: described robot.
        text: URDF text.
        friction: (nv) factors on the described friction.
    """

    robot: Robot
    text: str
    friction: Array

    @classmethod
    def of(cls, factors: dict[int, float] | None = None, path: Path = DESCRIPTION) -> FleetRobot:
        """The arm of this package, with friction factors of some joints."""
        text = path.read_text()
        robot = Robot.from_urdf(text)
        friction = np.ones(robot.nv)
        for joint, factor in (factors or {}).items():
            friction[joint] = factor
        return cls(robot, text, friction)

    def samples(
        self, duration: float, rate: float, seed: int, pushes: Sequence[Push] = ()
    ) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Times [s], positions, velocities and efforts along a smooth motion, in blocks."""
        robot, rng = self.robot, np.random.default_rng(seed)
        nv = robot.nv
        lower = np.maximum(robot.lower_limits, -2.0)
        upper = np.minimum(robot.upper_limits, 2.0)
        middle, room = 0.5 * (lower + upper), 0.25 * (upper - lower)
        base = 2.0 * np.pi * rng.uniform(0.08, 0.16, nv)
        phases = rng.uniform(0.0, 2.0 * np.pi, (len(HARMONICS), nv))
        fastest = np.where(np.isfinite(robot.velocity_limits), robot.velocity_limits, 2.0)
        amplitude = np.minimum(room / 2.0, 0.3 * fastest / (base * 2.0))
        declared = EffortModel.from_robot(robot)
        count = round(duration * rate)
        for first in range(0, count, BLOCK):
            t = np.arange(first, min(first + BLOCK, count)) / rate
            q, v, a = np.tile(middle, (len(t), 1)), np.zeros((len(t), nv)), np.zeros((len(t), nv))
            for k, phase in zip(HARMONICS, phases, strict=True):
                w = k * base
                angle = t[:, np.newaxis] * w + phase
                q += amplitude / k * np.sin(angle)
                v += amplitude / k * w * np.cos(angle)
                a -= amplitude / k * w * w * np.sin(angle)
            effort = robot.inverse_dynamics(q, v, a)
            effort += self.friction * np.array([declared.friction_torque(one) for one in v])
            for push in pushes:
                acting = (t >= push.begin) & (t < push.end)
                if acting.any():
                    J = robot.jacobian(q[acting], push.frame)
                    effort[acting] -= np.einsum('nkj,k->nj', J[:, :3], np.array(push.force))
            effort += rng.normal(0.0, EFFORT_NOISE, effort.shape)
            v += rng.normal(0.0, VELOCITY_NOISE, v.shape)
            yield t, q, v, effort


@dataclass(frozen=True, eq=False)
class Recorded:
    """Parameters of a bag.

    Attributes:
        path: path of the file or folder.
        format: one of ``FORMATS``.
        duration, rate: duration [s] and rate [Hz].
        begin: stamp of the first message [ns].
        seed: seed of motion and noise.
        pushes: pushes on the robot.
        described: whether the bag contains the description.
    """

    path: Path
    format: str = 'mcap'
    duration: float = 10.0
    rate: float = 250.0
    begin: int = BEGIN
    seed: int = 0
    pushes: tuple[Push, ...] = field(default=())
    described: bool = True


def record(robot: FleetRobot, bag: Recorded) -> Path:
    """Write a bag of joint states, and return its path."""
    bag.path.parent.mkdir(parents=True, exist_ok=True)
    ros1 = bag.format == 'ros1'
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_KILTED)
    writer: Any
    if ros1:
        writer = Writer1(bag.path)
    else:
        plugin = StoragePlugin.MCAP if bag.format == 'mcap' else StoragePlugin.SQLITE3
        writer = Writer2(bag.path, version=VERSION, storage_plugin=plugin)
    String, JointState = (
        store.types[name] for name in ('std_msgs/msg/String', 'sensor_msgs/msg/JointState')
    )
    Header, Time = (
        store.types[name] for name in ('std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    serialize = store.serialize_ros1 if ros1 else store.serialize_cdr
    names = list(robot.robot.joint_names)
    with writer:
        if bag.described:
            connection = writer.add_connection(
                '/robot_description', String.__msgtype__, typestore=store
            )
            message = String(data=robot.text)
            writer.write(connection, bag.begin - 10**6, serialize(message, String.__msgtype__))
        states = writer.add_connection('/joint_states', JointState.__msgtype__, typestore=store)
        for part in robot.samples(bag.duration, bag.rate, bag.seed, bag.pushes):
            for t, q, v, effort in zip(*part, strict=True):
                time = bag.begin + round(t * 1e9)
                stamp = Time(*divmod(time, 10**9))
                header = Header(0, stamp, '') if ros1 else Header(stamp, '')
                message = JointState(header, names, q, v, effort)
                writer.write(states, time, serialize(message, JointState.__msgtype__))
    return bag.path


def bag_path(folder: Path, name: str, kind: str) -> Path:
    """Path of a bag of a format."""
    return folder / (f'{name}.bag' if kind == 'ros1' else name)
