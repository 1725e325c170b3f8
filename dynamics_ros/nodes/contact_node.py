"""contact_node: external torques, contact wrenches and the contact state as topics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench

from ..errors import DynamicsRosError, InvalidArgumentError
from ..estimation import ContactState, WrenchEstimate
from ..robot import Robot
from . import markers
from .contact_pipeline import ContactPipeline, ExternalTorques
from .conversions import (
    float_sequence,
    header,
    joint_state,
    point_message,
    wrench_message,
    wrench_stamped,
)
from .declaration import ParameterSet
from .outputs import FrameOutputs, Output, RateLimit, topic_names
from .parameters import ContactParameters
from .part import Part
from .results import NoModelError
from .robot_context import RobotContext
from .standalone import run_alone
from .state import RobotState

NAME = 'contact_node'

COLORS = {
    ContactState.NONE: markers.GREY,
    ContactState.CONTACT: markers.YELLOW,
    ContactState.COLLISION: markers.RED,
}

LIVE = frozenset(
    {'publish_rate'} | {f'markers.{n}' for n in ('rate', 'force_scale', 'torque_scale', 'diameter')}
)
"""Parameters that are read for every state; all others need the estimators to be built anew."""


class Contact(Part):
    """Publishes what the robot feels."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, ContactParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._pipeline: ContactPipeline | None = None
        self._rate = RateLimit()
        self._marker_rate = RateLimit()
        self._torques = Output(node, JointState, '~/external_torques')
        self._state = Output(node, ContactStateMessage, '~/contact_state')
        self._markers = Output(node, MarkerArray, '~/markers')
        self._frame_outputs = FrameOutputs(
            node, {'wrench': WrenchStamped, 'estimate': ExternalWrench}
        )
        for name, action in (
            ('tare', self._tare),
            ('undo_tare', self._undo_tare),
            ('reset', self._reset),
        ):
            node.create_service(Trigger, f'~/{name}', self._trigger(name, action))

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> ContactPipeline:
        """Build the estimators for a robot."""
        if not robot.nv:
            raise InvalidArgumentError('robot', 'nothing of it moves', 'a joint that feels')
        pipeline = ContactPipeline(robot, self.parameters.values, default_frame)
        topic_names(pipeline.frames)
        pipeline.compile()
        return pipeline

    def adopt(self, prepared: ContactPipeline) -> None:
        """Take new estimators into use; what they have in common with the old ones goes on."""
        if self._pipeline is not None:
            prepared.inherit(self._pipeline)
        self._frame_outputs.set_frames(prepared.frames)
        self._pipeline = prepared

    def outputs(self) -> list[Output]:
        """External torques, contact state, wrenches, estimates, markers."""
        return [self._torques, self._state, *self._frame_outputs.all(), self._markers]

    def details(self) -> dict[str, str]:
        """What the observer has seen, and the tare."""
        if self._pipeline is None:
            return {}
        counts = self._pipeline.observer.counts
        offset = self._pipeline.tare.offset
        return {f'observer: {event.value}': str(count) for event, count in counts.items()} | {
            'tare offset [Nm]': ' '.join(f'{value:.3f}' for value in offset)
        }

    def _check(self, values: ContactParameters) -> None:
        topic_names(values.frames)
        built = self.context.built
        if built is not None and built.robot.nv:
            # Building the estimators is the check; their kernels are made when they are adopted.
            ContactPipeline(built.robot, values, built.default_frame)

    def _changed(self, names: frozenset[str]) -> None:
        if names - LIVE:
            self.context.rebuild(NAME)

    # --- topics ---------------------------------------------------------------------------------

    def update(self, state: RobotState) -> None:
        """Run the estimators, whoever listens: they live on having seen every state."""
        pipeline = self._pipeline
        if pipeline is None:
            return
        self.silence = _unusable(state)
        if self.silence:
            return
        external = pipeline.update(state)
        if external is None:
            self.silence = f'the observer has not settled since: {pipeline.observer.event.value}'
            return
        now = time.monotonic()
        estimates: tuple[WrenchEstimate, ...] = ()
        show = self._markers.wanted and self._marker_rate.passes(
            now, self.parameters.values.markers.rate
        )
        publish = self._rate.passes(now, self.parameters.values.publish_rate)
        if show or (publish and any(output.wanted for output in self._frame_outputs.all())):
            estimates = pipeline.wrenches(state, external.values)
        if publish:
            self._publish_torques(pipeline, state, external)
            self._publish_state(pipeline, state, external)
            for estimate in estimates:
                self._publish_wrench(pipeline, state, estimate)
        if show:
            self._publish_markers(pipeline.robot, state, external, estimates)

    def _publish_torques(
        self, pipeline: ContactPipeline, state: RobotState, external: ExternalTorques
    ) -> None:
        if self._torques.wanted:
            joints = pipeline.robot.joint_v_indices
            values = external.values[list(joints.values())]
            self._torques.publish(joint_state(state.stamp, list(joints), effort=values))

    def _publish_state(
        self, pipeline: ContactPipeline, state: RobotState, external: ExternalTorques
    ) -> None:
        if not self._state.wanted:
            return
        joints = pipeline.robot.joint_v_indices
        order = list(joints.values())
        report, detector = external.report, pipeline.detector
        self._state.publish(
            ContactStateMessage(
                header=self.context.root_header(state.stamp),
                state=int(report.state),
                link=report.link,
                collision_latched=report.collision_latched,
                joint_names=list(joints),
                external_torques=float_sequence(external.values[order]),
                contact_thresholds=float_sequence(detector.contact_thresholds[order]),
                collision_thresholds=float_sequence(detector.collision_thresholds[order]),
            )
        )

    def _publish_wrench(
        self, pipeline: ContactPipeline, state: RobotState, estimate: WrenchEstimate
    ) -> None:
        frame_id = self._frame_id(pipeline.robot, estimate.expressed_in)
        wrench = self._frame_outputs[estimate.frame, 'wrench']
        if wrench.wanted:
            wrench.publish(wrench_stamped(state.stamp, frame_id, estimate.wrench))
        detailed = self._frame_outputs[estimate.frame, 'estimate']
        if not detailed.wanted:
            return
        joints = pipeline.robot.joint_v_indices
        detailed.publish(
            ExternalWrench(
                header=header(state.stamp, frame_id),
                frame=estimate.frame,
                wrench=wrench_message(estimate.wrench),
                reference_point=point_message(estimate.reference_point.tolist()),
                covariance=np.ascontiguousarray(estimate.covariance).ravel(),
                singular_values=float_sequence(estimate.singular_values),
                observable=estimate.observable.tolist(),
                degraded=bool(estimate.degraded or state.stale),
                joint_names=list(joints),
                tare_offset=float_sequence(pipeline.tare.offset[list(joints.values())]),
                stale_joints=list(state.stale),
            )
        )

    def _publish_markers(
        self,
        robot: Robot,
        state: RobotState,
        external: ExternalTorques,
        estimates: tuple[WrenchEstimate, ...],
    ) -> None:
        settings = self.parameters.values.markers
        color = COLORS[external.report.state]
        shown = []
        for i, estimate in enumerate(estimates):
            frame_id = self._frame_id(robot, estimate.expressed_in)
            head, start = header(state.stamp, frame_id), estimate.reference_point.tolist()
            force, torque = np.split(estimate.wrench, 2)
            for name, vector in (
                ('force', settings.force_scale * force),
                ('torque', settings.torque_scale * torque),
            ):
                shown.append(markers.arrow(head, name, i, start, vector, settings.diameter, color))
        shown.append(self._link_marker(state, external, color))
        self._markers.publish(MarkerArray(markers=shown))

    def _link_marker(self, state: RobotState, external: ExternalTorques, color: Any) -> Any:
        link = external.report.link
        if not link:
            return markers.removed(self.context.root_header(state.stamp), 'link')
        head = header(state.stamp, self.context.frame_id(link))
        text = f'{external.report.state.name.lower()}: {link}'
        return markers.label(
            head, 'link', text, 4.0 * self.parameters.values.markers.diameter, color
        )

    def _frame_id(self, robot: Robot, frame: str) -> str:
        if frame == robot.root_frame:
            return self.context.root_frame_id()
        return self.context.frame_id(frame)

    # --- services -------------------------------------------------------------------------------

    def _trigger(self, name: str, action: Callable[[ContactPipeline], str]) -> Any:
        def answer(_request: Any, response: Any) -> Any:
            try:
                if self._pipeline is None:
                    raise NoModelError(self.problem or 'no robot_description has been accepted yet')
                response.message = action(self._pipeline)
                response.success = True
            except DynamicsRosError as error:
                response.message = str(error)
            except Exception as error:
                self.faults.report(name, error)
                response.message = f'{type(error).__name__}: {error}'
            return response

        return answer

    def _tare(self, pipeline: ContactPipeline) -> str:
        result = pipeline.tare.take()
        if not result.success:
            raise DynamicsRosError(result.message)
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


def _unusable(state: RobotState) -> str:
    for names, what in ((state.effort_missing, 'effort'), (state.velocity_missing, 'velocity')):
        if names:
            return f'no {what} of {", ".join(names)}'
    if math.isclose(state.stamp.sec + state.stamp.nanosec, 0.0):
        return 'joint_states carry no stamp, which the observer needs'
    return ''


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Contact, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
