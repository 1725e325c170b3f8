"""contact_node: external torques, contact wrenches and the contact state as topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import ContactLocation
from dynamics_ros.nodes.app.standalone import run_alone
from dynamics_ros.nodes.input.state import RobotState
from dynamics_ros.nodes.output.outputs import FrameOutputs, Output, topic_names
from dynamics_ros.nodes.output.short_way import Share, same
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.parameters.groups import ContactParameters, ContactRates
from dynamics_ros.nodes.reporting.results import NoModelError
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.large_robots import check_size, is_large
from dynamics_ros.nodes.robot.part import Part
from dynamics_ros.robot import Robot
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench, FootContacts

from .markers import ContactMarkers
from .messages import StateForms, filled_estimate, filled_feet, filled_torques, filled_wrench
from .pipeline import ContactPipeline, ExternalTorques
from .place import ContactPlace
from .share import ContactShare, Listened, Told

NAME = 'contact_node'

NEITHER = (False, False)

LIVE = frozenset(
    {'publish_rate', *(f'publish_rates.{n}' for n in ContactRates.__dataclass_fields__)}
    | {f'markers.{n}' for n in ('rate', 'force_scale', 'torque_scale', 'diameter')}
    | {f'location.{n}' for n in ('rate', 'max_deviation')}
)
"""Parameters that the estimators know nothing of; all others need them to be built anew."""


class Contact(Part):
    """Publishes what the robot feels."""

    uses_masses = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, ContactParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._pipeline: ContactPipeline | None = None
        self._place = ContactPlace(context, lambda: self.parameters.values.location, self.faults)
        self._state_forms = StateForms()
        self._external: ExternalTorques | None = None
        self._share: ContactShare | None = None
        self._share_made_of: tuple[object, ...] = ()
        self._wrench_outputs: list[tuple[Output, Output]] = []
        self._torques = Output(node, JointState, '~/external_torques', outbox=context.outbox)
        self._state = Output(node, ContactStateMessage, '~/contact_state', outbox=context.outbox)
        self._feet = Output(node, FootContacts, '~/foot_contacts', outbox=context.outbox)
        self._markers = Output(node, MarkerArray, '~/markers', outbox=context.outbox)
        self._drawing = ContactMarkers(
            self._markers, context, self._place, lambda: self.parameters.values.markers
        )
        self._frame_outputs = FrameOutputs(
            node, {'wrench': WrenchStamped, 'estimate': ExternalWrench}, context.outbox
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
            self._drawing.erase(len(prepared.frames), len(self._pipeline.frames))
        self._pipeline = prepared
        # What belongs to the robot before goes with it, whether or not another state comes.
        self._share, self._share_made_of, self._external = None, (), None
        self._place.adopt(prepared)

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Compile what markers need."""
        if self._pipeline is None:
            return ()
        robot = self._pipeline.robot
        return [partial(robot.all_frames, robot.neutral())]

    def outputs(self) -> list[Output]:
        """External torques, contact state, feet, wrenches, estimates, markers."""
        return [self._torques, self._state, self._feet, *self._frame_outputs.all(), self._markers]

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
        )

    def _check(self, values: ContactParameters) -> None:
        topic_names(values.frames)
        built = self.context.built
        if built is not None and built.robot.nv and not is_large(built.robot):
            # Building the estimators is the check; their kernels are made when they are adopted.
            ContactPipeline(built.robot, values, built.default_frame)

    def _changed(self, names: frozenset[str]) -> None:
        self.context.leave_short_way()
        if names - LIVE:
            self.context.rebuild(NAME)

    # --- topics ---------------------------------------------------------------------------------

    def follow(self, state: RobotState) -> None:
        """Run the estimators: a gap would start them anew."""
        if self._pipeline is not None:
            self._pipeline.update(state)

    def update(self, state: RobotState) -> None:
        """Run the estimators, whoever listens: they live on having seen every state."""
        pipeline = self._pipeline
        if pipeline is None:
            return
        external = self._external = pipeline.update(state)
        self.silence, self.caution = pipeline.silence, pipeline.caution
        if external is None:
            return
        stamp, state = state.stamp_bytes, pipeline.judged or state
        place = self._place.update(state, external)
        now, values = time.monotonic(), self.parameters.values
        rates, general = values.publish_rates, values.publish_rate
        root = self.context.root_frame_id()
        if self._torques.due(now, rates.external_torques, general):
            self._torques.send(filled_torques(self._torques.form, pipeline, external), stamp)
        if self._state.due(now, rates.contact_state, general):
            known = place is not None and self._place.known(place)
            link = self._point_frame_id(place)
            form = self._state_forms.filled(
                self._state.form, pipeline, external, place, known, root, link
            )
            self._state.send(form, stamp)
        if pipeline.feet is not None and self._feet.due(now, rates.foot_contacts, general):
            contacts = pipeline.foot_contacts(state, external.values)
            self._feet.send(filled_feet(self._feet.form, contacts, state, root), stamp)
        # Whether anybody wants what is the dearest of all to compute.
        due = [
            (wrench.due(now, rates.wrench, general), detailed.due(now, rates.estimate, general))
            for wrench, detailed in self._wrench_outputs
        ]
        show = self._markers.due(now, values.markers.rate)
        if not show and due.count(NEITHER) == len(due):
            return
        estimates = pipeline.wrenches(state, external.values)
        if not estimates:
            self.caution = pipeline.caution
            return
        for estimate, outputs, (wrench_due, detailed_due) in zip(
            estimates, self._wrench_outputs, due, strict=True
        ):
            in_root = estimate.expressed_in == pipeline.robot.root_frame
            frame_id = root if in_root else self.context.frame_id(estimate.expressed_in)
            wrench, detailed = outputs
            if wrench_due:
                wrench.send(filled_wrench(wrench.form, estimate, frame_id), stamp)
            if detailed_due:
                form = filled_estimate(detailed.form, pipeline, state, estimate, frame_id)
                detailed.send(form, stamp)
        if show:
            self._drawing.publish(state, external, estimates, place)

    def share(self, now: float) -> Share | None:
        """All but feet, of one contact frame."""
        pipeline, external, state = self._pipeline, self._external, self.context.state
        if self.silence:
            return None
        if pipeline is None or external is None or state is None or not pipeline.is_plain:
            return None
        listened = self._listened(now)
        if listened is None:
            return None
        place, root = self._place.latest, self.context.root_frame_id()
        in_root = pipeline.axes == pipeline.robot.root_frame
        known = place is not None and self._place.known(place)
        made_of = (
            *(pipeline, self.context.buffer, self.context.names, external.report, place, known),
            *(*listened, *pipeline.made_of()),
        )
        if self._share is None or not same(made_of, self._share_made_of) or self._share.over:
            told = Told(
                state,
                external,
                place,
                known,
                root,
                root if in_root else self.context.frame_id(pipeline.axes),
                self._point_frame_id(place),
            )
            assert self.context.buffer is not None
            self._share = ContactShare(
                pipeline, self.context.buffer, told, listened, lambda: self._place.latest
            )
            self._share_made_of = made_of
        return self._share.share._replace(until=self._markers.due_at(now))

    def _point_frame_id(self, place: ContactLocation | None) -> str:
        found = place is not None and place.point_frame
        return self.context.frame_id(found) if found else ''

    def catch_up(self, state: RobotState, states: int) -> None:
        """Ask for the place of a contact, and publish markers."""
        pipeline, share = self._pipeline, self._share
        if pipeline is None or share is None:
            return
        pipeline.tell(state.time)
        self.caution = pipeline.caution
        external = self._external = share.torques()
        place = self._place.update(state, external)
        self.pass_over(states - 1)
        if self._markers.due(time.monotonic(), self.parameters.values.markers.rate):
            estimates = pipeline.wrenches(state, external.values)
            self._drawing.publish(state, external, estimates, place)

    def pass_over(self, states: int) -> None:
        """Count what markers leave out."""
        if self._markers.listened_to(time.monotonic()):
            self._markers.skip(states)

    def _listened(self, now: float) -> Listened | None:
        """What everybody who listens wants of every state; None where somebody wants it less."""
        values = self.parameters.values
        rates, wrench, detailed = values.publish_rates, *self._wrench_outputs[0]
        wanted = [
            output.listened_to_always(now, own, values.publish_rate)
            for output, own in (
                (self._torques, rates.external_torques),
                (self._state, rates.contact_state),
                (wrench, rates.wrench),
                (detailed, rates.estimate),
            )
        ]
        if None in wanted or self._markers.wants_more_than_looks(now, values.markers.rate):
            return None
        outputs = (self._torques, self._state, wrench, detailed)
        return Listened(*(output if x else None for output, x in zip(outputs, wanted)))

    # --- services -------------------------------------------------------------------------------

    def _trigger(self, name: str, action: Callable[[ContactPipeline], str]) -> Any:
        def answer(_request: Any, response: Any) -> Any:
            try:
                if self._pipeline is None:
                    raise NoModelError(self.problem or 'no robot_description has been accepted yet')
                self.context.leave_short_way()
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


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Contact, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
