# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot of a node without ROS: description, gravity, payload, options and names of frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import (
    InvalidArgumentError,
    ModelError,
    UnknownFrameError,
)
from dynamics_ros.kernels import call_path
from dynamics_ros.kernels.process import background
from dynamics_ros.model import build_model
from dynamics_ros.model.description import Loop, RobotDescription
from dynamics_ros.model.formats import read_any
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.dynamics import NO_PAYLOAD, PayloadParameters
from dynamics_ros.parameters.robot import DescriptionParameters, RobotParameters
from dynamics_ros.robot import Robot
from dynamics_ros.settings import MAX_GRAVITY, check_frame_id, declared


class FrameNames(NamedTuple):
    """Conversion between names of frames in the model and in messages.

    Attributes:
        root: frame id in which poses are expressed: the root link, or the frame of the odometry for
            a moving base.
        prefix: prefix of all frames of the model in messages.
    """

    root: str
    prefix: str

    def frame_id_of(self, frame: str) -> str:
        """Return the frame id of a frame of the model; '' for ''."""
        return f'{self.prefix}{frame}' if frame else ''

    def frame_of(self, frame_id: str) -> str:
        """Return the name in the model of a frame id."""
        return frame_id.removeprefix(self.prefix)

    def required_frame(self, robot: Robot, frame_id: str, argument: str) -> str:
        """Return the name in the model of a frame in a request.

        Args:
            robot: the robot.
            frame_id: name of the frame, with prefix.
            argument: name of the field in the request, for errors.

        Raises:
            UnknownFrameError: the model has no such frame.
        """
        frame = self.frame_of(frame_id)
        if frame not in robot.frame_names:
            raise UnknownFrameError(argument, frame_id, robot.frame_names)
        return frame


def check_count(robot: Robot, count: int, argument: str) -> None:
    """Check the number of frames in a request, since a long request would delay the outputs.

    Raises:
        InvalidArgumentError: there are more frames than the robot has.
    """
    max_count = len(robot.frame_names)
    if count > max_count:
        raise InvalidArgumentError(
            argument, f'{count} frames', f'at most the {max_count} of the robot'
        )


ALL_DRIVEN = 'passive_joints is empty: all joints of the loops count as driven, and share the load'
"""Doubt about a robot with loops."""

GRAVITY_RATE, PAYLOAD_RATE = 2.0, 5.0
"""Largest rates of change of gravity [m/s^3], and of mass and first moment of the payload [kg/s,
kg m/s], while torques are sent."""

FILE, ARGUMENTS = 'robot_description_file', 'robot_description_arguments'
"""Names of the parameters of a description file."""


class Description(NamedTuple):
    """Contents of a robot description.

    Attributes:
        robot: links and joints.
        urdf: URDF as XML text; '' for a file of MJCF or SDF.
        folder: folder to which relative paths of meshes refer; None for a text.
    """

    robot: RobotDescription
    urdf: str
    folder: Path | None = None


def description_path(values: DescriptionParameters) -> Path | None:
    """Return the absolute path of the description file of parameters; None without one.

    Raises:
        InvalidArgumentError: there are arguments without a file, or without a value.
    """
    path, arguments = values.robot_description_file, values.robot_description_arguments
    if arguments and not path:
        raise InvalidArgumentError(ARGUMENTS, 'given without a file', FILE)
    for argument in arguments:
        if not all(argument.partition(':=')[:2]):
            raise InvalidArgumentError(ARGUMENTS, repr(argument), 'name:=value')
    return Path(os.path.abspath(os.path.expanduser(path))) if path else None


def read_description_of(path: Path, arguments: Sequence[str]) -> Description:
    """Read a description file.

    Args:
        path: the file.
        arguments: arguments of a xacro file, each ``name:=value``.

    Raises:
        ModelError: it cannot be read, or is not a description.
    """
    pairs = (argument.partition(':=') for argument in arguments)
    try:
        contents = read_any(path, {name: value for name, _, value in pairs})
        return Description(_checked(contents.robot), contents.urdf, path.parent)
    except ModelError as error:
        raise ModelError(FILE, str(error)) from error


