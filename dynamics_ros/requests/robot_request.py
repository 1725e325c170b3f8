# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what is asked for to a robot that is ready to run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.model import build_model
from dynamics_ros.model.description import RobotDescription
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.dynamics import NO_PAYLOAD, PayloadParameters
from dynamics_ros.parameters.robot import LockedJointParameters
from dynamics_ros.robot import Robot
from dynamics_ros.settings import declared


@dataclass(frozen=True)
class RobotRequest:
    """All that decides what the robot is. Without a description there is none yet."""

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
    """A robot that is ready to run.

    Attributes:
        request: what it was made of.
        robot: with gravity and payload.
        root_link: the link at the root of the description.
        default_frame: the frame that is meant when none is configured.
        prepared: what the parts of the node have made ready for it.
        seconds: how long all of it took.
        doubts: what the description says that is usable but probably not meant.
    """

    request: RobotRequest
    robot: Robot
    root_link: str
    default_frame: str
    prepared: Any
    seconds: float
    doubts: tuple[str, ...] = ()


class RobotMaker:
    """Makes robots one after another, of which each takes over what it has in common with the last.

    Called in one thread.
    """

    def __init__(self) -> None:
        self._latest: tuple[RobotRequest, Robot, RobotDescription] | None = None

    def make(self, request: RobotRequest, prepare: Callable[[Robot, str], Any]) -> Built:
        """A robot that is ready to run.

        Args:
            request: what it is made of; has a description.
            prepare: makes whatever works on it ready, from the robot and its default frame.

        Raises:
            DynamicsRosError: what is asked for makes no robot.
        """
        started = time.perf_counter()
        robot, description = self._robot(request)
        default_frame = tool_frame(description)
        prepared = prepare(robot, default_frame)
        seconds = time.perf_counter() - started
        doubts = (*description.doubts, *filter(None, [robot.model.doubt]))
        return Built(request, robot, description.root, default_frame, prepared, seconds, doubts)

    def _robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """The robot with gravity and payload; the one before where nothing of it has changed."""
        if self._latest is not None and self._latest[0] == request:
            return self._latest[1:]
        robot, description = self._similar_robot(request)
        payload = request.payload
        if tuple(robot.model.gravity) != request.gravity:
            robot = robot.with_gravity(request.gravity)
        check_payload(payload, robot, request.largest_payload)
        robot = robot.with_payload(
            payload.frame if payload.mass else None,
            payload.mass,
            payload.center_of_mass,
            payload.inertia_matrix(),
        )
        self._latest = (request, robot, description)
        return robot, description

    def _similar_robot(self, request: RobotRequest) -> tuple[Robot, RobotDescription]:
        """One of the same description, read again only when what it is read from has changed.

        Robots with another gravity or payload at the tool, or at a frame that had one before, share
        their kernels: nothing is compiled for them.
        """
        if self._latest is not None and _without_load(self._latest[0]) == _without_load(request):
            return self._latest[1:]
        if self._latest is not None:
            # Messages about the robot in force do not wait for the kernels of the next one.
            compile_process.enable()
        description = read_description(request.description)
        locked = dict(zip(request.locked_names, request.locked_positions, strict=True))
        model = build_model(description, request.root_joint, request.gravity, locked)
        return Robot(model, request.backend).adjustable(tool_frame(description)), description


def _without_load(request: RobotRequest) -> RobotRequest:
    return replace(request, payload=NO_PAYLOAD, largest_payload=0.0, gravity=RobotRequest.gravity)


def check_payload(payload: PayloadParameters, robot: Robot, largest: float) -> None:
    """Refuse a payload that the robot cannot be meant to carry: torques would fling the arm.

    Args:
        payload: from wherever it comes.
        robot: that is to carry it, with or without another one.
        largest: mass [kg]; 0: that of the robot itself.

    Raises:
        InvalidArgumentError: naming what of it is beyond its range.
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


def read_description(text: str) -> RobotDescription:
    """Read a robot description from text, and never from a file that the text may name.

    Raises:
        ModelError: it is not the description of a robot.
    """
    if not text.lstrip().startswith('<'):
        shown = text.strip()[:40]
        reason = f'starts with {shown!r}' if shown else 'is empty'
        cure = 'expected URDF as XML text; of a file: "$(cat FILE)"'
        raise ModelError('robot_description', f'{reason}; {cure}')
    try:
        return read_urdf(text)
    except DynamicsRosError:
        raise
    except Exception as error:
        raise ModelError('robot_description', f'{type(error).__name__}: {error}') from error


def check_locked_joints(values: LockedJointParameters) -> None:
    """Refuse names and positions that do not belong together.

    They are set one after the other, so this is no reason to refuse either of them.

    Raises:
        InvalidArgumentError: there are more of one than of the other, or a joint is named twice.
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
