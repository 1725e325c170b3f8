# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node: external torques, contact wrenches and the contact state as topics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import InvalidArgumentError, NoModelError
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Step
from dynamics_ros.multibody.large_robots import check_size, is_large
from dynamics_ros.nodes.output.outputs import FrameOutputs, Output
from dynamics_ros.nodes.output.plan import NOTHING, Group, KernelMessage
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.parameters.contact import ContactParameters, ContactRates
from dynamics_ros.requests import contact_requests
from dynamics_ros.robot import Robot
from dynamics_ros.wire.contact_markers import Sizes, deleted_arrows, filled_markers
from dynamics_ros.wire.contact_messages import (
    CopiedMessage,
    Estimated,
    StateArrays,
    contact_state_message,
    efforts_message,
    external_wrench_message,
    foot_contacts_message,
    wrench_stamped_message,
)
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.message_template import MessageTemplate
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench, FootContacts

from .calibrate_action import CalibrateAction
from .localization import ContactLocalization

NAME = 'contact_node'

LIVE_PARAMETERS = frozenset(
    {'publish_rate', *(f'publish_rates.{n}' for n in ContactRates.__dataclass_fields__)}
    | {f'markers.{n}' for n in ('rate', 'force_scale', 'torque_scale', 'diameter')}
    | {f'location.{n}' for n in ('rate', 'max_deviation')}
)
"""Parameters that take effect without rebuilding the estimators."""

SLOW_RATE = 1.0
"""Rate of friction changes [Hz], which develop over minutes."""


