# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of robot_simulator, with its default, unit, range and meaning."""

from __future__ import annotations

from dataclasses import dataclass

from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class SimulatorParameters:
    """Parameters of robot_simulator; all are fixed at start except ``command_mode``."""

    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: the seven-joint arm of this package', read_only=True
    )
    tool_frame: str = parameter(
        '',
        'Frame whose ground truth is published. Empty: the end of the longest chain',
        read_only=True,
    )
    root_joint: str = parameter(
        'fixed',
        'How the root link moves in the world. floating: a robot on the ground, whose base is told '
        'on the topic odom',
        choices=('fixed', 'floating'),
        read_only=True,
    )
    engine: str = parameter(
        'auto',
        'Whose dynamics: internal, of this package, for a fixed base; mujoco, the Python package '
        'of that name, with a ground for a floating base; auto: mujoco for a floating base',
        choices=('auto', 'internal', 'mujoco'),
        read_only=True,
    )
    posture: tuple[float, ...] = parameter(
        (),
        'Positions of all joints at the start, in order. Empty: a comfortable posture; of a '
        'floating base the middle of the ranges',
        unit='rad or m',
        minimum=-1e6,
        maximum=1e6,
        read_only=True,
    )
    feet: tuple[str, ...] = parameter(
        (), 'Frames of a floating base that stand on the ground', read_only=True
    )
    foot_radius: float = parameter(
        0.03,
        'Of a sphere around the origin of each foot',
        unit='m',
        minimum=0.001,
        maximum=1.0,
        read_only=True,
    )
    ground_friction: float = parameter(
        0.8, 'Coefficient of the ground', minimum=0.0, maximum=10.0, read_only=True
    )
    load_friction: tuple[float, ...] = parameter(
        (0.0,),
        'What dry friction of a joint grows by per torque that it carries, beside the friction of '
        'the description: a share, one or one per joint',
        minimum=0.0,
        maximum=MAX_LOAD_FRICTION,
        read_only=True,
    )
    frame_prefix: str = parameter(
        '',
        'Put before every frame in messages, and taken off frames in requests; as that of the '
        'nodes',
        read_only=True,
    )
    joint_state_rate: float = parameter(
        500.0,
        'Joint states per simulated second; rounded so that a whole number of 1 ms steps lies '
        'between two',
        unit='Hz',
        minimum=1.0,
        maximum=1000.0,
        read_only=True,
    )
    ground_truth_rate: float = parameter(
        250.0,
        'Messages of each ground truth topic per simulated second, at stamps of joint states',
        unit='Hz',
        minimum=0.1,
        maximum=1000.0,
        read_only=True,
    )
    speed: float = parameter(
        1.0,
        'Simulated time per real time. Stamps follow simulated time, and so do nodes with '
        'use_sim_time where publish_clock is set',
        minimum=0.01,
        maximum=100.0,
        read_only=True,
    )
    publish_clock: bool = parameter(
        False, 'Publish simulated time as /clock, before each joint state', read_only=True
    )
    motion: bool = parameter(True, 'Move slowly around a posture; false: hold it', read_only=True)
    command_mode: str = parameter(
        'add',
        'What effort commands do: come on top of the controllers, or replace them and gravity '
        'compensation at the joints they name',
        choices=('add', 'replace'),
    )
    command_timeout: float = parameter(
        0.2,
        'An effort command is in force until the next one, and this long at most',
        unit='s',
        minimum=0.001,
        maximum=60.0,
        read_only=True,
    )
