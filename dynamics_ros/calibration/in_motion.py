# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of the drives of a running contact_node from its joint states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.files import write_files
from dynamics_ros.identification.uncertainty import Drives, Recorder, identify_drives
from dynamics_ros.multibody.kernel_methods import check_size
from dynamics_ros.robot import Robot

from .outputs import check_path, parameter_values, parameters_text

TIMEOUT = 2.0
"""Maximum time without a usable joint state [s]."""

DESCRIBED = ('viscous', 'coulomb')
"""Friction parameters that default to the values of the description."""

EFFORT_PARAMETERS = ('effort.', 'friction.')
"""Prefixes of parameters that are written together with the identified ones: the meaning of
efforts."""

USER_CHOICES = frozenset({'effort.scale', 'thresholds.false_alarms_per_hour'})
"""Parameters that keep a value set by the user: the effort scale and the false alarm rate."""

Value = Callable[[str], Any]
"""Returns the value of a node parameter by its name."""


class MotionWatch:
    """Collects samples of free motion for a duration, and identifies the drives from them.

    Attributes:
        recorder: recorder of the samples.
    """

    def __init__(self, robot: Robot, values: ContactSettings, duration: float) -> None:
        """Creates it without samples.

        Args:
            robot: the moving robot.
            values: current parameters, which define the meaning of efforts.
            duration: duration of the motion [s].

        Raises:
            DynamicsRosError: the robot is too large, or of a type that cannot be calibrated.
        """
        check_size(robot.model)
        if robot.model.root_joint_nv or any(joint.kind.nv != 1 for joint in robot.model.actuated):
            raise InvalidArgumentError(
                'robot',
                'its base moves, or a joint has several coordinates',
                'a fixed base and joints of one coordinate',
            )
        self._robot, self._model = robot, effort_model(robot, values.effort, values.friction)
        self._duration = duration
        self.recorder = Recorder(robot, 'the motion')
        self._last_sample, self._problem = time.monotonic(), ''

    def add(self, state: RobotState) -> None:
        """Adds a state unless it is incomplete."""
        self._problem = _unusable(state)
        if self._problem:
            return
        if self.recorder.add(state.time, state.q, state.v, state.effort):
            self._last_sample = time.monotonic()

    def ended(self, elapsed: float) -> bool:
        """Whether there are enough samples.

        Raises:
            DynamicsRosError: no usable sample has arrived for too long.
        """
        if self.recorder.duration >= self._duration:
            return True
        if time.monotonic() - self._last_sample > TIMEOUT:
            problem = self._problem or f'no new joint state for {TIMEOUT:g} s'
            raise DynamicsRosError(f'{problem}, {self.recorder.duration:.1f} s into the motion')
        return False

    def estimate(self) -> Drives:
        """Identifies friction, offsets and noise of the drives.

        Raises:
            DynamicsRosError: the samples are not sufficient.
        """
        return identify_drives(self._robot, self.recorder.samples, self._model)


def found_parameters(found: Drives, values: ContactSettings, value: Value) -> dict[str, Any]:
    """Returns the parameters that follow from a motion, by name.

    Joints that did not move keep their values.

    Args:
        found: result of the identification.
        values: current parameters.
        value: returns the current value of a parameter.
    """
    identified = found.identified
    updated = parameter_values(identified, found.learned)
    updated = {n: one for n, one in updated.items() if n not in USER_CHOICES or not value(n)}
    robot = identified.robot
    model = effort_model(robot, values.effort, values.friction)
    before: dict[str, Any] = {f'friction.{name}': getattr(model, name) for name in DESCRIBED}
    for name, one in updated.items():
        given = value(name)
        if isinstance(one, list) and given:
            before[name] = per_velocity(robot, given, name)
    return with_joints_as_before(updated, before, identified.moved)


def with_joints_as_before(
    found: Mapping[str, Any], before: Mapping[str, Sequence[float]], moved: NDArray[np.bool_]
) -> dict[str, Any]:
    """Restores previous parameter values of joints that did not move or are not used.

    Args:
        found: new values by parameter name.
        before: previous values (nv) by parameter name, as far as they are known.
        moved: (nv) mask of joints that moved.
    """
    merged = dict(found)
    for name in found.keys() & before.keys():
        old = np.asarray(before[name], dtype=np.float64)
        stays = ~moved | np.isinf(old)
        merged[name] = np.where(stays, old, found[name]).tolist()
    return merged


def write(
    path: Path,
    found: Mapping[str, Any],
    names: frozenset[str],
    value: Value,
    node: str,
    robot: Robot,
) -> None:
    """Writes the identified parameters, and those that define the meaning of efforts, to a file.

    Args:
        path: path of the file.
        found: identified parameters by name.
        names: all parameters of the node.
        value: returns the current value of each.
        node: name of the node.
        robot: the robot.

    Raises:
        DynamicsRosError: the file cannot be written.
    """
    written = sorted(n for n in names if n in found or n.startswith(EFFORT_PARAMETERS))
    given = {name: found.get(name, value(name)) for name in written}
    # ROS rejects empty lists in parameter files because their type is unknown.
    values = {n: list(x) if isinstance(x, tuple) else x for n, x in given.items() if x != ()}
    try:
        check_path(path)
        write_files({path: parameters_text(values, robot.joint_names, node)})
    except (DynamicsRosError, OSError) as error:
        raise DynamicsRosError(f'nothing is changed, the file is not written: {error}') from error


def result_fields(found: Drives, pipeline: ContactPipeline) -> dict[str, Any]:
    """Returns the fields of the result of an action Calibrate, by name.

    Args:
        found: result of the identification.
        pipeline: estimators with the identified parameters.
    """
    robot, effort, identified = pipeline.robot, pipeline.values.effort, found.identified
    model = effort_model(robot, effort, pipeline.values.friction)
    velocity_noise = per_velocity(robot, effort.velocity_noise, 'effort.velocity_noise')
    fields = {
        'joint_names': list(robot.joint_names),
        'moved': identified.moved.tolist(),
        'stribeck': model.stribeck.tolist(),
        'effort_noise': per_velocity(robot, effort.noise, 'effort.noise').tolist(),
        'velocity_noise': velocity_noise.tolist(),
        'left_over_before': found.left_over_before.tolist(),
        'left_over': identified.train.rms.tolist(),
        'contact_thresholds': pipeline.detector.constants[0].tolist(),
        'findings': [*identified.findings, *found.learned.findings],
    }
    for name in ('offset', 'viscous', 'coulomb'):
        fields[name] = getattr(model, name).tolist()
        fields[f'{name}_deviation'] = found.identified.deviations(name).tolist()
    return fields


def _unusable(state: RobotState) -> str:
    """Returns why a state cannot be used; empty if it can."""
    for what, names in (
        ('no effort of', state.effort_missing),
        ('no velocity of', state.velocity_missing),
        ('no news of', state.stale),
    ):
        if names:
            return f'{what} {", ".join(names)}'
    return '' if state.time else 'joint_states carry no stamp'
