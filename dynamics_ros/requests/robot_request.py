# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Builds the robot of a request: description, gravity, payload and options."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.model import build_model
from dynamics_ros.model.description import RobotDescription
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.dynamics import NO_PAYLOAD, PayloadParameters
from dynamics_ros.parameters.robot import LockedJointParameters, RobotParameters
from dynamics_ros.robot import Robot
from dynamics_ros.settings import MAX_GRAVITY, declared

from .frame_names import FrameNames


@dataclass(frozen=True)
class RobotRequest:
    """Everything that determines the robot; without a description there is no robot yet."""

    description: str = ''
    root_joint: str = 'fixed'
    locked_names: tuple[str, ...] = ()
    locked_positions: tuple[float, ...] = ()
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    backend: str = 'auto'
    payload: PayloadParameters = NO_PAYLOAD
    largest_payload: float = 0.0


@dataclass(frozen=True)
class Built:
    """Robot that is ready for use.

    Attributes:
        request: the request that it was built from.
        robot: the robot, with gravity and payload.
        root_link: root link of the description.
        default_frame: frame to use where the parameters name none.
        prepared: results of ``prepare`` of the components.
        seconds: time to build the robot and to prepare the components [s].
        doubts: usable but suspicious contents of the description.
    """

    request: RobotRequest
    robot: Robot
    root_link: str
    default_frame: str
    prepared: Any
    seconds: float
    doubts: tuple[str, ...] = ()

    def details(self) -> dict[str, str]:
        """Return properties of the robot and of its kernels, for diagnostics."""
        kernels = self.robot.kernels.values()
        return {
            'robot': self.robot.name,
            'degrees of freedom': str(self.robot.nv),
            'doubts about the description': '; '.join(self.doubts) or 'none',
            'kernel back end': ', '.join(sorted({kernel.backend for kernel in kernels})),
            'kernels': str(len(kernels)),
            'kernel compile time [s]': f'{sum(k.compile_seconds for k in kernels):.3f}',
            'time to make the robot ready [s]': f'{self.seconds:.3f}',
        }


class RobotMaker:
    """Builds robots, each of which reuses what it has in common with the previous one.

    All calls must come from the same thread.
    """

    def __init__(self) -> None:
        self._latest: tuple[RobotRequest, Robot, RobotDescription] | None = None

    def make(self, request: RobotRequest, prepare: Callable[[Robot, str], Any]) -> Built:
        """Build the robot of a request, and prepare the components for it.

        Args:
            request: request with a description.
            prepare: prepares the components for a robot and its default frame.

        Raises:
            DynamicsRosError: the request is invalid.
        """
        started = time.perf_counter()
        robot, description = self._robot(request)
        default_frame = tool_frame(description)
        prepared = prepare(robot, default_frame)
        seconds = time.perf_counter() - started
        doubts = (*description.doubts, *filter(None, [robot.model.doubt]))
        return Built(request, robot, description.root, default_frame, prepared, seconds, doubts)

    def _robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """Return the robot with gravity and payload; the previous one if nothing has changed."""
        if self._latest is not None and self._latest[0] == request:
            return self._latest[1:]
        robot, description = self._similar_robot(request)
        payload = request.payload
        if tuple(robot.model.gravity) != request.gravity:
            robot = robot.with_gravity(request.gravity)
        check_payload(payload, robot, request.largest_payload)
        if payload.mass and not payload.frame:
            raise InvalidArgumentError(
                'payload.frame', 'is empty', f'the frame that carries the {payload.mass:g} kg'
            )
        robot = robot.with_payload(
            payload.frame if payload.mass else None,
            payload.mass,
            payload.center_of_mass,
            payload.inertia_matrix(),
        )
        self._latest = (request, robot, description)
        return robot, description

    def _similar_robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """Return a robot of the same description; build a new one only if that has changed.

        Robots that differ in gravity, or in the payload at the tool frame or at a frame that has
        had a payload before, share their kernels, so nothing is compiled for them.
        """
        if self._latest is not None and _without_load(self._latest[0]) == _without_load(request):
            return self._latest[1:]
        if self._latest is not None:
            # Compile in another process, so that messages of the current robot are not delayed.
            compile_process.enable()
        description = read_description(request.description)
        locked = dict(zip(request.locked_names, request.locked_positions, strict=True))
        model = build_model(description, request.root_joint, request.gravity, locked)
        return Robot(model, request.backend).adjustable(tool_frame(description)), description


