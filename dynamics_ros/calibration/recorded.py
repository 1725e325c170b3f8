# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot and recordings of a calibration, with a common order of joints, and their options.

Recordings are ROS 2 and ROS 1 bags, CSV and Parquet files.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.command_line import acceleration, finite
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.identification import JointSamples, UnusableRecordingError, for_robot
from dynamics_ros.identification.joint_states.joint_matching import match_joints, standing_still
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.multibody.rigid_body_system import DEFAULT_GRAVITY
from dynamics_ros.recordings.bag import JOINT_STATE, Recording, RecordingError
from dynamics_ros.robot import Robot

from .tables import TABLES, read_table

MIN_FORWARD = 0.9
"""Minimum share of increasing stamps; otherwise the times of recording are used."""

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
    if topic is not None and all(path.suffix.lower() in TABLES for path in paths):
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


def read_samples(path: Path, topic: str | None = None) -> JointSamples:
    """Reads the joint states of a file.

    Args:
        path: a rosbag2 folder, an .mcap or .db3 file, a ROS 1 .bag, a .csv or .parquet file.
        topic: topic of the joint states in a bag; None selects the one with most messages.

    Raises:
        DynamicsRosError: the file cannot be read, or contains no joint states.
    """
    if path.suffix.lower() in TABLES:
        return read_table(path)
    with Recording(path) as recording:
        topics = recording.topics(JOINT_STATE)
        if not topics:
            others = ', '.join(f'{x} ({kind})' for x, kind in recording.kinds().items()) or 'none'
            raise RecordingError(
                f'{path}: no joint states ({JOINT_STATE}) on any topic; topics are: {others}'
            )
        if topic is None:
            topic = max(topics, key=lambda one: recording.count([one]))
        if topic not in topics:
            raise RecordingError(
                f'{path}: no joint states on {topic}; there are: {", ".join(topics)}'
            )
        messages = [(time, message) for _, time, message in recording.decoded([topic])]
    return _samples(path.name, messages)


def _samples(source: str, messages: Sequence[tuple[int, Any]]) -> JointSamples:
    """Converts messages to samples, of those with the most frequent list of joint names."""
    by_names: dict[tuple[str, ...], list[tuple[int, Any]]] = {}
    for time, message in messages:
        by_names.setdefault(tuple(message.name), []).append((time, message))
    if not by_names:
        raise UnusableRecordingError(f'{source}: holds no joint states')
    names, chosen = max(by_names.items(), key=lambda item: len(item[1]))
    count = len(names)
    chosen = [(t, m) for t, m in chosen if len(m.position) == count]
    if not chosen:
        raise UnusableRecordingError(f'{source}: its joint states hold no positions')
    with_effort = [(t, m) for t, m in chosen if len(m.effort) == count]
    if not with_effort:
        raise UnusableRecordingError(
            f'{source}: holds no efforts; record joint states whose effort is filled '
            '(a joint_state_broadcaster needs the state interface "effort")'
        )
    with_velocity = all(len(m.velocity) == count for _, m in with_effort)
    recorded = np.array([time for time, _ in with_effort]) * 1e-9
    stamps = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for _, m in with_effort])
    forward = np.mean(np.diff(stamps) > 0.0) if len(stamps) > 1 else 0.0
    return JointSamples(
        source,
        names,
        stamps if forward >= MIN_FORWARD else recorded,
        np.array([m.position for _, m in with_effort]),
        np.array([m.velocity for _, m in with_effort]) if with_velocity else None,
        np.array([m.effort for _, m in with_effort]),
    )


def add_robot_options(parser: argparse.ArgumentParser) -> None:
    """Options that all tasks have."""
    parser.add_argument('--robot', required=True, metavar='FILE', help='URDF or xacro file')
    parser.add_argument(
        '--lock',
        type=position,
        nargs='+',
        default=[],
        metavar='NAME=POSITION',
        help='joints that are fixed at positions [rad or m]',
    )
    parser.add_argument(
        '--gravity',
        type=acceleration,
        nargs=3,
        default=DEFAULT_GRAVITY,
        metavar=('X', 'Y', 'Z'),
        help='gravity in the root frame [m/s^2]; for a tilted robot (default: 0 0 -9.81)',
    )


def pair(text: str) -> tuple[str, str]:
    """A name and a value, given as NAME=VALUE.

    Raises:
        ArgumentTypeError: it is something else.
    """
    name, equals, value = text.rpartition('=')
    if not equals or not name:
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=VALUE')
    return name, value


def position(text: str) -> tuple[str, float]:
    """A name and a position, given as NAME=POSITION.

    Raises:
        ArgumentTypeError: it is something else.
    """
    name, value = pair(text)
    return name, finite(value)


def share(text: str) -> float:
    """A number between 0 and 1.

    Raises:
        ArgumentTypeError: it is something else.
    """
    number = finite(text)
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 1')
    return number
