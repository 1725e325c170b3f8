"""kinematics_node: poses and twists of frames as topics; kinematics as services."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

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
    float_sequence,
    index_of,
    pose_numbers,
    pose_stamped,
    transform_stamped,
    twist_stamped,
)
from .declaration import ParameterSet
from .inverse_kinematics_service import InverseKinematicsService
from .moveit_services import MoveItServices
from .outputs import FrameOutputs, Output, topic_names
from .parameters import KinematicsParameters
from .part import Part, known_frames
from .request_kernels import kernel
from .request_state import check_count, requested_state, required_frame, velocity_names
from .results import serve
from .robot_context import RobotContext
from .search import warm_up
from .standalone import run_alone
from .state import RobotState

NAME = 'kinematics_node'

REFERENCES = ('local_world_aligned', 'local', 'world')


@dataclass(frozen=True)
class Prepared:
    """What is configured, checked against a robot.

    Attributes:
        robot: the robot.
        frames: those that have topics.
        children: those that tf is told about: all but the root frame.
        moving: where these are among all frames.
    """

    robot: Robot
    frames: tuple[str, ...]
    children: tuple[str, ...]
    moving: slice | list[int]


class Kinematics(Part):
    """Publishes where frames are and how they move."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, KinematicsParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._prepared: Prepared | None = None
        self._topics: list[tuple[str, Output, Output]] = []
        self._frame_outputs = FrameOutputs(
            node, {'pose': PoseStamped, 'twist': TwistStamped}, context.outbox
        )
        self._markers = Output(node, MarkerArray, '~/markers', outbox=context.outbox)
        self._tf = self._tf_output() if self.parameters.values.publish_tf else None
        self._searches = InverseKinematicsService(node, context, self.parameters)
        self.moveit = MoveItServices(
            node, context, self.parameters, self._searches, lambda: self._configured_frames()[0]
        )
        self.moveit.offer()
        for kind, name, handler in (
            (ComputeForwardKinematics, 'compute_forward_kinematics', self._forward_kinematics),
            (ComputeInverseKinematics, 'compute_inverse_kinematics', self._searches.answer),
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
            pose_numbers(robot.forward_kinematics(q, frame))
            robot.frame_velocity(q, v, frame, values.twist_reference)
        names = robot.frame_names
        others = [i for i, name in enumerate(names) if name != robot.root_frame]
        moving = index_of(others)
        if values.publish_tf and others:
            pose_numbers(robot.all_frames(q)[moving])
        return Prepared(robot, frames, tuple(names[i] for i in others), moving)

    def adopt(self, prepared: Prepared) -> None:
        """Have the topics of these frames."""
        self._frame_outputs.set_frames(prepared.frames)
        self._topics = [
            (frame, self._frame_outputs[frame, 'pose'], self._frame_outputs[frame, 'twist'])
            for frame in prepared.frames
        ]
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
            self._tf = self._tf_output() if self.parameters.values.publish_tf else None
        if names & {'frames', 'twist_reference', 'publish_tf'}:
            self.context.rebuild(NAME)

    def _tf_output(self) -> Output:
        return Output(self.node, _tf_message_type(), '/tf', outbox=self.context.outbox)

    # --- topics ---------------------------------------------------------------------------------

    def update(self, state: RobotState) -> None:
        """Publish poses, twists, tf and markers."""
        self.silence = self.stale_silence(state)
        prepared = self._prepared
        if self.silence or prepared is None:
            return
        now, values = time.monotonic(), self.parameters.values
        rates, root = values.publish_rates, self.context.root_frame_id()
        for frame, pose, twist in self._topics:
            if pose.due(now, rates.pose, values.publish_rate):
                matrix = prepared.robot.forward_kinematics(state.q, frame)
                pose.send(state, root, _empty_pose, ('pose',), pose_numbers(matrix))
            if twist.due(now, rates.twist, values.publish_rate):
                self._publish_twist(prepared.robot, state, frame, twist)
        if self._tf is not None and self._tf.due(now, rates.tf, values.publish_rate):
            self._publish_tf(prepared, state, root)
        if self._markers.due(now, values.markers.rate):
            self._publish_markers(prepared, state)

    def _publish_twist(self, robot: Robot, state: RobotState, frame: str, twist: Output) -> None:
        if state.velocity_missing:
            self.silence = f'no twists: no velocity of {", ".join(state.velocity_missing)}'
            return
        reference = self.parameters.values.twist_reference
        value = robot.frame_velocity(state.q, state.v, frame, reference)
        twist.send(state, self._twist_frame(frame, reference), _empty_twist, ('twist',), value)

    def _publish_tf(self, prepared: Prepared, state: RobotState, root: str) -> None:
        assert self._tf is not None
        prefix = self.context.parameters.values.frame_prefix
        poses = prepared.robot.all_frames(state.q)[prepared.moving]
        key = (root, prefix, prepared.children)
        numbers = pose_numbers(poses).ravel()
        self._tf.send(state, key, _empty_tf, ('transforms.transform',), numbers)

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
        check_count(robot, len(request.frames), 'frames')
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


def _reference(asked: str) -> str:
    reference = asked or REFERENCES[0]
    if reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(asked), f'one of {REFERENCES}')
    return reference


def _empty_pose(frame_id: str) -> PoseStamped:
    return pose_stamped(Time(), frame_id, np.eye(4))


def _empty_twist(frame_id: str) -> TwistStamped:
    return twist_stamped(Time(), frame_id, np.zeros(6))


def _empty_tf(key: tuple[str, str, tuple[str, ...]]) -> Any:
    root, prefix, children = key
    transforms = [
        transform_stamped(Time(), root, f'{prefix}{child}', np.eye(4)) for child in children
    ]
    return _tf_message_type()(transforms=transforms)


def _tf_message_type() -> Any:
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        return None
    return TFMessage


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Kinematics, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
