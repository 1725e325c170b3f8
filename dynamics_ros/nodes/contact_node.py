# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node: external torques, contact wrenches and the contact state as topics; calibration."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoModelError
from dynamics_ros.estimation import (
    ContactLocation,
    ContactLocator,
    ContactPipeline,
    ContactState,
    ExternalTorques,
)
from dynamics_ros.estimation.contact.location import (
    LOCATION_RATE,
    ContactGeometry,
    SensorWrench,
)
from dynamics_ros.estimation.contact_estimators import adaptation_off
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.multibody.kernel_methods import check_size, is_large
from dynamics_ros.nodes.context import Component, RobotContext
from dynamics_ros.nodes.outputs import LATCHED, FrameOutputs, Output, Publication
from dynamics_ros.nodes.reporting import RateLimit
from dynamics_ros.nodes.services import WatchAction
from dynamics_ros.nodes.workers import SupersededError
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.reasons import Explanation, Reason, reason_of
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import Filling, Template, packed_stamp
from dynamics_ros.wire.contact_messages import KINDS, ContactMessages
from dynamics_ros.wire.conversions import topic_names
from dynamics_ros.wire.markers import ContactMarkers
from dynamics_ros_msgs.action import Calibrate
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage

if TYPE_CHECKING:
    from dynamics_ros.calibration.in_motion import MotionWatch
    from dynamics_ros.identification.uncertainty import Drives
    from dynamics_ros.nodes.contact_sensors import BaseInput, WristSensorInput


def tare(pipeline: ContactPipeline) -> str:
    """Take the external torques for zero; return a description of the offset.

    Raises:
        DynamicsRosError: the robot moves, or something touches it.
    """
    indices, calibrated = pipeline.robot.joint_v_indices, pipeline.detector.calibrated
    result = pipeline.tare.take(pipeline.detector.thresholds[0] if calibrated else None)
    if not result.success:
        joints = [name for name, i in indices.items() if i == result.joint]
        raise DynamicsRosError(': '.join([*joints, result.message]))
    offset = ', '.join(f'{name} {pipeline.tare.offset[i]:.3f}' for name, i in indices.items())
    return f'taken for zero over {result.duration:.2f} s: {offset}'


def reset(pipeline: ContactPipeline) -> str:
    """Restart the observer, and clear a latched collision."""
    pipeline.reset()
    return 'the observer starts anew; a collision is no longer latched; the tare stays'


def pipeline_details(pipeline: ContactPipeline) -> dict[str, str]:
    """Return counts of observer and filter, the tare, and findings on efforts and friction."""
    observer, check = pipeline.observer, pipeline.effort_check.report
    values = {f'refused: {what}': str(count) for what, count in pipeline.samples.refused.items()}
    values |= {f'observer: {event.value}': str(n) for event, n in observer.counts.items()}
    values |= {
        'observer: last start': observer.restart,
        'tare offset [Nm]': ' '.join(f'{value:.3f}' for value in pipeline.tare.offset),
        'efforts look': check.advice or check.verdict.value or 'as configured'
        if check
        else 'unknown: not yet at rest',
    }
    adaptation = pipeline.adaptation
    if adaptation is None:
        why = adaptation_off(pipeline.robot, pipeline.values)
        return values | {'friction adaptation': f'off: {why}'}
    values['friction adaptation'] = 'on'
    for name, i in pipeline.robot.joint_v_indices.items():
        values[f'friction adaptation: {name}'] = (
            f'{adaptation.change[i]:+.3f} Nm or N, bound {adaptation.bound[i]:.3f}'
        )
    return values


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
        component: Component[ContactParameters],
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
        from dynamics_ros.calibration.outputs import check_path

        robot, values = self.context.required_robot(), self._parameters.values
        duration = self.checked_duration(request.duration, DURATION, MIN_DURATION)
        watch = MotionWatch(robot, values, duration)
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
        previous = self._undo_stack.pop()
        try:
            await self._apply(previous)
        except DynamicsRosError:
            self._undo_stack.append(previous)
            raise
        response.success = True
        response.message = 'the parameters before the calibration are in force again; tare anew'
        return response


