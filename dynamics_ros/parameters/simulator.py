# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of robot_simulator."""

from __future__ import annotations

from dataclasses import dataclass

from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.parameters.robot import description_arguments, description_file
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class SimulatorParameters:
    """Parameters of robot_simulator; all are fixed at start except ``command_mode``."""

    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: robot_description_file', read_only=True
    )
    robot_description_file: str = description_file('the seven-joint arm of this package')
    robot_description_arguments: tuple[str, ...] = description_arguments()
    tool_frame: str = parameter(
        '',
        'Frame whose ground truth is published. Empty: the end of the longest chain',
        read_only=True,
    )
    root_joint: str = parameter(
        'fixed',
        'Joint between the world and the root link. floating: a robot on the ground, whose base '
        'is published on the topic odom',
        choices=('fixed', 'floating'),
        read_only=True,
    )
    engine: str = parameter(
        'auto',
        'Dynamics engine. internal: of this package, for a fixed base; mujoco: the Python package '
        'of that name, with a ground for a floating base; auto: mujoco for a floating base, else '
        'internal',
        choices=('auto', 'internal', 'mujoco'),
        read_only=True,
    )
    posture: tuple[float, ...] = parameter(
        (),
        'Initial positions of all joints, in order. Empty: a default posture; with a floating '
        'base, the middle of the ranges',
        'rad or m',
        (-1e6, 1e6),
        read_only=True,
    )
    feet: tuple[str, ...] = parameter(
        (), 'Frames that stand on the ground, with a floating base', read_only=True
    )
    foot_radius: float = parameter(
        0.03,
        'Radius of the sphere around the origin of each foot',
        'm',
        (0.001, 1.0),
        read_only=True,
    )
    ground_friction: float = parameter(
        0.8, 'Friction coefficient of the ground', limits=(0.0, 10.0), read_only=True
    )
    load_friction: tuple[float, ...] = parameter(
        (0.0,),
        'Increase of the dry friction of a joint per torque that it transmits, in addition to the '
        'friction in the description: a share, one or one per joint',
        limits=(0.0, MAX_LOAD_FRICTION),
        read_only=True,
    )
    frame_prefix: str = parameter(
        '',
        'Prefix of every frame in messages and requests, as of the nodes',
        read_only=True,
        is_frame=True,
    )
    joint_state_rate: float = parameter(
        500.0,
        'Rate of joint states in simulated time, rounded so that the period is a whole number of '
        '1 ms steps',
        'Hz',
        (1.0, 1000.0),
        read_only=True,
    )
    ground_truth_rate: float = parameter(
        250.0,
        'Rate of each ground truth topic in simulated time, at stamps of joint states',
        'Hz',
        (0.1, 1000.0),
        read_only=True,
    )
    speed: float = parameter(
        1.0,
        'Ratio of simulated to real time. Stamps follow simulated time, and so do nodes with '
        'use_sim_time if publish_clock is set',
        limits=(0.01, 100.0),
        read_only=True,
    )
    publish_clock: bool = parameter(
        False, 'Publish simulated time as /clock, before each joint state', read_only=True
    )
    motion: bool = parameter(True, 'Move slowly around a posture; false: hold it', read_only=True)
    command_mode: str = parameter(
        'add',
        'Effect of effort commands. add: they are added to the output of the controllers; replace: '
        'they replace controllers and gravity compensation of the joints that they name',
        choices=('add', 'replace'),
    )
    command_timeout: float = parameter(
        0.2,
        'Longest time for which an effort command is applied without a new one',
        's',
        (0.001, 60.0),
        read_only=True,
    )
