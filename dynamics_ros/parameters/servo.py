# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of cartesian_servo_node, with its default, unit, range and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.settings import parameter

from .shared import AUTOSTART


@dataclass(frozen=True)
class SpeedParameters:
    """How fast the frame and the joints may go."""

    linear: float = parameter(
        0.5,
        'Largest speed of the frame; faster commands are scaled',
        unit='m/s',
        minimum=1e-6,
        maximum=10.0,
    )
    angular: float = parameter(
        1.0,
        'Largest turning speed of the frame; the same',
        unit='rad/s',
        minimum=1e-6,
        maximum=50.0,
    )
    joint_scale: float = parameter(
        1.0,
        'Share of the velocity limits of the description that is used',
        minimum=0.001,
        maximum=1.0,
    )
    joint: float = parameter(
        2.0,
        'Largest speed of a joint, beside those limits; inf: those alone, which every joint that '
        'is commanded must have then',
        unit='rad/s or m/s',
        minimum=1e-6,
        maximum=100.0,
        may_be_infinite=True,
    )
    joint_acceleration: float = parameter(
        10.0,
        'Largest acceleration of a joint, at starts, stops and before limits',
        unit='rad/s^2 or m/s^2',
        minimum=1e-3,
        maximum=1000.0,
    )


@dataclass(frozen=True)
class SingularityParameters:
    """When motion towards a singularity is slowed; motion away from it never is."""

    slow_condition: float = parameter(
        30.0,
        'Condition number of the Jacobian from which on it is slowed',
        minimum=1.0,
        maximum=1e9,
    )
    stop_condition: float = parameter(
        60.0, 'Condition number at which it ends', minimum=1.0, maximum=1e9
    )


@dataclass(frozen=True)
class ServoParameters:
    """Parameters of cartesian_servo_node."""

    autostart: bool = parameter(False, AUTOSTART, read_only=True)
    frame: str = parameter('', 'Frame that is led. Empty: the end of the longest chain')
    follow: str = parameter(
        'pose',
        'What of a target counts; position for an arm that cannot turn its tool at will',
        choices=('pose', 'position', 'orientation'),
    )
    rate: float = parameter(
        200.0, 'Commands a second', unit='Hz', minimum=1.0, maximum=1000.0, read_only=True
    )
    command_type: str = parameter(
        'trajectory',
        'trajectory: ~/joint_trajectory, for a joint_trajectory_controller; position or velocity: '
        '~/joint_commands, for a forward_command_controller',
        choices=('trajectory', 'position', 'velocity'),
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        'Joints that are commanded, in the order that the controller expects; no other moves. '
        'Empty, with trajectories only: all that move the frame',
    )
    command_timeout: float = parameter(
        0.25, 'A target that is not repeated ends after this', unit='s', minimum=0.01, maximum=10.0
    )
    joint_state_timeout: float = parameter(
        0.1,
        'The robot is stopped when joint states fail to come for this long',
        unit='s',
        minimum=0.01,
        maximum=10.0,
    )
    transform_timeout: float = parameter(
        1.0,
        'A twist in a frame of tf ends when its transform is older than this by its stamp; static '
        'ones have no age; inf: never',
        unit='s',
        minimum=0.01,
        maximum=3600.0,
        may_be_infinite=True,
    )
    following_tolerance: float = parameter(
        0.2,
        'With positions and trajectories: the robot is stopped when a joint is farther than this '
        'from where it was sent; inf: never',
        unit='rad or m',
        minimum=1e-4,
        maximum=10.0,
        may_be_infinite=True,
    )
    gain: float = parameter(
        5.0, 'How quickly the error of a pose decays', unit='1/s', minimum=0.01, maximum=100.0
    )
    joint_margin: float = parameter(
        0.05,
        'Kept from the position limits of the joints',
        unit='rad or m',
        minimum=0.0,
        maximum=10.0,
    )
    speed: SpeedParameters = field(default_factory=SpeedParameters)
    singularity: SingularityParameters = field(default_factory=SingularityParameters)
