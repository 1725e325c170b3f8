# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""kinematics_node: topics of poses, twists and transforms; services of kinematics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.algorithms.quantity import Reference
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.multibody.end_effector import Links, LinkTree, manipulability
from dynamics_ros.nodes.context import Component, KernelKey, RobotContext
from dynamics_ros.nodes.inverse_kinematics import InverseKinematicsService, MoveItServices, warm_up
from dynamics_ros.nodes.outputs import (
    FRESH,
    LATCHED,
    RELIABLE,
    VELOCITY,
    FrameOutputs,
    Output,
    Publication,
)
from dynamics_ros.nodes.robot_request import FrameNames, check_count
from dynamics_ros.nodes.services import serve, state_of
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import known_frames
from dynamics_ros.robot import Robot
from dynamics_ros.wire import markers
from dynamics_ros.wire.cdr import Evaluate, Fields, Message
from dynamics_ros.wire.conversions import (
    Array,
    finite_sequence,
    message_type,
    pose_stamped,
    stamped,
    topic_names,
    transform_stamped,
)
from dynamics_ros.wire.services import velocity_names
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
)


class PreparedKinematics(NamedTuple):
    """Outputs for a robot that has the kernels of these.

    Attributes:
        robot: the robot.
        frames: frames with topics.
        tree: transforms for tf; None if tf is not published.
    """

    robot: Robot
    frames: tuple[str, ...]
    tree: LinkTree | None

    @property
    def has_mass(self) -> bool:
        """Whether the robot has a centre of mass."""
        return self.robot.total_mass > 0.0


def tf_message() -> Any:
    """Return the message type tf2_msgs/TFMessage.

    Raises:
        InvalidArgumentError: tf2_msgs is not installed.
    """
    return message_type('tf2_msgs/msg/TFMessage', 'publish_tf', 'false without it')


def transforms_of(
    links: Links, poses: Iterable[Array], names: FrameNames, stamp: Time | None = None
) -> Any:
    """Return the message of transforms of links in their parents; '' is the root frame."""
    transforms = [
        transform_stamped(
            stamp or Time(),
            f'{names.prefix}{parent}' if parent else names.root,
            f'{names.prefix}{child}',
            pose,
        )
        for (parent, child), pose in zip(links, poses, strict=True)
    ]
    return tf_message()(transforms=transforms)


NAME = 'kinematics_node'

MARKERS_RATE, AXIS_LENGTH = 20.0, 0.1
"""Maximum rate of the markers [Hz]; length of the axes of a frame, twice the diameter of the centre
of mass [m]."""

REFERENCES: tuple[Reference, ...] = ('local_world_aligned', 'local', 'world')


