# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Action calibrate: identifies friction, offsets and noise from free motion, with undo."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from std_srvs.srv import Trigger

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.watch_action import MAX_DURATION, WatchAction
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros_msgs.action import Calibrate

if TYPE_CHECKING:
    from dynamics_ros.calibration.in_motion import MotionWatch
    from dynamics_ros.identification.uncertainty import Drives

DURATION = 30.0
"""Default duration of the motion [s]."""

MIN_DURATION = 5.0
"""Shortest duration that a goal may ask for [s]."""

MAX_UNDO = 16
"""Number of calibrations that can be undone."""


class CalibrateAction(WatchAction['Drives']):
    """Identifies the parameters ``effort.*`` and ``friction.*``; masses stay unchanged."""

    kind, name = Calibrate, 'calibrate'

    @staticmethod
    def load() -> None:
        """Import the modules of the first goal, which would slow down the start of the node."""
        import_module('dynamics_ros.calibration.in_motion')

    def __init__(
        self,
        component: RobotComponent[ContactParameters],
        apply: Callable[[Mapping[str, Any]], Awaitable[ContactPipeline]],
    ) -> None:
        """Create the action and the service ~/undo_calibration.

        Args:
            component: contact_node.
            apply: sets parameters by name, clears the tare and returns the new estimators.
        """
        super().__init__(component)
        self._parameters, self._apply = component.parameters, apply
        self._initial_values = component.values
        self._undo_stack: deque[dict[str, Any]] = deque(maxlen=MAX_UNDO)
        component.node.create_service(Trigger, '~/undo_calibration', self._undo)

    def begin(self, request: Any) -> MotionWatch:
        """Check goal, robot and file, and return the recorder of the motion."""
        from dynamics_ros.calibration.in_motion import MotionWatch
        from dynamics_ros.calibration.node_parameters import check_path

        robot, values = self.context.required_robot(), self._parameters.values
        duration = request.duration or DURATION
        watch = MotionWatch(robot, values, duration)
        if not MIN_DURATION <= duration <= MAX_DURATION:
            allowed = f'{MIN_DURATION:g} to {MAX_DURATION:g} s'
            raise InvalidArgumentError('duration', f'{duration:g} s', allowed)
        if request.path:
            check_path(Path(request.path))
        self._initial_values = values
        return watch

    def feedback(self, watcher: MotionWatch, elapsed: float) -> Any:
        """Return the number of samples so far, and what is missing."""
        recorder = watcher.recorder
        return Calibrate.Feedback(
            elapsed=recorder.duration, samples=recorder.count, missing=recorder.missing
        )

    async def finish(self, estimate: Drives, request: Any, result: Any) -> None:
        """Write the file of the goal, apply the identified parameters and fill the result."""
        from dynamics_ros.calibration.in_motion import found_parameters, result_fields, write

        parameters, initial = self._parameters, self._initial_values
        values = parameters.values
        if (values.effort, values.friction) != (initial.effort, initial.friction):
            raise DynamicsRosError('effort.* or friction.* were changed during the watch')
        found = found_parameters(estimate, values, parameters.value)
        previous = {name: parameters.value(name) for name in found}
        if request.path:
            # First, because a goal whose file cannot be written changes nothing.
            path, robot = Path(request.path), estimate.identified.robot
            node_name = self.component.node.get_name()
            write(path, found, parameters.names, parameters.value, node_name, robot)
        pipeline = await self._apply(found)
        self._undo_stack.append(previous)
        for name, value in result_fields(estimate, pipeline).items():
            setattr(result, name, value)

    async def _undo(self, _request: Any, response: Any) -> Any:
        if not self._undo_stack:
            raise DynamicsRosError('there is no calibration to undo')
        await self._apply(self._undo_stack[-1])
        self._undo_stack.pop()
        response.success = True
        response.message = 'the parameters before the calibration are in force again; tare anew'
        return response
