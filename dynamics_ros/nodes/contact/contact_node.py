# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node: external torques, contact wrenches and the contact state as topics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline, ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Step
from dynamics_ros.multibody.large_robots import check_size, is_large
from dynamics_ros.nodes.output.outputs import FrameOutputs, Output, cap
from dynamics_ros.nodes.output.plan import NOTHING, Filled, Group
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.results import NoModelError
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.parameters.contact import ContactParameters, ContactRates
from dynamics_ros.robot import Robot
from dynamics_ros.wire.contact_markers import Sizes, arrows_removed, filled_markers
from dynamics_ros.wire.contact_messages import (
    Sourced,
    filled_feet,
    sourced_efforts,
    sourced_estimate,
    sourced_state,
    sourced_wrench,
)
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.message_template import MessageTemplate
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench, FootContacts

from .calibrate_action import CalibrateAction
from .place import ContactPlace

NAME = 'contact_node'

LIVE = frozenset(
    {'publish_rate', *(f'publish_rates.{n}' for n in ContactRates.__dataclass_fields__)}
    | {f'markers.{n}' for n in ('rate', 'force_scale', 'torque_scale', 'diameter')}
    | {f'location.{n}' for n in ('rate', 'max_deviation')}
)
"""Parameters that the estimators know nothing of; all others need them to be built anew."""

SLOW_RATE = 1.0
"""Hz of what changes within a minute."""


class Said(NamedTuple):
    """What the last state has said, always in the same arrays, from which messages are filled.

    Attributes:
        q: (nq) where the robot was.
        torques: (nv) external torques.
        thresholds: (2, nv) of contact and collision.
        offset: (nv) of the tare.
    """

    q: Array
    torques: Array
    thresholds: Array
    offset: Array

    @classmethod
    def of(cls, nq: int, nv: int) -> Said:
        """Nothing yet."""
        return cls(np.zeros(nq), np.zeros(nv), np.zeros((2, nv)), np.zeros(nv))