class Kinematics(Component[KinematicsParameters]):
    """Component that publishes poses and twists of frames, and answers kinematics requests."""

    knows_loops = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context, KinematicsParameters)
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._prepared: PreparedKinematics | None = None
        self._frame_outputs = FrameOutputs(node, {'pose': PoseStamped, 'twist': TwistStamped})
        self._markers = Output(node, MarkerArray, '~/markers')
        qualities = {'/tf': RELIABLE, '/tf_static': LATCHED} if self.values.publish_tf else {}
        self._tf = {x: Output(node, tf_message(), x, qos) for x, qos in qualities.items()}
        self._searches = InverseKinematicsService(self, self._default_frame)
        self.moveit = MoveItServices(self, self._searches)
        if self.values.moveit_services:
            self.moveit.offer()
        search, poses = self._searches.answer, self._forward_kinematics
        serve(node, ComputeForwardKinematics, '~/compute_forward_kinematics', poses)
        serve(node, ComputeInverseKinematics, '~/compute_inverse_kinematics', search)
        serve(node, ComputeJacobian, '~/compute_jacobian', self._jacobian)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, *_: object) -> PreparedKinematics:
        """Check the frames, and compile the kernels of the topics."""
        values = self.values
        frames = known_frames(robot, values.frames, robot.tool_frame)
        topic_names(frames)
        for frame in frames:
            robot.kernel('pose', frame)
            robot.kernel('frame_velocity', frame, REFERENCES[0])
        tree = LinkTree.of(robot, base=values.publish_base_tf) if values.publish_tf else None
        prepared = PreparedKinematics(robot, frames, tree)
        if prepared.has_mass:
            robot.kernel('center_of_mass')
        return prepared

    def adopt(self, prepared: PreparedKinematics) -> None:
        """Switch to the frames of a robot: create their topics and publish fixed transforms."""
        self._frame_outputs.set_frames(prepared.frames)
        before, self._prepared = self._prepared, prepared
        if before and (before.frames, before.has_mass) != (prepared.frames, prepared.has_mass):
            self._markers.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
        if self._tf and (tree := prepared.tree) is not None:
            names, now = self.context.names, self.context.now()
            fixed = transforms_of(tree.fixed, tree.poses, names, now)
            self._tf['/tf_static'].publish(fixed)

    def observe(self, state: RobotState) -> None:
        """Warn of a loop that the state contradicts; poses are those of the tree."""
        self.unavailable_reason, self.warning = '', self.context.open_loop

    def publications(self) -> list[Publication]:
        """Return the outputs: poses, twists, transforms and markers."""
        prepared, outputs = self._prepared, self._frame_outputs
        if prepared is None:
            return []
        rate, arrays = self.values.publish_rate, self.arrays
        names, robot = self.context.names, prepared.robot
        found: list[Publication] = []
        poses = {x: Evaluate(robot.kernel('pose', x), (arrays.q,)) for x in prepared.frames}
        for frame, pose in poses.items():
            output = outputs[frame, 'pose']
            prototype = partial(pose_stamped, Time(), names.root, np.eye(4))
            message = Message(prototype, {'pose': pose})
            found.append(Publication(output, message, FRESH, rate))
            output = outputs[frame, 'twist']
            prototype = partial(stamped, TwistStamped, Time(), names.root)
            twist = robot.kernel('frame_velocity', frame, REFERENCES[0])
            fields: Fields = {'twist': Evaluate(twist, (arrays.q, arrays.v))}
            found.append(Publication(output, Message(prototype, fields), FRESH | VELOCITY, rate))
        tree = prepared.tree
        if self._tf and tree is not None and tree.transforms is not None:
            paths = tuple(f'transforms.{i}.transform' for i in range(len(tree.moving)))
            still = partial(transforms_of, tree.moving, [np.eye(4)] * len(tree.moving), names)
            fields = {paths: Evaluate(tree.transforms, (arrays.q,))}
            found.append(Publication(self._tf['/tf'], Message(still, fields), FRESH, rate))
        count = len(poses)
        fields = {f'markers.{i}.pose': pose for i, pose in enumerate(poses.values())}
        if prepared.has_mass:
            center = Evaluate(robot.kernel('center_of_mass'), (arrays.q,))
            fields[f'markers.{count}.pose.position'] = center
        diameter = 0.5 * AXIS_LENGTH if prepared.has_mass else 0.0
        axes = partial(markers.empty_frames, names.root, count, AXIS_LENGTH, diameter)
        return [*found, Publication(self._markers, Message(axes, fields), FRESH, MARKERS_RATE)]

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of services."""
        if self._prepared is None:
            return ()
        robot, frames, *_ = self._prepared
        q, methods = robot.neutral(), (robot.jacobian, robot.forward_kinematics)
        return [
            *(partial(method, q, frame) for method in methods for frame in frames),
            *(partial(warm_up, robot, frame) for frame in frames),
        ]

    def _check(self, values: KinematicsParameters) -> None:
        topic_names(values.frames)
        if self.context.robot is not None:
            known_frames(self.context.robot, values.frames, '')

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        if 'frames' in names:
            self.context.changes.rebuild(NAME)

    def _twist_frame(self, frame: str, reference: str) -> str:
        local = reference == 'local'
        return self.context.names.frame_id_of(frame) if local else self.context.root_frame_id()

    # --- services -------------------------------------------------------------------------------

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = await state_of(self.context, request)
        robot = state.robot
        check_count(robot, len(request.frames), 'frames')
        names = self.context.names
        frames = [names.required_frame(robot, frame, 'frames') for frame in request.frames]
        frames = frames or self._configured_frames()
        root = self.context.root_frame_id()
        q, v = state.q, state.velocity
        kernels: list[KernelKey] = [('forward_kinematics', frame) for frame in frames]
        if v is not None:
            kernels += [('frame_velocity', frame, reference) for frame in frames]

        def fill() -> None:
            for frame in frames:
                pose = robot.forward_kinematics(q, frame)
                response.poses.append(pose_stamped(state.stamp, root, pose))
                if v is not None:
                    twist = robot.frame_velocity(q, v, frame, reference)
                    twist_frame = self._twist_frame(frame, reference)
                    response.twists.append(stamped(TwistStamped, state.stamp, twist_frame, twist))

        await self.context.compute(robot, kernels, fill)

    def _configured_frames(self) -> list[str]:
        if self._prepared is None:
            raise InvalidArgumentError('frames', self.problem or 'none are configured', 'a frame')
        return list(self._prepared.frames)

    def _default_frame(self) -> str:
        return self._configured_frames()[0]

    async def _jacobian(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = await state_of(self.context, request)
        names = self.context.names
        frame = self._default_frame()
        if request.frame:
            frame = names.required_frame(state.robot, request.frame, 'frame')
        jacobian = await self.context.compute(
            state.robot,
            [('jacobian', frame, reference)],
            lambda: state.robot.jacobian(state.q, frame, reference),
        )
        response.velocity_names = velocity_names(state.robot)
        response.rows, response.columns = jacobian.shape
        response.jacobian = finite_sequence(jacobian)
        response.manipulability = manipulability(jacobian)


def _reference(requested: str) -> Reference:
    for reference in REFERENCES:
        if reference == (requested or REFERENCES[0]):
            return reference
    raise InvalidArgumentError('reference', repr(requested), f'one of {REFERENCES}')
