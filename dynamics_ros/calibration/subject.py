# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot and recordings of a calibration, with a common order of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.identification import JointSamples, UnusableRecordingError, for_robot
from dynamics_ros.identification.joint_states.joint_matching import match_joints, standing_still
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.multibody.rigid_body_system import DEFAULT_GRAVITY
from dynamics_ros.robot import Robot

from .reading import has_topics, read_samples

FULL_TURN = 2.0 * np.pi
"""Recorded angles within this range are not accepted as degrees: it is a full turn in rad, while in
degrees a motion of this size is too small to identify masses."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Input of a calibration.

    Attributes:
        text: URDF of the robot.
        joints: all joints, except those that the user locked.
        robot: robot with the recorded joints.
        recordings: recordings of the robot, in the given order.
        assumed: assumptions about names and joints, one sentence each.
    """

    text: str
    joints: tuple[str, ...]
    robot: Robot
    recordings: tuple[JointSamples, ...]
    assumed: tuple[str, ...]


def read_subject(
    description: str,
    paths: Sequence[Path],
    *,
    topic: str | None = None,
    joints: Mapping[str, str] | None = None,
    locked: Mapping[str, float] | None = None,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
    in_degrees: bool = False,
) -> Subject:
    """Reads a robot and its recordings.

    Args:
        description: path of a URDF or xacro file.
        paths: paths of the recordings.
        topic: topic of the joint states; None selects the one with most messages.
        joints: joint names of the robot by recorded names.
        locked: positions of joints that do not move [rad or m].
        gravity: in the root frame [m/s^2].
        in_degrees: whether recorded angles are in degrees, velocities in degrees per second.

    Raises:
        DynamicsRosError: a file cannot be read, or a recording is of another robot.
    """
    if topic is not None and paths and not any(map(has_topics, paths)):
        problem = f'{topic} is given, but {paths[0]} has no topics'
        raise InvalidArgumentError('--topic', problem, 'this option with bags only')
    text = read_description_file(description)
    locked = dict(locked or {})
    robot = Robot.from_urdf(text, gravity=gravity, locked_joints=locked)
    for name in (joints or {}).values():
        if name not in robot.joint_names and name not in locked:
            raise UnknownJointError('--joints', name, robot.joint_names)
    if not robot.nv:
        raise InvalidArgumentError('robot', 'no joint of it moves', 'a joint that is not locked')
    if any(joint.kind.nq != 1 for joint in robot.model.actuated):
        raise InvalidArgumentError(
            'robot', 'it has joints of several coordinates', 'revolute and prismatic joints'
        )
    found = [read_samples(path, topic) for path in paths]
    columns, _ = match_joints(found[0].joint_names, robot.joint_names, joints)
    all_joints = tuple(robot.joint_names)
    absent = [name for name in all_joints if name not in columns]
    assumed = []
    if absent:
        places, sentence = standing_still(robot, absent)
        locked |= places
        robot = Robot.from_urdf(text, gravity=gravity, locked_joints=locked)
        assumed.append(sentence)
    if not robot.nv:
        raise UnusableRecordingError('no joint of the robot was recorded')
    recordings = []
    for samples in found:
        if in_degrees:
            samples = _in_radians(samples, robot, joints)
        own, sentence = for_robot(samples, robot, joints)
        recordings.append(own)
        if sentence and sentence not in assumed:
            assumed.append(sentence)
    return Subject(text, all_joints, robot, tuple(recordings), tuple(assumed))


def _in_radians(
    samples: JointSamples, robot: Robot, joints: Mapping[str, str] | None
) -> JointSamples:
    """Converts angles and their velocities from degrees to rad; prismatic joints are unchanged.

    Raises:
        UnusableRecordingError: all angles are within one turn in rad, so they are hardly degrees.
    """
    columns, _ = match_joints(samples.joint_names, robot.joint_names, joints)
    factor, angles = np.ones(len(samples.joint_names)), []
    for joint in robot.model.actuated:
        if joint.name in columns and joint.kind.units == ('rad',):
            angles.append(columns[joint.name])
    factor[angles] = np.pi / 180.0
    farthest = np.nanmax(np.abs(samples.position[:, angles]), initial=0.0)
    if angles and farthest <= FULL_TURN:
        raise UnusableRecordingError(
            f'{samples.source}: no angle is beyond {farthest:.3g}: they seem to be in rad already; '
            'leave out --units degrees'
        )
    velocity = None if samples.velocity is None else samples.velocity * factor
    return replace(samples, position=samples.position * factor, velocity=velocity)