class Contact(RobotComponent[ContactParameters]):
    """Component that estimates and publishes external torques, contact wrenches and contacts."""

    uses_masses = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context, ContactParameters)
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._pipeline: ContactPipeline | None = None
        self._location = ContactLocalization(self)
        self._arrays, self._offset = StateArrays.zeros(0, 0), np.zeros(0)
        self._last: Estimated | None = None
        self._estimation: Step | None = None
        self._feet_step: Step | None = None
        self._torques = Output(node, JointState, '~/external_torques')
        self._state = Output(node, ContactStateMessage, '~/contact_state')
        self._feet = Output(node, FootContacts, '~/foot_contacts')
        self._friction = Output(node, JointState, '~/friction_changes')
        self._markers = Output(node, MarkerArray, '~/markers')
        self._frame_outputs = FrameOutputs(
            node, {'wrench': WrenchStamped, 'estimate': ExternalWrench}
        )
        for name, action in contact_requests.REQUESTS.items():
            node.create_service(Trigger, f'~/{name}', partial(self._trigger, action))
        self._calibration = CalibrateAction(self, self._put_in_force)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> ContactPipeline:
        """Build the estimators for a robot, and compile their kernels."""
        if not robot.nv:
            raise InvalidArgumentError('robot', 'nothing of it moves', 'a joint that feels')
        check_size(robot)
        pipeline = ContactPipeline(robot, self.values, default_frame)
        topic_names(pipeline.frames)
        pipeline.compile()
        return pipeline

    def adopt(self, prepared: ContactPipeline) -> None:
        """Switch to new estimators; they inherit the state that they share with the old ones."""
        if self._pipeline is not None:
            prepared.inherit(self._pipeline)
            counts = len(prepared.frames), len(self._pipeline.frames)
            root, now = self.context.root_frame_id(), self.context.now()
            if (deleted := deleted_arrows(root, now, *counts)) is not None:
                self._markers.publish(deleted)
        self._frame_outputs.set_frames(prepared.frames)
        self._pipeline, robot = prepared, prepared.robot
        self._arrays, self._offset = StateArrays.zeros(robot.nq, robot.nv), np.zeros(0)
        self._estimation = self._feet_step = self._last = None
        self._location.adopt(prepared)

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of markers and import those of calibrate."""
        if self._pipeline is None:
            return ()
        robot = self._pipeline.robot
        return [partial(robot.all_frames, robot.neutral()), CalibrateAction.load]

    def outputs(self) -> list[Output]:
        """Return the publishers of torques, contact state, feet, friction, frames and markers."""
        single = self._torques, self._state, self._feet, self._friction
        return [*single, *self._frame_outputs.all(), self._markers]

    def details(self) -> dict[str, str]:
        """Return counts of the observer, the tare, and findings on geometry and efforts."""
        if self._pipeline is None:
            return {}
        details = contact_requests.details(self._pipeline)
        return details | {'collision geometry': self._location.status}

    def _check(self, values: ContactParameters) -> None:
        topic_names(values.frames)
        built = self.context.built
        if built is not None and built.robot.nv and not is_large(built.robot):
            # Building the estimators checks the values; ``prepare`` compiles their kernels.
            ContactPipeline(built.robot, values, built.default_frame)

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        if names - LIVE_PARAMETERS:
            self.context.changes.rebuild(NAME)

    async def _put_in_force(self, values: Mapping[str, Any]) -> ContactPipeline:
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
        self._calibration.update(state)
        pipeline = self._pipeline
        if pipeline is None:
            return
        # If an error follows, a reaction must not go on with the torques of an earlier state.
        self._last = None
        external = pipeline.update(state)
        contradiction = self.context.inputs.doubts.contradiction
        self.silence, self.caution = pipeline.silence or contradiction, pipeline.caution
        if external is None or contradiction:
            return
        judged = pipeline.judged or state
        self._last = Estimated(pipeline, judged, external, self._arrays)
        self._location.update(judged, external)

    def groups(self) -> list[Group]:
        """Return the outputs: torques, contact state, feet, friction, wrenches and markers."""
        pipeline = self._pipeline
        if pipeline is None:
            return []
        root = self.context.root_frame_id()
        state = partial(self._contact_state_message, root)
        groups = [
            self._group(self._torques, 'external_torques', self._torques_message),
            self._group(self._state, 'contact_state', state, variant=self._contact_variant),
        ]
        if pipeline.feet is not None:
            rate, build = self.rate_of('foot_contacts'), partial(self._feet_message, root)
            before = self._write_arrays, self._prepare_feet
            feet = Group(self._feet, rate, NOTHING, 'feet', build, None, before, self._feet_variant)
            groups.append(feet)
        if pipeline.adaptation is not None:
            changes = self._friction_message
            groups.append(Group(self._friction, SLOW_RATE, NOTHING, 'friction', fill=changes))
        for i, frame in enumerate(pipeline.frames):
            axes = pipeline.estimator.axes[i]
            in_root = axes == pipeline.robot.root_frame
            frame_id = root if in_root else self.context.names.frame_id_of(axes)
            for name, make in (
                ('wrench', self._wrench_message),
                ('estimate', self._estimate_message),
            ):
                output = self._frame_outputs[frame, name]
                build = partial(self._wrench_output, partial(make, i, output, frame_id))
                group = self._group(output, name, build, self._wrench_variant)
                inputs = *group.before, self._update_wrench_estimator
                groups.append(group._replace(before=inputs))
        rate = self.values.markers.rate
        arrows = Group(self._markers, rate, NOTHING, 'markers', fill=self._filled_markers)
        return [*groups, arrows]

    def _group(
        self,
        output: Output,
        name: str,
        build: Callable[[], KernelMessage | None],
        variant: Callable[[], Hashable] | None = None,
    ) -> Group:
        before = (self._write_arrays,)
        return Group(output, self.rate_of(name), NOTHING, 'contacts', build, None, before, variant)

    def _latest_estimates(self) -> Estimated:
        """Return the estimators, state, external torques and arrays of the latest state."""
        assert self._last is not None, 'outputs are computed only while the component is not silent'
        return self._last

    def _write_arrays(self) -> None:
        """Write the latest state to the arrays from which messages are filled."""
        pipeline, state, external, arrays = self._latest_estimates()
        arrays.q[:] = state.q
        arrays.torques[:] = external.values
        if pipeline.tare.offset is not self._offset:
            arrays.offset[:] = self._offset = pipeline.tare.offset
        pipeline.detector.write_thresholds(arrays.thresholds)

    def _update_wrench_estimator(self) -> None:
        """Update the wrench estimator with the stale joints and added noise of the state."""
        pipeline, state, _, _ = self._latest_estimates()
        pipeline.prepare_wrenches(state)

    def _contact_variant(self) -> Hashable:
        """Return the content of a contact state that requires a new message when it changes."""
        _, _, external, _ = self._latest_estimates()
        location = self._location.latest
        reliable = location is not None and self._location.is_reliable(location)
        return external.report, location, reliable

    def _wrench_variant(self) -> Hashable:
        """Return flags of the wrenches that require new messages when they change."""
        pipeline, state, _, _ = self._latest_estimates()
        flags = pipeline.estimator.seen if self._estimation is not None else None
        return flags, state.stale, pipeline.distrusted

    def _torques_message(self) -> KernelMessage:
        pipeline, _, _, arrays = self._latest_estimates()
        return KernelMessage(*efforts_message(self._torques.template, pipeline, arrays.torques))

    def _friction_message(self) -> MessageTemplate | None:
        pipeline, _, _, _ = self._latest_estimates()
        if pipeline.adaptation is None:
            return None
        changes = pipeline.adaptation.change
        return efforts_message(self._friction.template, pipeline, changes).filled()

    def _contact_state_message(self, root: str) -> KernelMessage:
        pipeline, _, external, arrays = self._latest_estimates()
        location = self._location.latest
        message = contact_state_message(
            self._state.template,
            pipeline,
            external.report,
            *(arrays.torques, arrays.thresholds),
            *(location, location is not None and self._location.is_reliable(location)),
            root,
            self.context.names.frame_id_of(location.point_frame) if location else '',
        )
        return KernelMessage(*message)

    def _wrench_output(self, make: Callable[[], CopiedMessage]) -> KernelMessage | None:
        """Return a message of a wrench with the kernel that computes the wrenches of all frames."""
        pipeline, _, _, arrays = self._latest_estimates()
        if self._estimation is None:
            if not pipeline.wrenches_ready():
                self.caution = pipeline.caution
                return None
            self._estimation = pipeline.estimator.step(arrays.q, arrays.torques)
            self._update_wrench_estimator()
        template, copies = make()
        return KernelMessage(template, (self._estimation, *copies))

    def _wrench_message(self, i: int, output: Output, frame_id: str) -> CopiedMessage:
        pipeline, _, _, _ = self._latest_estimates()
        return wrench_stamped_message(output.template, pipeline.estimator.latest[i], frame_id)

    def _estimate_message(self, i: int, output: Output, frame_id: str) -> CopiedMessage:
        pipeline, state, _, arrays = self._latest_estimates()
        offset, estimate = arrays.offset, pipeline.estimator.latest[i]
        template = output.template
        return external_wrench_message(template, pipeline, state.stale, offset, estimate, frame_id)

    def _prepare_feet(self) -> None:
        """Write the inputs that only feet have."""
        pipeline, state, _, arrays = self._latest_estimates()
        arrays.v[:] = state.v
        arrays.tau[:] = pipeline.observer.torque_on_bodies(state.q, state.v, state.effort)
        if self._feet_step is not None and pipeline.feet is not None:
            pipeline.feet.prepare_step(state.stale_mask)

    def _feet_variant(self) -> Hashable:
        """Return flags of the feet that require a new message when they change."""
        pipeline, state, _, _ = self._latest_estimates()
        feet = pipeline.feet
        flags = None if self._feet_step is None or feet is None else feet.flags
        return flags, state.stale

    def _feet_message(self, root: str) -> KernelMessage | None:
        """Return the message of feet with its kernel; None while the kernel is being compiled."""
        pipeline, state, _, arrays = self._latest_estimates()
        feet = pipeline.feet
        if feet is None or not feet.ready:
            return None
        if self._feet_step is None:
            self._feet_step = feet.step(arrays.q, arrays.v, arrays.torques, arrays.tau)
            self._prepare_feet()
        template, copies = foot_contacts_message(
            self._feet.template, feet.latest, state.stale, root
        )
        return KernelMessage(template, (self._feet_step, *copies))

    def _filled_markers(self) -> MessageTemplate | None:
        pipeline, state, external, _ = self._latest_estimates()
        estimates = pipeline.wrenches(state, external.values)
        self.caution = pipeline.caution
        if not estimates:
            return None
        sizes = self.values.markers
        return filled_markers(
            self._markers.template,
            pipeline.robot,
            state,
            external,
            estimates,
            self._location.located,
            self.context.root_frame_id(),
            Sizes(sizes.force_scale, sizes.torque_scale, sizes.diameter),
        )

    # --- collisions, for components of the same process that react to them ----------------------

    @property
    def collided(self) -> bool:
        """Whether a collision is latched."""
        return self._pipeline is not None and self._pipeline.detector.report.collision_latched

    @property
    def external_torques(self) -> Array | None:
        """External torques of the latest state (nv) [Nm or N]; None if they are not known."""
        return None if self._last is None else self._last[2].values

    @property
    def detection_problem(self) -> str:
        """Why collisions cannot be detected at present; '' if they can."""
        return self.problem or self.silence

    def acknowledge(self) -> None:
        """Reset a latched collision; observer and tare continue."""
        if self._pipeline is not None:
            self._pipeline.detector.reset()

    # --- services -------------------------------------------------------------------------------

    def _trigger(
        self, action: Callable[[ContactPipeline], str], _request: Any, response: Any
    ) -> Any:
        if self._pipeline is None:
            raise NoModelError(self.problem or 'no robot_description has been accepted yet')
        response.message = action(self._pipeline)
        response.success = True
        return response
