# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the robot, its state and gravity; shared by all nodes of a process."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.settings import MAX_GRAVITY, parameter

MAX_PAYLOAD = 1e4
"""Largest mass of a payload [kg]; more than any arm carries."""


@dataclass(frozen=True)
class LockedJointParameters:
    """Joints with a constant position, which are removed from the model."""

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
    """Source of the direction of gravity, for a robot on a tilting base."""

    kind: str = parameter(
        'parameter',
        'Source of gravity. parameter: the parameter gravity and the service set_gravity; imu: the '
        'topic imu, from a sensor fixed to the root link; tf: the pose of the root link in '
        'level_frame',
        choices=('parameter', 'imu', 'tf'),
        read_only=True,
    )
    level_frame: str = parameter('world', 'Frame of tf whose z axis points up', read_only=True)
    time_constant: float = parameter(
        0.5,
        'Time constant of the filter of the direction',
        unit='s',
        minimum=0.0,
        maximum=3600.0,
        read_only=True,
    )
    least_angle: float = parameter(
        0.01,
        'Smallest tilt that changes the gravity of the model, at most ten times a second',
        unit='rad',
        minimum=1e-4,
        maximum=3.0,
        read_only=True,
    )


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of the robot and its state; shared by all nodes of a process."""

    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: wait for the topic robot_description'
    )
    root_joint: str = parameter(
        'fixed',
        'Joint between the world and the root link. floating and planar need the topic odom',
        choices=('fixed', 'floating', 'planar'),
    )
    locked_joints: LockedJointParameters = field(default_factory=LockedJointParameters)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        'Acceleration of free fall in the root frame',
        unit='m/s^2',
        sizes=(3,),
        minimum=-MAX_GRAVITY,
        maximum=MAX_GRAVITY,
    )
    largest_payload: float = parameter(
        0.0,
        'Largest accepted mass of a payload, from any source; 0: the mass of the robot without '
        'payload',
        unit='kg',
        minimum=0.0,
        maximum=MAX_PAYLOAD,
    )
    gravity_source: GravitySourceParameters = field(default_factory=GravitySourceParameters)
    backend: str = parameter(
        'auto',
        'Back end of the kernels. llvm: machine code; python: Python; auto: the fastest available',
        choices=('auto', 'llvm', 'python'),
    )
    frame_prefix: str = parameter(
        '',
        'Prefix of every frame_id of a frame of the model, as in robot_state_publisher',
    )
    joint_state_topic: str = parameter(
        'joint_states',
        'Topic of the joint states: joint_states, or dynamic_joint_states of ros2_control, which '
        'needs control_msgs and more CPU time for each message',
        choices=('joint_states', 'dynamic_joint_states'),
        read_only=True,
    )
    state_timeout: float = parameter(
        5.0,
        'Age from which services refuse to use the latest state, by the clock of the node; 0: '
        'never',
        unit='s',
        minimum=0.0,
        maximum=1e6,
    )
    joint_timeout: float = parameter(
        1.0,
        'A joint is stale if its stamp is older than the newest one by more than this; 0: never',
        unit='s',
        minimum=0.0,
        maximum=1e6,
    )
