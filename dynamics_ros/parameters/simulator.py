# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of robot_simulator."""

from __future__ import annotations

from dataclasses import dataclass

from dynamics_ros.parameters.robot import DescriptionParameters, fixed


@dataclass(frozen=True)
class SimulatorParameters(DescriptionParameters):
    """Parameters of robot_simulator; all are fixed at start."""

    robot_description: str = fixed('', 'URDF as XML text. Empty: robot_description_file')
    tool_frame: str = fixed(
        '', 'Frame whose ground truth is published. Empty: the end of the longest chain'
    )
    root_joint: str = fixed(
        'fixed',
        'Joint between the world and the root link. floating: a robot on the ground, whose base '
        'is published on the topic odom',
        choices=('fixed', 'floating'),
    )
    engine: str = fixed(
        'auto',
        'Dynamics engine. internal: of this package, for a fixed base; mujoco: the Python package '
        'of that name, with a ground for a floating base; auto: mujoco for a floating base, else '
        'internal',
        choices=('auto', 'internal', 'mujoco'),
    )
    posture: tuple[float, ...] = fixed(
        (),
        'Initial positions of all joints, in order. Empty: a default posture; with a floating '
        'base, the middle of the ranges',
        'rad or m',
        (-1e6, 1e6),
    )
    feet: tuple[str, ...] = fixed((), 'Frames that stand on the ground, with a floating base')
    foot_radius: float = fixed(
        0.03, 'Radius of the sphere around the origin of each foot', 'm', (0.001, 1.0)
    )
    ground_friction: float = fixed(0.8, 'Friction coefficient of the ground', limits=(0.0, 10.0))
    frame_prefix: str = fixed(
        '', 'Prefix of every frame in messages and requests, as of the nodes', is_frame=True
    )
    joint_state_rate: float = fixed(
        500.0,
        'Rate of joint states in simulated time, rounded so that the period is a whole number of '
        '1 ms steps',
        'Hz',
        (1.0, 1000.0),
    )
    speed: float = fixed(
        1.0,
        'Ratio of simulated to real time. Stamps follow simulated time, and so do nodes with '
        'use_sim_time if publish_clock is set',
        limits=(0.01, 100.0),
    )
    publish_clock: bool = fixed(False, 'Publish simulated time as /clock, before each joint state')
    motion: bool = fixed(True, 'Move slowly around a posture; false: hold it')
