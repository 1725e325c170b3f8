# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The action calibrate: learns friction, offsets and noise from free motion, and can be undone."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from dynamics_ros.calibration.node_parameters import (
    by_name,
    check_path,
    in_groups,
    parameter_values,
    parameters_text,
    with_joints_as_before,
    write_parameters,
)
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline, EffortModel
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.identification.uncertainty import Drives, Recorder, identify_drives
from dynamics_ros.multibody.large_robots import check_size
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.services.watch_action import LONGEST, WatchAction
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.robot import Robot
from dynamics_ros_msgs.action import Calibrate

DURATION = 30.0
"""s of motion, where a goal asks for no other."""

SHORTEST = 5.0
"""s that a goal may ask for."""

PATIENCE = 2.0
"""s without a joint state that is of use, after which none is waited for."""

MOST_UNDONE = 16
"""Calibrations that can be undone, one after the other."""

OF_URDF = ('viscous', 'coulomb')
"""Friction that the description tells where parameters do not."""

MEANING = ('effort.', 'friction.')
"""Parameters that are written with those that were found: how efforts are read."""

CHOSEN = frozenset({'effort.scale', 'thresholds.false_alarms_per_hour'})
"""Those that stay where a user has chosen them: what efforts are read with, how many alarms."""


class _MotionWatcher:
    """Takes samples until their stamps span so many seconds."""

    def __init__(self, robot: Robot, model: EffortModel, duration: float) -> None:
        self._robot, self._model, self._duration = robot, model, duration
        self._recorder = Recorder(robot, 'the motion')
        self._news, self._problem = time.monotonic(), ''

    def add(self, state: RobotState) -> None:
        self._problem = _unusable(state)
        if self._problem:
            return
        if self._recorder.add(state.time, state.q, state.v, state.effort):
            self._news = time.monotonic()

    def ended(self, elapsed: float) -> bool:
        if self._recorder.duration >= self._duration:
            return True
        if time.monotonic() - self._news > PATIENCE:
            told = self._problem or f'no new joint state for {PATIENCE:g} s'
            raise DynamicsRosError(f'{told}, {self._recorder.duration:.1f} s into the motion')
        return False

    def feedback(self, elapsed: float) -> Any:
        recorder = self._recorder
        return Calibrate.Feedback(
            elapsed=recorder.duration, samples=recorder.count, missing=recorder.missing
        )

    def estimate(self) -> Drives:
        return identify_drives(self._robot, self._recorder.samples, self._model)


class CalibrateAction(WatchAction[Drives]):
    """Has the parameters ``effort.*`` and ``friction.*`` follow from motion; masses stay."""

    kind, name = Calibrate, 'calibrate'

    def __init__(
        self,
        node: Node,
        context: RobotContext,
        parameters: ParameterSet[ContactParameters],
        put_in_force: Callable[[Mapping[str, Any]], Awaitable[ContactPipeline]],
        faults: FaultLog,
    ) -> None:
        """Offer the action and the service that undoes it.

        Args:
            node: the node.
            context: the robot and its state.
            parameters: those in force.
            put_in_force: other values by name, with a tare of zero; gives the estimators that
                follow them.
            faults: where unforeseen errors go.
        """
        super().__init__(node, context, faults)
        self._parameters = parameters
        self._put_in_force = put_in_force
        self._began_with: ContactParameters | None = None
        self._before: deque[dict[str, Any]] = deque(maxlen=MOST_UNDONE)
        node.create_service(Trigger, '~/undo_calibration', self._undo)

    def begin(self, request: Any) -> _MotionWatcher:
        """Look at the goal, the robot and the file before half a minute has gone by."""
        robot, values = self.context.required_robot(), self._parameters.values
        check_size(robot)
        _check_kind(robot)
        duration = request.duration or DURATION
        if not SHORTEST <= duration <= LONGEST:
            allowed = f'{SHORTEST:g} to {LONGEST:g} s'
            raise InvalidArgumentError('duration', f'{duration:g} s', allowed)
        if request.path:
            check_path(Path(request.path))
        self._began_with = values
        return _MotionWatcher(robot, _model(robot, values), duration)

    async def finish(self, estimate: Drives, request: Any, result: Any) -> None:
        """Put in force, write and tell what was found."""
        values = self._parameters.values
        began = self._began_with
        assert began is not None
        if (values.effort, values.friction) != (began.effort, began.friction):
            raise DynamicsRosError('effort.* or friction.* were changed during the watch')
        identified = estimate.identified
        found = by_name(parameter_values(identified, estimate.learned))
        found = {
            name: value
            for name, value in found.items()
            if name not in CHOSEN or not self._parameters.value(name)
        }
        before = self._in_force(found, _model(identified.robot, values))
        found = with_joints_as_before(found, before, identified.moved)
        undone = {name: self._parameters.value(name) for name in found}
        pipeline = await self._put_in_force(found)
        self._before.append(undone)
        _fill(result, estimate, pipeline)
        if request.path:
            self._write(Path(request.path), found, identified.robot.joint_names)

    def _in_force(self, found: Mapping[str, Any], model: EffortModel) -> dict[str, Any]:
        """(nv) of the parameters that say something of each joint, as far as it is known."""
        known: dict[str, Any] = {f'friction.{name}': getattr(model, name) for name in OF_URDF}
        robot = self.context.required_robot()
        for name, value in found.items():
            given = self._parameters.value(name)
            if isinstance(value, list) and given:
                known[name] = per_velocity(robot, given, name)
        return known

    def _write(self, path: Path, found: Mapping[str, Any], joints: tuple[str, ...]) -> None:
        names = [n for n in self._parameters.names if n in found or n.startswith(MEANING)]
        given = {name: self._parameters.value(name) for name in sorted(names)}
        # ROS takes no empty list from a file: it has no type.
        told = {n: list(x) if isinstance(x, tuple) else x for n, x in given.items() if x != ()}
        try:
            check_path(path)
            write_parameters(path, parameters_text(in_groups(told), joints, self._node.get_name()))
        except (DynamicsRosError, OSError) as error:
            raise DynamicsRosError(f'in force, but not written: {error}') from error

    async def _undo(self, _request: Any, response: Any) -> Any:
        if not self._before:
            raise DynamicsRosError('there is no calibration to undo')
        await self._put_in_force(self._before[-1])
        self._before.pop()
        response.success = True
        response.message = 'the parameters before the calibration are in force again; tare anew'
        return response


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


def _model(robot: Robot, values: ContactSettings) -> EffortModel:
    return effort_model(robot, values.effort, values.friction)


def _fill(result: Any, found: Drives, pipeline: ContactPipeline) -> None:
    robot, values, identified = pipeline.robot, pipeline.values, found.identified
    model = _model(robot, values)
    result.joint_names = list(robot.joint_names)
    result.moved = identified.moved.tolist()
    for name in ('offset', 'viscous', 'coulomb'):
        setattr(result, name, getattr(model, name).tolist())
        setattr(result, f'{name}_deviation', found.deviations(name).tolist())
    result.stribeck = model.stribeck.tolist()
    effort = values.effort
    result.effort_noise = per_velocity(robot, effort.noise, 'effort.noise').tolist()
    velocity = per_velocity(robot, effort.velocity_noise, 'effort.velocity_noise')
    result.velocity_noise = velocity.tolist()
    result.left_over_before = found.left_over_before.tolist()
    result.left_over = identified.train.rms.tolist()
    result.contact_thresholds = pipeline.detector.constants[0].tolist()
    result.findings = [*identified.findings, *found.learned.findings]
