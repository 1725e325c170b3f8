# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Makes bags of four simulated arms, one of which has a gear that is worn: make_fleet.py FOLDER.

They stand in for what `ros2 bag record /joint_states /robot_description` brings from real ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

try:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore
except ImportError as error:
    raise SystemExit(f'{error}: python3 -m pip install rosbags') from None

from dynamics_ros import Robot
from dynamics_ros.estimation import EffortModel

ROBOTS = 4
BAGS = 2
SECONDS, RATE = 20.0, 100.0
WORN = ('arm4', 3, 1.6)
"""Robot, number of the joint, and how many times the friction is that of the description."""

BEGIN = 1_750_000_000 * 10**9


def write(path: Path, urdf: str, friction: np.ndarray, begin: int, seed: int) -> None:
    """Write one bag of a smooth motion."""
    robot = Robot.from_urdf(urdf)
    declared = EffortModel.from_robot(robot)
    random = np.random.default_rng(seed)
    store = get_typestore(Stores.ROS2_KILTED)
    String, JointState, Header, Time = (
        store.types[name]
        for name in (
            'std_msgs/msg/String',
            'sensor_msgs/msg/JointState',
            'std_msgs/msg/Header',
            'builtin_interfaces/msg/Time',
        )
    )
    w = 2.0 * np.pi * random.uniform(0.1, 0.25, robot.nv)
    phase = random.uniform(0.0, 2.0 * np.pi, robot.nv)
    middle = np.array([0.0, -1.0, 1.2, -0.5, 0.3, 0.0])
    names = list(robot.joint_names)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        described = writer.add_connection('/robot_description', String.__msgtype__, typestore=store)
        joints = writer.add_connection('/joint_states', JointState.__msgtype__, typestore=store)
        text = store.serialize_cdr(String(data=urdf), String.__msgtype__)
        writer.write(described, begin, text)
        for k in range(round(SECONDS * RATE)):
            t = k / RATE
            q = middle + 0.4 * np.sin(w * t + phase)
            v = 0.4 * w * np.cos(w * t + phase)
            a = -0.4 * w * w * np.sin(w * t + phase)
            effort = robot.inverse_dynamics(q, v, a) + friction * declared.friction_torque(v)
            effort += random.normal(0.0, 0.05, robot.nv)
            stamp = begin + round(1e9 * t)
            header = Header(Time(stamp // 10**9, stamp % 10**9), '')
            state = JointState(header, names, q, v, effort)
            writer.write(joints, stamp, store.serialize_cdr(state, JointState.__msgtype__))


def main(folder: Path) -> None:
    """Write all bags."""
    urdf = (Path(__file__).parent / 'ur5e.urdf').read_text()
    for number in range(1, ROBOTS + 1):
        name = f'arm{number}'
        friction = np.ones(6)
        if name == WORN[0]:
            friction[WORN[1]] = WORN[2]
        (folder / name).mkdir(parents=True)
        for bag in range(BAGS):
            begin = BEGIN + bag * 86_400 * 10**9
            write(folder / name / f'day{bag + 1}', urdf, friction, begin, 10 * number + bag)
    print(f'{ROBOTS * BAGS} bags of {ROBOTS} robots in {folder}')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit('usage: make_fleet.py FOLDER')
    main(Path(sys.argv[1]))