class ContactLocalization:
    """Locates the current contact, if its link has a collision geometry.

    Attributes:
        latest: latest location of the current contact, or None.
        status: status of the collision geometry, for diagnostics.
    """

    def __init__(self, component: Component[ContactParameters]) -> None:
        self._component, self._context = component, component.context
        self._worker = ThreadPoolExecutor(1, 'contact_place')
        # Used only in the worker's thread; the geometry is read once for each description.
        self._source: tuple[str, Path | None] | None = None
        self._geometry = ContactGeometry({}, (), 'no collision geometry has been read yet')
        self._rate = RateLimit()
        self._wanted: ContactPipeline | None = None
        self._locator: ContactLocator | None = None
        self._searching = False
        self._contact_count = 0
        self.latest: ContactLocation | None = None
        self.status = self._geometry.summary

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Switch to a robot; the thread reads the geometry once for each description."""
        context = self._context
        self._locator, self._wanted = None, pipeline
        self.reset()
        assert context.built is not None
        description, noise = context.built.description, pipeline.torque_deviations
        if not description.urdf:
            self.status = 'of MJCF and SDF no collision geometry is read: give URDF'
            return
        robot, source = pipeline.robot, (description.urdf, description.folder)

        def check() -> None:
            if self._wanted is not pipeline:
                raise SupersededError('the collision geometry')

        def make() -> ContactLocator:
            check()
            if self._source != source:
                self._geometry = ContactGeometry.read(robot, source[0], check, source[1])
                self._source = source
                if self._geometry.problem:
                    context.node.get_logger().warning(
                        'contacts are not found on shapes that cannot be read: '
                        + self._geometry.problem
                    )
            locator = self._geometry.locator(robot, noise)
            locator.compile(check)
            return locator

        def on_done(locator: ContactLocator | None) -> None:
            if locator is not None and context.robot is robot:
                self._locator, self.status = locator, self._geometry.summary

        self._submit(make, on_done)

    def update(
        self, state: RobotState, external: ExternalTorques, sensor: SensorWrench | None
    ) -> None:
        """Start locating the current contact, at ``LOCATION_RATE``.

        Args:
            state: the state.
            external: its external torques; NaN where only the sensor shows contacts.
            sensor: what a wrist sensor shows of the contact; None: nothing.
        """
        if external.report.state is ContactState.NONE:
            if self.latest is not None or self._searching:
                self.reset()
            return
        locator, contact = self._locator, self._contact_count
        if locator is None or self._searching:
            return
        if not self._rate.passes(time.monotonic(), LOCATION_RATE):
            return
        self._searching = True
        deviation = None if external.deviation is None else external.deviation.copy()
        unknown = state.stale_mask | np.isnan(external.values)
        torque = np.where(unknown, 0.0, external.values)
        given = state.q.copy(), torque, unknown, deviation, sensor

        def search() -> ContactLocation | None:
            return locator.locate(*given) if contact == self._contact_count else None

        def on_done(found: ContactLocation | None) -> None:
            if contact == self._contact_count:  # else the contact has ended meanwhile
                self._searching, self.latest = False, found or self.latest

        self._submit(search, on_done)

    def reset(self) -> None:
        """Forget the contact."""
        self._contact_count += 1
        self._searching = False
        self.latest = None

    def _submit(self, function: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        """Call a function in the thread, then ``on_done`` with its result; None after an error."""

        def report(done: Future[Any]) -> None:
            error = done.exception()
            if error is not None and not isinstance(error, SupersededError):
                if not isinstance(error, DynamicsRosError):
                    self._component.faults.report('contact_place', error)
                self.status = str(error)
            on_done(None if error is not None else done.result())

        self._context.threads.submit(self._worker, function).add_done_callback(report)


NAME = 'contact_node'

LIVE_PARAMETERS = frozenset({'publish_rate', 'markers.force_scale'})
"""Parameters that take effect without rebuilding the estimators."""

NOT_ALONE = Explanation(Reason.OK, '')

MARKERS_RATE = 20.0
"""Maximum rate of the markers [Hz]."""


class Contact(Component[ContactParameters]):
    """Component that estimates and publishes external torques, contact wrenches and contacts."""

    uses_masses = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context, ContactParameters)
        self.parameters.use_file('calibration_file', 'calibrate_robot or ~/calibrate')
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._pipeline: ContactPipeline | None = None
        self._location = ContactLocalization(self)
        self._messages: ContactMessages | None = None
        self._last: tuple[RobotState, ExternalTorques] | None = None
        self._alone = NOT_ALONE
        parts = 'external_torques', 'contact_state', 'foot_contacts'
        self._outputs = {('', part): Output(node, KINDS[part], f'~/{part}') for part in parts}
        self._events = Output(node, ContactStateMessage, '~/contact_events', LATCHED)
        self._event: Hashable = None
        self._markers = Output(node, MarkerArray, '~/markers')
        kinds = {part: KINDS[part] for part in ('wrench', 'estimate')}
        self._frame_outputs = FrameOutputs(node, kinds)
        for name, action in (('tare', tare), ('reset', reset)):
            node.create_service(Trigger, f'~/{name}', partial(self._trigger, action))
        CalibrateAction(self, self._apply_parameters)
        self._wrist: WristSensorInput | None = None
        self._base: BaseInput | None = None
        # Imported only when they are used, because that loads more of SciPy.
        sensors = partial(import_module, 'dynamics_ros.nodes.contact_sensors')
        if self.values.wrist_sensor.topic:
            self._wrist = sensors().WristSensorInput(self)
        if self.values.base.imu_topic:
            self._base = sensors().BaseInput(self)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, *_: object) -> ContactPipeline:
        """Build the estimators for a robot, and compile their kernels."""
        if not robot.nv:
            raise InvalidArgumentError('robot', 'nothing of it moves', 'a joint that feels')
        check_size(robot.model)
        pipeline = ContactPipeline(robot, self.values, robot.tool_frame)
        topic_names(pipeline.frames)
        pipeline.compile()
        if self.values.base.imu_topic:
            robot.forward_kinematics(robot.neutral(), list(self.values.feet.frames))
        return pipeline

    def adopt(self, prepared: ContactPipeline) -> None:
        """Switch to new estimators; they inherit the state that they share with the old ones."""
        if self._pipeline is not None:
            prepared.inherit(self._pipeline)
            if len(prepared.frames) < len(self._pipeline.frames):
                self._markers.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
        self._frame_outputs.set_frames(prepared.frames)
        self._pipeline = prepared
        self._messages = ContactMessages(prepared, self._frame_id_of)
        self._last = self._event = None
        self._location.adopt(prepared)
        self._restart_sensors()

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of markers and import those of calibrate."""
        if self._pipeline is None:
            return ()
        robot = self._pipeline.robot
        return [partial(robot.all_frames, robot.neutral()), CalibrateAction.load]

    def details(self) -> dict[str, str]:
        """Return counts of the observer, the tare, and findings on geometry and efforts."""
        if self._pipeline is None:
            return {}
        details = pipeline_details(self._pipeline)
        if self._wrist is not None:
            details |= self._wrist.details()
        if self._base is not None:
            details['base by IMU and feet'] = self._base.problem or 'published on odom'
        return details | {'collision geometry': self._location.status}

    def _check(self, values: ContactParameters) -> None:
        topic_names(values.frames)
        if values.base.imu_topic and not values.feet.frames:
            raise InvalidArgumentError('feet.frames', 'none', 'the feet, with base.imu_topic')
        built = self.context.built
        if built is not None and built.robot.nv and not is_large(built.robot.model):
            # Building the estimators checks the values; ``prepare`` compiles their kernels.
            ContactPipeline(built.robot, values, built.robot.tool_frame)

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        live = {name for name in names if name.startswith(('wrist_sensor.', 'base.'))}
        if live:
            self._restart_sensors()
        if names - LIVE_PARAMETERS - live:
            self.context.changes.rebuild(NAME)

    def _restart_sensors(self) -> None:
        if self._wrist is not None:
            self._wrist.restart()
        if self._base is not None:
            self._base.restart()

    async def _apply_parameters(self, values: Mapping[str, Any]) -> ContactPipeline:
        """Set parameters by name, rebuild the estimators, clear the tare; return the estimators."""
        self.parameters.store(values)
        await self.context.changes.change(NAME, always=True)
        if self._pipeline is None or self.problem:
            raise NoModelError(self.problem or 'there is no robot')
        self._pipeline.tare.clear()
        return self._pipeline

    # --- topics ---------------------------------------------------------------------------------

    def observe(self, state: RobotState) -> None:
        """Run the estimators on a state, even without subscribers: they integrate over time."""
        pipeline, messages = self._pipeline, self._messages
        if pipeline is None or messages is None:
            return
        self._last, was_alone = None, bool(self._alone)
        if self._wrist is not None:
            self._wrist.update(state)
        external = pipeline.update(state)
        self._alone = NOT_ALONE
        if self._wrist is not None and external is None:
            if reason_of(pipeline.unavailable_reason) is Reason.EFFORT_MISSING:
                external = self._wrist.judge(state, None, pipeline)
            if external is not None:
                why = 'contacts behind the wrist sensor alone: ', pipeline.unavailable_reason
                self._alone = Explanation(Reason.EFFORT_MISSING, *why)
        if bool(self._alone) != was_alone:
            self.context.begin_epoch()
        if not messages.has_wrenches:
            pipeline.wrenches_ready()  # else it warns that their kernel is being compiled
        self.unavailable_reason = pipeline.unavailable_reason
        self.warning, estimated_state = pipeline.warning, pipeline.estimated_state or state
        if self._alone:
            self.unavailable_reason, self.warning, estimated_state = '', self._alone, state
        if external is None:
            return
        sensor = None
        if self._wrist is not None:
            if not self._alone:
                external = self._wrist.judge(estimated_state, external, pipeline)
                assert external is not None
                self.warning = self.warning or self._wrist.warning
            sensor = self._wrist.shown
        self._location.update(estimated_state, external, sensor)
        self._last, location = (estimated_state, external), self._location.latest
        if messages.write(estimated_state, external, location):
            self.context.begin_epoch()
        report = external.report
        event = report.state, location.link if location else report.link, report.collision_latched
        if event != self._event and not self._events.missing:
            self._event = event
            filling = Filling([messages.by_output['', 'contact_state']])
            filling.fill()
            self._events.send(filling.templates[0], packed_stamp(estimated_state.time))

    def publications(self) -> list[Publication]:
        """Return the outputs: torques, contact state, feet, wrenches and markers."""
        messages, rate = self._messages, self.values.publish_rate
        if messages is None or self._pipeline is None:
            return []
        messages.renew()
        outputs = self._outputs | self._frame_outputs
        found = [
            Publication(outputs[key], message, rate=rate)
            for key, message in messages.by_output.items()
            if not self._alone or key[1] == 'contact_state'
        ]
        if not self._alone:
            robot, root = self._pipeline.robot, self.context.root_frame_id()
            markers = ContactMarkers(robot, root, self.values.markers.force_scale)
            draw = partial(self._contact_markers, markers)
            found.append(Publication(self._markers, draw, rate=MARKERS_RATE))
        return found

    def _frame_id_of(self, frame: str) -> str:
        robot, names = self.context.robot, self.context.names
        return names.root if robot and frame == robot.root_frame else names.frame_id_of(frame)

    def _contact_markers(self, markers: ContactMarkers) -> Template | None:
        assert self._pipeline is not None, 'its outputs are declared'
        assert self._last is not None, 'the component is not silent'
        pipeline, (state, external) = self._pipeline, self._last
        estimates = pipeline.wrenches(state, external.values)
        self.warning = pipeline.warning
        if not estimates:
            return None
        return markers.filled(state, external, estimates, self._location.latest)

    # --- collisions, for components of the same process that react to them ----------------------

    @property
    def collided(self) -> bool:
        """Whether a collision is latched."""
        return self._pipeline is not None and self._pipeline.detector.report.collision_latched

    @property
    def detection_problem(self) -> str:
        """Why collisions cannot be detected at present; '' if they can."""
        return self.problem or self.unavailable_reason or self._alone

    def acknowledge(self) -> None:
        """Reset a latched collision; observer and tare continue."""
        if self._pipeline is not None:
            self._pipeline.detector.reset()

    # --- services -------------------------------------------------------------------------------

    async def _trigger(
        self, action: Callable[[ContactPipeline], str], _request: Any, response: Any
    ) -> Any:
        await self.context.first_robot()
        if self._pipeline is None:
            raise NoModelError(self.problem)
        response.message = action(self._pipeline)
        response.success = True
        return response