class Contact(Component):
    """Publishes what the robot feels."""

    uses_masses = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node)
        self.context = context
        self.parameters = ParameterSet(node, ContactParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._pipeline: ContactPipeline | None = None
        self._place = ContactPlace(context, lambda: self.parameters.values.location, self.faults)
        self._said, self._offset = Said.of(0, 0), np.zeros(0)
        self._last: tuple[ContactPipeline, RobotState, ExternalTorques, Said] | None = None
        self._estimation: Step | None = None
        self._wrench_outputs: list[tuple[Output, Output]] = []
        self._torques = Output(node, JointState, '~/external_torques')
        self._state = Output(node, ContactStateMessage, '~/contact_state')
        self._feet = Output(node, FootContacts, '~/foot_contacts')
        self._friction = Output(node, JointState, '~/friction_changes')
        self._markers = Output(node, MarkerArray, '~/markers')
        self._frame_outputs = FrameOutputs(
            node, {'wrench': WrenchStamped, 'estimate': ExternalWrench}
        )
        for name, action in (
            ('tare', self._tare),
            ('undo_tare', self._undo_tare),
            ('reset', self._reset),
            ('undo_adaptation', self._undo_adaptation),
        ):
            node.create_service(Trigger, f'~/{name}', partial(self._trigger, action))
        self._calibration = CalibrateAction(
            node, context, self.parameters, self._put_in_force, self.faults
        )

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> ContactPipeline:
        """Build the estimators for a robot."""
        if not robot.nv:
            raise InvalidArgumentError('robot', 'nothing of it moves', 'a joint that feels')
        check_size(robot)
        pipeline = ContactPipeline(robot, self.parameters.values, default_frame)
        topic_names(pipeline.frames)
        pipeline.compile()
        return pipeline

    def adopt(self, prepared: ContactPipeline) -> None:
        """Take new estimators into use; what they have in common with the old ones goes on."""
        if self._pipeline is not None:
            prepared.inherit(self._pipeline)
        self._frame_outputs.set_frames(prepared.frames)
        self._wrench_outputs = [
            (self._frame_outputs[frame, 'wrench'], self._frame_outputs[frame, 'estimate'])
            for frame in prepared.frames
        ]
        if self._pipeline is not None:
            self._erase(len(prepared.frames), len(self._pipeline.frames))
        self._pipeline = prepared
        robot = prepared.robot
        self._said, self._offset = Said.of(robot.nq, robot.nv), np.zeros(0)
        self._estimation = self._last = None
        self._place.adopt(prepared)

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Compile what markers need; load what calibration does."""
        if self._pipeline is None:
            return ()
        robot = self._pipeline.robot
        return [partial(robot.all_frames, robot.neutral()), CalibrateAction.load]

    def outputs(self) -> list[Output]:
        """External torques, contact state, feet, friction, wrenches, estimates, markers."""
        single = self._torques, self._state, self._feet, self._friction
        return [*single, *self._frame_outputs.all(), self._markers]

    def details(self) -> dict[str, str]:
        """What the observer has seen, and the tare."""
        if self._pipeline is None:
            return {}
        counts = self._pipeline.observer.counts
        offset = self._pipeline.tare.offset
        check = self._pipeline.effort_check.report
        refused = self._pipeline.samples.refused
        return (
            {f'refused: {what}': str(count) for what, count in refused.items()}
            | {f'observer: {event.value}': str(count) for event, count in counts.items()}
            | {
                'observer: last start': self._pipeline.observer.restart,
                'tare offset [Nm]': ' '.join(f'{value:.3f}' for value in offset),
                'collision geometry': self._place.told,
                'efforts look': check.verdict.value if check else 'unknown: not yet at rest',
            }
            | _adaptation_details(self._pipeline)
        )

    def _check(self, values: ContactParameters) -> None:
        topic_names(values.frames)
        built = self.context.built
        if built is not None and built.robot.nv and not is_large(built.robot):
            # Building the estimators is the check; their kernels are made when they are adopted.
            ContactPipeline(built.robot, values, built.default_frame)

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        if names - LIVE:
            self.context.changes.rebuild(NAME)

    async def _put_in_force(self, values: Mapping[str, Any]) -> ContactPipeline:
        """Have other parameters in force, and what they say of efforts without a tare.

        Raises:
            DynamicsRosError: they cannot be in force.
        """
        self.parameters.store(values)
        await self.context.changes.change(NAME, always=True)
        if self._pipeline is None or self.problem:
            raise NoModelError(self.problem or 'there is no robot')
        self._pipeline.tare.clear()
        return self._pipeline

    # --- topics ---------------------------------------------------------------------------------

    def observe(self, state: RobotState) -> None:
        """Run the estimators, whoever listens: they live on having seen every state."""
        self._calibration.update(state)
        pipeline = self._pipeline
        if pipeline is None:
            return
        external = pipeline.update(state)
        self.silence, self.caution = pipeline.silence, pipeline.caution
        if external is None:
            self._last = None
            return
        judged = pipeline.judged or state
        self._last = pipeline, judged, external, self._said
        self._place.update(judged, external)

    def groups(self) -> list[Group]:
        """External torques, contact state, feet, wrenches, estimates and markers."""
        pipeline = self._pipeline
        if pipeline is None:
            return []
        values = self.parameters.values
        rates, markers = values.publish_rates, values.markers.rate
        root = self.context.root_frame_id()
        state = partial(self._sourced_state, root)
        groups = [
            self._group(self._torques, rates.external_torques, self._sourced_torques),
            self._group(self._state, rates.contact_state, state, contents=self._touched),
        ]
        if pipeline.feet is not None:
            filled, rate = partial(self._filled_feet, root), self._rate(rates.foot_contacts)
            groups.append(Group(self._feet, rate, NOTHING, 'feet', fill=filled))
        if pipeline.adaptation is not None:
            changes = self._filled_friction
            groups.append(Group(self._friction, SLOW_RATE, NOTHING, 'friction', fill=changes))
        for i, (wrench, detailed) in enumerate(self._wrench_outputs):
            axes = pipeline.estimator.axes[i]
            in_root = axes == pipeline.robot.root_frame
            frame_id = root if in_root else self.context.names.outside(axes)
            for output, rate, make in (
                (wrench, rates.wrench, partial(self._sourced_wrench, i, wrench, frame_id)),
                (detailed, rates.estimate, partial(self._sourced_estimate, i, detailed, frame_id)),
            ):
                more = {'before': (self._say, self._reckon), 'contents': self._seen}
                groups.append(self._group(output, rate, partial(self._estimated, make), **more))
        show = Group(self._markers, markers, NOTHING, 'markers', fill=self._drawn)
        return [*groups, show]

    def _group(
        self, output: Output, rate: float, kernels: Callable[[], Filled | None], **more: Any
    ) -> Group:
        given = {'before': (self._say,)} | more
        return Group(output, self._rate(rate), NOTHING, 'contacts', kernels, **given)

    def _rate(self, rate: float) -> float:
        return cap(rate, self.parameters.values.publish_rate)

    def _told(self) -> tuple[ContactPipeline, RobotState, ExternalTorques, Said]:
        """What the last state has said."""
        assert self._last is not None, 'else it is silent'
        return self._last

    def _say(self) -> None:
        """Write what messages are filled from."""
        pipeline, state, external, said = self._told()
        said.q[:] = state.q
        said.torques[:] = external.values
        if pipeline.tare.offset is not self._offset:
            said.offset[:] = self._offset = pipeline.tare.offset
        pipeline.detector.write_thresholds(said.thresholds)

    def _reckon(self) -> None:
        """Have wrenches reckon with what is known of the state."""
        pipeline, state, _, _ = self._told()
        pipeline.prepare_wrenches(state)

    def _touched(self) -> Hashable:
        """What a contact state tells beside numbers that are new for each state."""
        _, _, external, _ = self._told()
        place = self._place.latest
        return external.report, place, place is not None and self._place.known(place)

    def _seen(self) -> Hashable:
        """What wrenches tell beside numbers; dearest of all to compute: only when wanted."""
        pipeline, state, _, _ = self._told()
        seen = pipeline.estimator.seen if self._estimation is not None else None
        return seen, state.stale, pipeline.distrusted

    def _sourced_torques(self) -> Filled:
        pipeline, _, _, said = self._told()
        return Filled(*sourced_efforts(self._torques.template, pipeline, said.torques))

    def _filled_friction(self) -> MessageTemplate | None:
        pipeline, _, _, _ = self._told()
        if pipeline.adaptation is None:
            return None
        changes = pipeline.adaptation.change
        return sourced_efforts(self._friction.template, pipeline, changes).filled()

    def _sourced_state(self, root: str) -> Filled:
        pipeline, _, external, said = self._told()
        place = self._place.latest
        sourced = sourced_state(
            self._state.template,
            pipeline,
            external.report,
            said.torques,
            said.thresholds,
            place,
            place is not None and self._place.known(place),
            root,
            self.context.names.outside(place.point_frame) if place else '',
        )
        return Filled(*sourced)

    def _filled_feet(self, root: str) -> MessageTemplate | None:
        pipeline, state, external, _ = self._told()
        contacts = pipeline.foot_contacts(state, external.values)
        self.caution = pipeline.caution
        if contacts is None:
            return None
        return filled_feet(self._feet.template, contacts, state, root)

    def _estimated(self, make: Callable[[], Sourced]) -> Filled | None:
        """A message of wrenches, behind the one kernel that computes all of them."""
        pipeline, _, _, said = self._told()
        if self._estimation is None:
            if not pipeline.wrenches_ready():
                self.caution = pipeline.caution
                return None
            self._estimation = pipeline.estimator.step(said.q, said.torques)
            self._reckon()
        template, copies = make()
        return Filled(template, (self._estimation, *copies))

    def _sourced_wrench(self, i: int, output: Output, frame_id: str) -> Sourced:
        pipeline, _, _, _ = self._told()
        return sourced_wrench(output.template, pipeline.estimator.latest[i], frame_id)

    def _sourced_estimate(self, i: int, output: Output, frame_id: str) -> Sourced:
        pipeline, state, _, said = self._told()
        estimate = pipeline.estimator.latest[i]
        return sourced_estimate(
            output.template, pipeline, state.stale, said.offset, estimate, frame_id
        )

    def _drawn(self) -> MessageTemplate | None:
        pipeline, state, external, _ = self._told()
        estimates = pipeline.wrenches(state, external.values)
        self.caution = pipeline.caution
        if not estimates:
            return None
        sizes = self.parameters.values.markers
        return filled_markers(
            self._markers.template,
            pipeline.robot,
            state,
            external,
            estimates,
            self._place.touched,
            self.context.root_frame_id(),
            Sizes(sizes.force_scale, sizes.torque_scale, sizes.diameter),
        )

    def _erase(self, frames: int, before: int) -> None:
        """Take away the arrows of frames of which there were more before."""
        gone = arrows_removed(self.context.root_frame_id(), self.context.now(), frames, before)
        if gone is not None:
            self._markers.publish(gone)

    # --- collisions, for who reacts to them in the same process -----------------------------------

    @property
    def collided(self) -> bool:
        """Whether a collision is latched."""
        return self._pipeline is not None and self._pipeline.detector.report.collision_latched

    @property
    def external_torques(self) -> Array | None:
        """(nv) of the last state; None where nothing is known."""
        return None if self._last is None else self._last[2].values

    @property
    def blindness(self) -> str:
        """Why nothing would be detected now; '' otherwise."""
        return self.problem or self.silence

    def acknowledge(self) -> None:
        """Unlatch a collision; all else goes on."""
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

    def _tare(self, pipeline: ContactPipeline) -> str:
        calibrated = pipeline.unexplained is not None
        result = pipeline.tare.take(pipeline.detector.contact_thresholds if calibrated else None)
        if not result.success:
            of = [name for name, i in pipeline.robot.joint_v_indices.items() if i == result.joint]
            raise DynamicsRosError(': '.join([*of, result.message]))
        offset = ', '.join(
            f'{name} {pipeline.tare.offset[i]:.3f}'
            for name, i in pipeline.robot.joint_v_indices.items()
        )
        return f'taken for zero over {result.duration:.2f} s: {offset}'

    def _undo_tare(self, pipeline: ContactPipeline) -> str:
        if not pipeline.tare.undo():
            raise DynamicsRosError('there is no tare to undo')
        return 'the offset before is in force again'

    def _reset(self, pipeline: ContactPipeline) -> str:
        pipeline.reset()
        return 'the observer starts anew; a collision is no longer latched; the tare stays'

    def _undo_adaptation(self, pipeline: ContactPipeline) -> str:
        if pipeline.adaptation is None:
            raise DynamicsRosError('adaptation.enabled is false: friction is as the parameters say')
        pipeline.adaptation.undo()
        return 'friction is as the parameters say; adaptation begins anew'


def _adaptation_details(pipeline: ContactPipeline) -> dict[str, str]:
    adaptation = pipeline.adaptation
    if adaptation is None:
        return {'friction adaptation': 'off: adaptation.enabled is false'}
    told = {
        f'friction adaptation: {name}': (
            f'{adaptation.change[i]:+.3f} +- {adaptation.deviation[i]:.3f} of at most '
            f'{adaptation.bound[i]:.3f} Nm or N, {adaptation.reasons[i]}'
        )
        for name, i in pipeline.robot.joint_v_indices.items()
    }
    return {'friction adaptation': 'on'} | told
