"""The robot of a description and the recordings of it, joint by joint in one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification import JointSamples, UnusableRecordingError, for_robot
from dynamics_ros.identification.joint_matching import match_joints
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.multibody.rigid_body_system import DEFAULT_GRAVITY
from dynamics_ros.robot import Robot

from .reading import read_samples


@dataclass(frozen=True, eq=False)
class Subject:
    """What is calibrated.

    Attributes:
        text: URDF of the robot.
        robot: with the joints that were recorded.
        recordings: of the robot, in the order they were given.
        assumed: what was assumed about names and joints, one sentence each.
    """

    text: str
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
) -> Subject:
    """Read a robot and its recordings.

    Args:
        description: path of a URDF or xacro file.
        paths: of the recordings.
        topic: of joint states, where there are several.
        joints: recorded name to name of the robot.
        locked: joints that do not move, with their positions [rad or m].
        gravity: in the root frame [m/s^2].

    Raises:
        DynamicsRosError: something cannot be read, or a recording is of another robot.
    """
    text = read_description_file(description)
    locked = dict(locked or {})
    robot = Robot.from_urdf(text, gravity=gravity, locked_joints=locked)
    if any(joint.kind.nq != 1 for joint in robot.model.actuated):
        raise InvalidArgumentError(
            'robot', 'it has joints of several coordinates', 'revolute and prismatic joints'
        )
    found = [read_samples(path, topic) for path in paths]
    columns, _ = match_joints(found[0].joint_names, robot.joint_names, joints)
    absent = [name for name in robot.joint_names if name not in columns]
    assumed = []
    if absent:
        low = np.maximum(robot.lower_limits, -1e3)
        for name in absent:
            index = robot.joint_q_indices[name]
            locked[name] = float(np.clip(0.0, low[index], robot.upper_limits[index]))
        robot = Robot.from_urdf(text, gravity=gravity, locked_joints=locked)
        places = ', '.join(f'{name} at {locked[name]:g}' for name in absent)
        assumed.append(f'joints that were not recorded are taken to stand still: {places}')
    if not robot.nv:
        raise UnusableRecordingError(f'{found[0].source}: no joint of the robot was recorded')
    recordings = []
    for samples in found:
        own, sentence = for_robot(samples, robot, joints)
        recordings.append(own)
        if sentence and sentence not in assumed:
            assumed.append(sentence)
    return Subject(text, robot, tuple(recordings), tuple(assumed))