def read_description(text: str) -> RobotDescription:
    """Read a robot description from URDF text; unlike ``read_urdf``, never from a path.

    Raises:
        ModelError: the text is not a valid description.
    """
    if not text.lstrip().startswith('<'):
        shown = text.strip()[:40]
        reason = f'starts with {shown!r}' if shown else 'is empty'
        expected = f'expected URDF as XML text; give a file by {FILE}'
        raise ModelError('robot_description', f'{reason}; {expected}')
    return _checked(read_urdf(text))


def _checked(description: RobotDescription) -> RobotDescription:
    """Refuse names of links that tf2 refuses as frames, as those that begin with a slash."""
    for link in description.links:
        check_frame_id('robot_description: name of a link', link.name)
    return description


@dataclass(frozen=True)
class RobotRequest:
    """Everything that determines the robot; without a description there is no robot yet.

    Attributes:
        parameters: parameters of the robot, most of which are fixed at start.
        description: contents or absolute path of the description.
        gravity: acceleration of free fall in the root frame (3) [m/s^2].
        payload: the payload.
    """

    parameters: RobotParameters
    description: str | Path = ''
    gravity: tuple[float, ...] = RobotParameters.gravity
    payload: PayloadParameters = NO_PAYLOAD


@dataclass(frozen=True)
class Built:
    """Robot that is ready for use.

    Attributes:
        request: the request that it was built from.
        robot: the robot, with gravity and payload.
        description: contents of the description.
        prepared: results of ``prepare`` of the components.
    """

    request: RobotRequest
    robot: Robot
    description: Description
    prepared: Sequence[Any] = ()

    def details(self) -> dict[str, str]:
        """Return robot, payload, gravity and kernels, for diagnostics."""
        kernels, model = self.robot.kernels.values(), self.robot.model
        driven = ALL_DRIVEN if model.loops and not model.passive_joints else ''
        doubts = *self.description.robot.doubts, *model.warnings, model.doubt, driven
        payload, loops = self.request.payload, '; '.join(' '.join(loop) for loop in model.loops)
        return {
            **({'closed loops': loops} if loops else {}),
            'robot': self.robot.name,
            'payload': f'{payload.mass:g} kg at {payload.frame}' if payload.mass else 'none',
            'gravity [m/s^2]': ' '.join(f'{component:g}' for component in self.request.gravity),
            'degrees of freedom': str(self.robot.nv),
            'warnings about the description': '; '.join(filter(None, doubts)) or 'none',
            'kernel back end': ', '.join(sorted({kernel.backend for kernel in kernels})),
            'kernel calls': call_path(),
            'kernel compile time [s]': f'{sum(k.compile_seconds for k in kernels):.3f}',
        }


def make_robot(request: RobotRequest, latest: Built | None = None) -> Built:
    """Build the robot of a request; it reuses what it has in common with the latest one.

    Robots that differ in gravity, or in the payload at the tool frame or at a frame that has had a
    payload before, share their kernels, so nothing is compiled for them.

    Raises:
        DynamicsRosError: the request is invalid.
    """
    if latest is not None and latest.request == request:
        return latest
    parameters = request.parameters
    if latest is not None and latest.request.description == request.description:
        robot, description = latest.robot, latest.description
    else:
        if latest is not None:
            # Compile in another process, so that messages of the current robot are not delayed.
            background.enable_process()
        given, joints = request.description, parameters.locked_joints
        if isinstance(given, Path):
            description = read_description_of(given, parameters.robot_description_arguments)
        else:
            description = Description(read_description(given), given)
        locked = dict(zip(joints.names, joints.positions, strict=True))
        closed = description.robot.with_loops(parameters.loops, parameters.passive_joints)
        model = build_model(closed, parameters.root_joint, request.gravity, locked)
        robot = Robot(model, backend=parameters.backend, adjustable=True)
    payload = request.payload
    if tuple(robot.model.gravity) != request.gravity:
        robot = robot.with_gravity(request.gravity)
    check_payload(payload, robot, parameters.largest_payload)
    if payload.mass and not payload.frame:
        expected = f'the frame that carries the {payload.mass:g} kg'
        raise InvalidArgumentError('payload.frame', 'is empty', expected)
    if payload.mass and payload.frame not in robot.frame_names:
        raise UnknownFrameError('payload.frame', payload.frame, robot.frame_names)
    inertia = payload.mass, payload.center_of_mass, payload.inertia_matrix()
    robot = robot.with_payload(payload.frame if payload.mass else None, *inertia)
    return Built(request, robot, description)