def _without_load(request: RobotRequest) -> RobotRequest:
    return replace(request, payload=NO_PAYLOAD, largest_payload=0.0, gravity=RobotRequest.gravity)


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
        why = 'what the robot itself weighs; the parameter largest_payload takes another bound'
    if payload.mass > bound:
        raise InvalidArgumentError(
            'payload.mass', f'{payload.mass:g} kg', f'up to {bound:g} kg, {why}'
        )


def gravity_in_root(
    vector: NDArray[np.float64], frame_id: str, names: FrameNames, robot: Robot | None
) -> tuple[float, ...]:
    """Return a requested acceleration of free fall, in the root frame [m/s^2].

    Before the robot is known, any frame is accepted as the root frame. With a moving base, whose
    odometry names the root frame, so is any frame that is not one of the robot.

    Args:
        vector: (3) the acceleration.
        frame_id: frame in which it is expressed; '' is the root frame.
        names: names of frames.
        robot: the current robot, or None.

    Raises:
        InvalidArgumentError: the vector is too large, or is in another frame.
    """
    if np.abs(vector).max() > MAX_GRAVITY:
        expected = f'up to {MAX_GRAVITY:g} m/s^2 along each axis'
        raise InvalidArgumentError('gravity.vector', f'has {np.abs(vector).max():g}', expected)
    moving = robot is not None and robot.model.root_joint_nv > 0
    if not (
        robot is None
        or frame_id in ('', names.root)
        or (moving and names.frame_of(frame_id) not in robot.frame_names)
    ):
        expected = f'{names.root!r} or none'
        raise InvalidArgumentError('gravity.header.frame_id', repr(frame_id), expected)
    return tuple(vector.tolist())


def requested_values(parameters: RobotParameters, *, locked: bool = True) -> dict[str, Any]:
    """Return the values of a request that parameters set, with or without locked joints."""
    values: dict[str, Any] = {
        'root_joint': parameters.root_joint,
        'backend': parameters.backend,
        'largest_payload': parameters.largest_payload,
    }
    if locked:
        joints = parameters.locked_joints
        values |= {'locked_names': joints.names, 'locked_positions': joints.positions}
    return values


def read_description(text: str) -> RobotDescription:
    """Read a robot description from URDF text; unlike ``read_urdf``, never from a path.

    Raises:
        ModelError: the text is not a valid description.
    """
    if not text.lstrip().startswith('<'):
        shown = text.strip()[:40]
        reason = f'starts with {shown!r}' if shown else 'is empty'
        expected = 'expected URDF as XML text; of a file: "$(cat FILE)"'
        raise ModelError('robot_description', f'{reason}; {expected}')
    try:
        return read_urdf(text)
    except DynamicsRosError:
        raise
    except Exception as error:
        raise ModelError('robot_description', f'{type(error).__name__}: {error}') from error


def check_locked_joints(values: LockedJointParameters) -> None:
    """Check that names and positions of locked joints match.

    The two parameters are set one after the other, so neither is refused for a mismatch.

    Raises:
        InvalidArgumentError: their lengths differ, or a joint is named twice.
    """
    names, positions = values.names, values.positions
    if len(names) != len(positions):
        raise InvalidArgumentError(
            'locked_joints',
            f'{len(names)} names and {len(positions)} positions',
            'as many of one as of the other',
        )
    if len(set(names)) < len(names):
        raise InvalidArgumentError('locked_joints.names', 'a joint is named twice', 'each once')
