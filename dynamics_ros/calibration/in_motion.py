# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a running contact_node learns of its own robot from free motion."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.identification.uncertainty import Drives, Recorder, identify_drives
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.robot import Robot

from .node_parameters import (
    by_name,
    check_path,
    in_groups,
    parameter_values,
    parameters_text,
    with_joints_as_before,
    write_parameters,
)

PATIENCE = 2.0
"""s without a joint state that is of use, after which none is waited for."""

OF_URDF = ('viscous', 'coulomb')
"""Friction that the description tells where parameters do not."""

MEANING = ('effort.', 'friction.')
"""Parameters that are written with those that were found: how efforts are read."""

CHOSEN = frozenset({'effort.scale', 'thresholds.false_alarms_per_hour'})
"""Those that stay where a user has chosen them: what efforts are read with, how many alarms."""

Value = Callable[[str], Any]
"""The value of a parameter of the node by its name."""


class MotionWatch:
    """Takes samples until their stamps span so many seconds.

    Attributes:
        recorder: of the samples.
    """

    def __init__(self, robot: Robot, values: ContactSettings, duration: float) -> None:
        """Begin without samples.

        Args:
            robot: that moves.
            values: how efforts are read so far.
            duration: of the motion [s].

        Raises:
            DynamicsRosError: the robot is too large, or of a kind that cannot be calibrated.
        """
        check_size(robot)
        _check_kind(robot)
        self._robot, self._model = robot, model_of(robot, values)
        self._duration = duration
        self.recorder = Recorder(robot, 'the motion')
        self._news, self._problem = time.monotonic(), ''

    def add(self, state: RobotState) -> None:
        """Take a state in, unless it tells nothing."""
        self._problem = _unusable(state)
        if self._problem:
            return
        if self.recorder.add(state.time, state.q, state.v, state.effort):
            self._news = time.monotonic()

    def ended(self, elapsed: float) -> bool:
        """Whether there are enough samples.

        Raises:
            DynamicsRosError: there has been none of use for too long.
        """
        if self.recorder.duration >= self._duration:
            return True
        if time.monotonic() - self._news > PATIENCE:
            told = self._problem or f'no new joint state for {PATIENCE:g} s'
            raise DynamicsRosError(f'{told}, {self.recorder.duration:.1f} s into the motion')
        return False

    def estimate(self) -> Drives:
        """Friction, offsets and noise of the drives.

        Raises:
            DynamicsRosError: the samples do not tell.
        """
        return identify_drives(self._robot, self.recorder.samples, self._model)


def model_of(robot: Robot, values: ContactSettings) -> EffortModel:
    """How efforts are read by parameters."""
    return effort_model(robot, values.effort, values.friction)


def found_parameters(found: Drives, values: ContactSettings, value: Value) -> dict[str, Any]:
    """Parameters that follow from a motion, by name; joints that did not move keep theirs.

    Args:
        found: in the motion.
        values: in force.
        value: of each parameter in force.
    """
    identified = found.identified
    told = by_name(parameter_values(identified, found.learned))
    told = {name: one for name, one in told.items() if name not in CHOSEN or not value(name)}
    robot = identified.robot
    before: dict[str, Any] = {
        f'friction.{name}': getattr(model_of(robot, values), name) for name in OF_URDF
    }
    for name, one in told.items():
        given = value(name)
        if isinstance(one, list) and given:
            before[name] = per_velocity(robot, given, name)
    return with_joints_as_before(told, before, identified.moved)


def write(
    path: Path,
    found: Mapping[str, Any],
    names: frozenset[str],
    value: Value,
    node: str,
    robot: Robot,
) -> None:
    """Write the parameters that were found, and those that say how efforts are read, to a file.

    Args:
        path: of the file.
        found: by name.
        names: all parameters of the node.
        value: of each.
        node: its name.
        robot: whose joints they are about.

    Raises:
        DynamicsRosError: it cannot be written.
    """
    written = sorted(n for n in names if n in found or n.startswith(MEANING))
    given = {name: value(name) for name in written}
    # ROS takes no empty list from a file: it has no type.
    told = {n: list(x) if isinstance(x, tuple) else x for n, x in given.items() if x != ()}
    try:
        check_path(path)
        write_parameters(path, parameters_text(in_groups(told), robot.joint_names, node))
    except (DynamicsRosError, OSError) as error:
        raise DynamicsRosError(f'in force, but not written: {error}') from error


def _unusable(state: RobotState) -> str:
    """Why a state tells nothing; empty when it does."""
    for what, names in (
        ('no effort of', state.effort_missing),
        ('no velocity of', state.velocity_missing),
        ('no news of', state.stale),
    ):
        if names:
            return f'{what} {", ".join(names)}'
    return '' if state.time else 'joint_states carry no stamp'


def _check_kind(robot: Robot) -> None:
    if robot.model.root_joint_nv or any(joint.kind.nv != 1 for joint in robot.model.actuated):
        raise InvalidArgumentError(
            'robot',
            'its base moves, or a joint has several coordinates',
            'a fixed base and joints of one coordinate',
        )