def check_payload(payload: PayloadParameters, robot: Robot, largest: float) -> None:
    """Check that a payload is plausible, since gravity compensation of a wrong one flings the arm.

    Args:
        payload: the payload.
        robot: robot that is to carry it; may have another payload now.
        largest: largest mass [kg]; 0: the mass of the robot without payload.

    Raises:
        InvalidArgumentError: a value is out of its range.
    """
    if not payload.mass:
        return
    for item in declared(PayloadParameters, ('payload',)):
        item.checked(getattr(payload, item.path[-1]))
    bound, why = largest, 'largest_payload'
    if not bound:
        bound = robot.with_payload(None).total_mass
        why = 'what the robot itself weighs; another bound: largest_payload at start'
    if payload.mass > bound:
        raise InvalidArgumentError(
            'payload.mass', f'{payload.mass:g} kg', f'up to {bound:g} kg, {why}'
        )


def check_gravity(argument: str, gravity: Sequence[float] | NDArray[np.float64]) -> None:
    """Refuse a gravity beyond what a robot can be in, since its compensation flings the arm.

    Raises:
        InvalidArgumentError: it exceeds ``MAX_GRAVITY``; the error begins with ``argument``.
    """
    size = float(np.linalg.norm(gravity))
    if size > MAX_GRAVITY:
        expected = f'up to {MAX_GRAVITY:g} m/s^2'
        raise InvalidArgumentError(argument, f'has {size:g} m/s^2', expected)


def approached(request: RobotRequest, wanted: RobotRequest, dt: float) -> RobotRequest:
    """Return the wanted request with a gravity and a payload that are near those of a request.

    While torques are sent, a gravity or payload that is wrong then moves the arm slowly. A payload
    at another frame is not approached.

    Args:
        request: current request.
        wanted: request to approach.
        dt: time since the current request took effect [s].
    """
    gravity, goal = np.array(request.gravity), np.array(wanted.gravity)
    distance = float(np.linalg.norm(goal - gravity))
    if distance > GRAVITY_RATE * dt:
        gravity = gravity + (GRAVITY_RATE * dt / distance) * (goal - gravity)
        wanted = replace(wanted, gravity=tuple(gravity.tolist()))
    load, goal_load = request.payload, wanted.payload
    if not load.mass:
        load = goal_load.weightless()
    elif not goal_load.mass:
        goal_load = load.weightless()
    change = float(np.linalg.norm(goal_load.moments() - load.moments()))
    if change > PAYLOAD_RATE * dt and load.frame == goal_load.frame:
        wanted = replace(wanted, payload=load.towards(goal_load, PAYLOAD_RATE * dt / change))
    return wanted


def check_parameters(values: RobotParameters) -> None:
    """Check gravity, loops and locked joints, whatever the robot.

    Raises:
        InvalidArgumentError: gravity exceeds ``MAX_GRAVITY``, a loop is not ``frame other [kind]``,
            or names and positions of locked joints do not match.
    """
    check_gravity('gravity', values.gravity)
    for loop in values.loops:
        Loop.of(loop)
    names, positions = values.locked_joints.names, values.locked_joints.positions
    if len(names) != len(positions):
        problem = f'{len(names)} names and {len(positions)} positions'
        raise InvalidArgumentError('locked_joints', problem, 'as many of one as of the other')
    if len(set(names)) < len(names):
        raise InvalidArgumentError('locked_joints.names', 'a joint is named twice', 'each once')
