# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the robot, its state and gravity; one set for all nodes of a process."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.settings import parameter

LARGEST_GRAVITY = 1000.0
"""m/s^2 along an axis: no centrifuge that carries a robot has more."""

HEAVIEST_PAYLOAD = 1e4
"""kg: no arm carries more."""


@dataclass(frozen=True)
class LockedJointParameters:
    """Joints that are kept where they are and leave the model."""

    names: tuple[str, ...] = parameter((), 'Joints to lock at a constant position')
    positions: tuple[float, ...] = parameter(
        (),
        'Position of each locked joint, in the order of names',
        unit='rad or m',
        minimum=-1e6,
        maximum=1e6,
    )


@dataclass(frozen=True)
class GravitySourceParameters:
    """Where the direction of gravity comes from, for a robot on a base that tilts."""

    kind: str = parameter(
        'parameter',
        'parameter: gravity, and the service set_gravity; imu: the topic imu, of a sensor that is '
        'fixed to the root link; tf: the pose of the root link in level_frame',
        choices=('parameter', 'imu', 'tf'),
        read_only=True,
    )
    level_frame: str = parameter('world', 'Frame of tf whose z axis points up', read_only=True)
    time_constant: float = parameter(
        0.5, 'Of the filter of the direction', unit='s', minimum=0.0, maximum=3600.0, read_only=True
    )
    least_angle: float = parameter(
        0.01,
        'Tilt from which another gravity is put in force, at most ten times a second',
        unit='rad',
        minimum=1e-4,
        maximum=3.0,
        read_only=True,
    )


@dataclass(frozen=True)
class RobotParameters:
    """The robot and its state; one set for all nodes of a process."""

    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: wait for the topic robot_description'
    )
    root_joint: str = parameter(
        'fixed',
        'How the root link moves in the world. floating and planar need the topic odom',
        choices=('fixed', 'floating', 'planar'),
    )
    locked_joints: LockedJointParameters = field(default_factory=LockedJointParameters)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        'Acceleration of free fall in the root frame',
        unit='m/s^2',
        sizes=(3,),
        minimum=-LARGEST_GRAVITY,
        maximum=LARGEST_GRAVITY,
    )
    largest_payload: float = parameter(
        0.0,
        'Payloads of a larger mass are refused, whoever tells of them; 0: as much as the robot '
        'without payload weighs',
        unit='kg',
        minimum=0.0,
        maximum=HEAVIEST_PAYLOAD,
    )
    gravity_source: GravitySourceParameters = field(default_factory=GravitySourceParameters)
    backend: str = parameter(
        'auto',
        'What runs the kernels: machine code (llvm), Python, or the fastest there is (auto)',
        choices=('auto', 'llvm', 'python'),
    )
    frame_prefix: str = parameter(
        '',
        'Put before every frame_id that names a frame of the model, as robot_state_publisher does',
    )
    joint_state_topic: str = parameter(
        'joint_states',
        'Where joint states come from: joint_states, or dynamic_joint_states of ros2_control, '
        'which needs control_msgs and takes more time for each',
        choices=('joint_states', 'dynamic_joint_states'),
        read_only=True,
    )
    state_timeout: float = parameter(
        5.0,
        'A service that is asked for the latest state refuses one received longer ago, by the '
        'clock of the node; 0: never',
        unit='s',
        minimum=0.0,
        maximum=1e6,
    )
    joint_timeout: float = parameter(
        1.0,
        'A joint whose stamp is this far from the newest one is stale; 0: never',
        unit='s',
        minimum=0.0,
        maximum=1e6,
    )
