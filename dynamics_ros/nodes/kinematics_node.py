"""kinematics_node: poses and twists of frames as topics; kinematics as services."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
)

from ..errors import InvalidArgumentError
from ..manipulability import manipulability
from ..robot import Robot
from . import markers
from .conversions import (
    Array,
    duration_message,
    float_sequence,
    joint_state,
    pose_matrix,
    pose_message,
    pose_stamped,
    seconds,
    transform_stamped,
    twist_stamped,
)
from .declaration import ParameterSet
from .outputs import FrameOutputs, Output, RateLimit, topic_names
from .parameters import KinematicsParameters
from .part import Part, known_frames
from .request_kernels import kernel
from .request_state import requested_state, required_frame, velocity_names
from .results import SearchError, serve, success
from .robot_context import RobotContext
from .search import Search, warm_up
from .standalone import run_alone
from .state import RobotState

if TYPE_CHECKING:
    from ..inverse_kinematics import InverseKinematicsResult

NAME = 'kinematics_node'

REFERENCES = ('local_world_aligned', 'local', 'world')

SEARCH_CODES = {
    'timed_out': Result.TIMED_OUT,
    'unreachable': Result.UNREACHABLE,
    'stalled': Result.NO_SOLUTION,
}


@dataclass(frozen=True)
class Prepared:
    """What is configured, checked against a robot."""

    robot: Robot
    frames: tuple[str, ...]


class Kinematics(Part):
    """Publishes where frames are and how they move."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, KinematicsParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._prepared: Prepared | None = None
        self._rate = RateLimit()
        self._marker_rate = RateLimit()
        self._frame_outputs = FrameOutputs(node, {'pose': PoseStamped, 'twist': TwistStamped})
        self._markers = Output(node, MarkerArray, '~/markers')
        self._tf = _tf_output(node) if self.parameters.values.publish_tf else None
        for kind, name, handler in (
            (ComputeForwardKinematics, 'compute_forward_kinematics', self._forward_kinematics),
            (ComputeInverseKinematics, 'compute_inverse_kinematics', self._inverse_kinematics),
            (ComputeJacobian, 'compute_jacobian', self._jacobian),
        ):
            serve(node, kind, f'~/{name}', handler, self.faults)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> Prepared:
        """Check the frames and compile the kernels of the topics."""
        values = self.parameters.values
        frames = known_frames(robot, values.frames, default_frame)
        topic_names(frames)
        q, v = robot.neutral(), np.zeros(robot.nv)
        for frame in frames:
            pose_message(robot.forward_kinematics(q, frame))
            robot.frame_velocity(q, v, frame, values.twist_reference)
        if values.publish_tf:
            robot.all_frames(q)
        return Prepared(robot, frames)

    def adopt(self, prepared: Prepared) -> None:
        """Have the topics of these frames."""
        self._frame_outputs.set_frames(prepared.frames)
        self._prepared = prepared

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Compile what services and markers need of these frames."""
        if self._prepared is None:
            return ()
        robot, frames = self._prepared.robot, self._prepared.frames
        q = robot.neutral()
        slices: list[Callable[[], object]] = []
        slices += [partial(robot.jacobian, q, frame) for frame in frames]
        slices += [partial(warm_up, robot, frame) for frame in frames]
        return [*slices, partial(robot.center_of_mass, q)]

    def outputs(self) -> list[Output]:
        """Poses, twists, markers, tf."""
        tf = [self._tf] if self._tf else []
        return [*self._frame_outputs.all(), self._markers, *tf]

    def _check(self, values: KinematicsParameters) -> None:
        topic_names(values.frames)
        if self.context.robot is not None:
            known_frames(self.context.robot, values.frames, '')
        if values.publish_tf and _tf_message_type() is None:
            raise InvalidArgumentError(
                'publish_tf', 'tf2_msgs is not installed', 'false without it'
            )

    def _changed(self, names: frozenset[str]) -> None:
        if 'publish_tf' in names:
            if self._tf is not None:
                self._tf.close()
            self._tf = _tf_output(self.node) if self.parameters.values.publish_tf else None
        if names & {'frames', 'twist_reference', 'publish_tf'}:
            self.context.rebuild(NAME)

    # --- topics ---------------------------------------------------------------------------------

    def update(self, state: RobotState) -> None:
        """Publish poses, twists, tf and markers."""
        self.silence = self.stale_silence(state)
        now = time.monotonic()
        if self.silence or self._prepared is None:
            return
        values = self.parameters.values
        if self._rate.passes(now, values.publish_rate):
            self._publish_frames(self._prepared, state)
            self._publish_tf(self._prepared.robot, state)
        if self._markers.wanted and self._marker_rate.passes(now, values.markers.rate):
            self._publish_markers(self._prepared, state)

    def _publish_frames(self, prepared: Prepared, state: RobotState) -> None:
        root = self.context.root_frame_id()
        robot, reference = prepared.robot, self.parameters.values.twist_reference
        for frame in prepared.frames:
            pose = self._frame_outputs[frame, 'pose']
            if pose.wanted:
                matrix = robot.forward_kinematics(state.q, frame)
                pose.publish(pose_stamped(state.stamp, root, matrix))
            twist = self._frame_outputs[frame, 'twist']
            if not twist.wanted:
                continue
            if state.velocity_missing:
                self.silence = f'no twists: no velocity of {", ".join(state.velocity_missing)}'
                continue
            value = robot.frame_velocity(state.q, state.v, frame, reference)
            twist.publish(twist_stamped(state.stamp, self._twist_frame(frame, reference), value))

    def _publish_tf(self, robot: Robot, state: RobotState) -> None:
        if self._tf is None or not self._tf.wanted:
            return
        root = self.context.root_frame_id()
        transforms = [
            transform_stamped(state.stamp, root, self.context.frame_id(frame), matrix)
            for frame, matrix in zip(robot.frame_names, robot.all_frames(state.q), strict=True)
            if frame != robot.root_frame
        ]
        self._tf.publish(_tf_message_type()(transforms=transforms))

    def _publish_markers(self, prepared: Prepared, state: RobotState) -> None:
        settings = self.parameters.values.markers
        robot, root = prepared.robot, self.context.root_header(state.stamp)
        shown = [
            markers.frame_axes(
                root, i, robot.forward_kinematics(state.q, frame), settings.axis_length
            )
            for i, frame in enumerate(prepared.frames)
        ]
        center = robot.center_of_mass(state.q)
        shown.append(markers.center_of_mass(root, center, settings.center_of_mass_diameter))
        self._markers.publish(MarkerArray(markers=shown))

    def _twist_frame(self, frame: str, reference: str) -> str:
        local = reference == 'local'
        return self.context.frame_id(frame) if local else self.context.root_frame_id()

    # --- services -------------------------------------------------------------------------------

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        robot = state.robot
        frames = [
            required_frame(self.context, robot, frame, 'frames') for frame in request.frames
        ] or self._configured_frames()
        root = self.context.root_frame_id()
        q, v = state.q, state.velocity
        kernels = [kernel('forward_kinematics', frame) for frame in frames]
        if v is not None:
            kernels += [kernel('frame_velocity', frame, reference) for frame in frames]

        def fill(home: Robot) -> None:
            for frame in frames:
                pose = home.forward_kinematics(q, frame)
                response.poses.append(pose_stamped(state.stamp, root, pose))
                if v is not None:
                    twist = home.frame_velocity(q, v, frame, reference)
                    twist_frame = self._twist_frame(frame, reference)
                    response.twists.append(twist_stamped(state.stamp, twist_frame, twist))

        await self.context.compute(robot, kernels, fill)

    def _configured_frames(self) -> list[str]:
        if self._prepared is None:
            raise InvalidArgumentError('frames', self.problem or 'none are configured', 'a frame')
        return list(self._prepared.frames)

    async def _jacobian(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = requested_state(self.context, request.state, request.base_pose)
        frame = required_frame(self.context, state.robot, request.frame, 'frame')
        jacobian = await self.context.compute(
            state.robot,
            [kernel('jacobian', frame, reference)],
            lambda home: home.jacobian(state.q, frame, reference),
        )
        response.velocity_names = velocity_names(state.robot)
        response.rows, response.columns = jacobian.shape
        response.jacobian = float_sequence(jacobian)
        response.manipulability = manipulability(jacobian)

    async def _inverse_kinematics(self, request: Any, response: Any) -> None:
        seed = requested_state(self.context, request.seed, request.base_pose)
        robot = seed.robot
        frame = required_frame(self.context, robot, request.frame, 'frame')
        search = Search(
            frame=frame,
            target=pose_matrix(request.target.pose, 'target.pose'),
            carrier=self._carrier(robot, request.target.header.frame_id),
            seed=seed.q,
            count=max(request.max_solutions, 1),
            approximate=request.approximate,
            timeout=self._timeout(request),
            options=self._search_options(request),
        )
        outcome = search.quick(robot)
        if outcome is None:
            outcome = await self.context.compute(
                robot, search.kernels(), search.run, self.context.searches
            )
        assert outcome is not None
        solutions = outcome.results
        best = solutions[0]
        response.position_error = best.position_error
        response.rotation_error = best.rotation_error
        response.iterations = sum(solution.iterations for solution in solutions)
        response.elapsed = duration_message(outcome.seconds)
        if best.success or request.approximate:
            response.solution = _solution(robot, seed.stamp, best.q)
        if best.success:
            response.solutions = [_solution(robot, seed.stamp, s.q) for s in solutions]
            response.result = success()
            return
        error = SearchError(SEARCH_CODES[best.reason], _explained(best))
        response.result = Result(code=error.code, message=str(error))

    def _carrier(self, robot: Robot, frame_id: str) -> str:
        """The frame that a target is given in; '' for the root frame."""
        if frame_id in ('', robot.root_frame, self.context.root_frame_id()):
            return ''
        return required_frame(self.context, robot, frame_id, 'target.header.frame_id')

    def _timeout(self, request: Any) -> float:
        defaults = self.parameters.values.inverse_kinematics
        timeout = seconds(request.timeout) or defaults.timeout
        if not 0.0 < timeout <= defaults.max_timeout:
            raise InvalidArgumentError(
                'timeout', f'{timeout:g} s', f'0 to {defaults.max_timeout:g} s'
            )
        return timeout

    def _search_options(self, request: Any) -> dict[str, Any]:
        defaults = self.parameters.values.inverse_kinematics
        return {
            'position_tolerance': _tolerance(
                request.position_tolerance, defaults.position_tolerance, 'position_tolerance'
            ),
            'rotation_tolerance': _tolerance(
                request.rotation_tolerance, defaults.rotation_tolerance, 'rotation_tolerance'
            ),
            'position_only': request.position_only,
        }


def _tolerance(asked: float, default: float, name: str) -> float:
    if not (asked >= 0.0 and np.isfinite(asked)):
        raise InvalidArgumentError(name, f'{asked}', 'a positive number, or 0 for the parameter')
    return asked or default


def _reference(asked: str) -> str:
    reference = asked or REFERENCES[0]
    if reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(asked), f'one of {REFERENCES}')
    return reference


def _solution(robot: Robot, stamp: Time, q: Array) -> Any:
    names = list(robot.joint_q_indices)
    return joint_state(stamp, names, position=q[list(robot.joint_q_indices.values())])


def _explained(result: InverseKinematicsResult) -> str:
    reasons = {
        'timed_out': 'no solution within the time limit',
        'unreachable': 'the target is out of reach',
        'stalled': 'no start led to a solution',
    }
    return (
        f'{reasons[result.reason]}; the closest was {result.position_error:.3g} m and '
        f'{result.rotation_error:.3g} rad away after {result.iterations} iterations'
    )


def _tf_message_type() -> Any:
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        return None
    return TFMessage


def _tf_output(node: Node) -> Output:
    return Output(node, _tf_message_type(), '/tf')


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Kinematics, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
