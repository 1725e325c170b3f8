# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""kinematics_node: topics of poses, twists and transforms; services of kinematics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from dynamics_ros.algorithms.quantity import Reference
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.end_effector import manipulability
from dynamics_ros.multibody.link_tree import Links, LinkTree
from dynamics_ros.nodes.context import RobotComponent, RobotContext
from dynamics_ros.nodes.inverse_kinematics import InverseKinematicsService, MoveItServices, warm_up
from dynamics_ros.nodes.outputs import (
    FRESH,
    LATCHED,
    VELOCITY,
    FrameOutputs,
    Output,
    Publication,
    publish,
)
from dynamics_ros.nodes.robot_request import FrameNames, check_count
from dynamics_ros.nodes.services import requested_state, serve
from dynamics_ros.nodes.workers import kernel
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import known_frames
from dynamics_ros.robot import Robot
from dynamics_ros.wire import markers
from dynamics_ros.wire.conversions import (
    Array,
    empty_pose,
    empty_twist,
    finite_sequence,
    header,
    message_type,
    pose_stamped,
    topic_names,
    transform_stamped,
    twist_stamped,
)
from dynamics_ros.wire.services import velocity_names
from dynamics_ros.wire.templates import Evaluate, Fields
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
)


@dataclass(frozen=True)
class PreparedKinematics:
    """Kernels of the configured topics for a robot.

    Attributes:
        robot: the robot.
        frames: frames with topics.
        poses, twists: kernels of the pose and of the twist of each frame.
        twist_reference: reference of the twists.
        center_of_mass: kernel of the centre of mass; None if no moving body has mass.
        tree: transforms for tf; None if tf is not published.
    """

    robot: Robot
    frames: tuple[str, ...]
    poses: tuple[Kernel, ...]
    twists: tuple[Kernel, ...]
    twist_reference: str
    center_of_mass: Kernel | None
    tree: LinkTree | None

    @classmethod
    def of(
        cls, robot: Robot, values: KinematicsParameters, default_frame: str
    ) -> PreparedKinematics:
        """Check the frames, and compile the kernels.

        Raises:
            DynamicsRosError: the parameters do not fit the robot.
        """
        frames, reference = (
            known_frames(robot, values.frames, default_frame),
            values.twist_reference,
        )
        return cls(
            robot,
            frames,
            tuple(robot.kernel('pose', frame) for frame in frames),
            tuple(robot.kernel('frame_velocity', frame, reference) for frame in frames),
            reference,
            robot.kernel('center_of_mass') if robot.total_mass > 0.0 else None,
            LinkTree.of(robot, base=values.publish_base_tf) if values.publish_tf else None,
        )

    def warm_up(self) -> list[Callable[[], object]]:
        """Return functions that compile the kernels of services and markers."""
        robot, frames, q = self.robot, self.frames, self.robot.neutral()
        slices: list[Callable[[], object]] = []
        slices += [partial(robot.jacobian, q, frame) for frame in frames]
        slices += [partial(robot.forward_kinematics, q, frame) for frame in frames]
        slices += [partial(warm_up, robot, frame) for frame in frames]
        if self.center_of_mass is not None:
            slices.append(partial(robot.center_of_mass, q))
        return slices


def tf_message() -> Any:
    """Return the message type tf2_msgs/TFMessage.

    Raises:
        InvalidArgumentError: tf2_msgs is not installed.
    """
    return message_type('tf2_msgs/msg/TFMessage', 'publish_tf', 'false without it')


class TransformOutputs:
    """Publishers of /tf and /tf_static.

    Attributes:
        moving: publisher of /tf.
    """

    def __init__(self, node: Node) -> None:
        kind = tf_message()
        self._node = node
        self.moving = Output(node, kind, '/tf')
        self._fixed = Output(node, kind, '/tf_static', LATCHED)
        self._published: tuple[LinkTree, str] | None = None

    def all(self) -> list[Output]:
        """Return both publishers."""
        return [self.moving, self._fixed]

    def close(self) -> None:
        """Destroy both publishers."""
        for output in self.all():
            output.close()

    def publish_fixed(self, tree: LinkTree, prefix: str) -> None:
        """Publish the fixed transforms of a tree on /tf_static, unless they were published last."""
        if (
            self._published is not None
            and self._published[0] is tree
            and self._published[1] == prefix
        ):
            return
        self._published = tree, prefix
        stamp = self._node.get_clock().now().to_msg()
        self._fixed.publish(_message(stamp, tree.fixed, tree.poses, prefix, prefix))

    @staticmethod
    def empty(tree: LinkTree, names: FrameNames) -> Any:
        """Return the message of moving transforms, for a template."""
        links = tree.moving
        return _message(Time(), links, [np.eye(4)] * len(links), *names)

    @staticmethod
    def fields(tree: LinkTree, q: Array) -> Fields:
        """Return the kernel of the moving transforms at q (nq), which fills ``empty``."""
        assert tree.transforms is not None, 'the tree has moving links'
        paths = tuple(f'transforms.{i}.transform' for i in range(len(tree.moving)))
        return {paths: Evaluate(tree.transforms, (q,))}


def _message(stamp: Time, links: Links, poses: Iterable[Array], root: str, prefix: str) -> Any:
    """Return the transforms of links in their parents; a parent '' is the root frame."""
    transforms = [
        transform_stamped(stamp, f'{prefix}{parent}' if parent else root, f'{prefix}{child}', pose)
        for (parent, child), pose in zip(links, poses, strict=True)
    ]
    return tf_message()(transforms=transforms)


NAME = 'kinematics_node'

REFERENCES: tuple[Reference, ...] = ('local_world_aligned', 'local', 'world')


class Kinematics(RobotComponent[KinematicsParameters]):
    """Component that publishes poses and twists of frames, and answers kinematics requests."""

    knows_loops = True

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context, KinematicsParameters)
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._prepared: PreparedKinematics | None = None
        self._frame_outputs = FrameOutputs(node, {'pose': PoseStamped, 'twist': TwistStamped})
        self._markers = Output(node, MarkerArray, '~/markers')
        self._tf = self._tf_outputs()
        self._searches = InverseKinematicsService(self, self._default_frame)
        self.moveit = MoveItServices(self, self._searches, self._default_frame)
        if self.values.moveit_services:
            self.moveit.offer()
        for kind, name, handler in (
            (ComputeForwardKinematics, 'compute_forward_kinematics', self._forward_kinematics),
            (ComputeInverseKinematics, 'compute_inverse_kinematics', self._searches.answer),
            (ComputeJacobian, 'compute_jacobian', self._jacobian),
        ):
            serve(node, kind, f'~/{name}', handler)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str, *_: object) -> PreparedKinematics:
        """Check the frames, and compile the kernels of the topics."""
        prepared = PreparedKinematics.of(robot, self.values, default_frame)
        topic_names(prepared.frames)
        return prepared

    def adopt(self, prepared: PreparedKinematics) -> None:
        """Switch to the frames of a robot: create their topics and publish fixed transforms."""
        self._frame_outputs.set_frames(prepared.frames)
        self._delete_markers(self._prepared, prepared)
        self._prepared = prepared
        self._publish_fixed()

    def _delete_markers(self, before: PreparedKinematics | None, after: PreparedKinematics) -> None:
        """Delete the markers of frames and of a centre of mass that no longer exist."""
        if before is None:
            return
        head = header(self.context.now(), self.context.root_frame_id())
        vanished = before.center_of_mass is not None and after.center_of_mass is None
        deleted = markers.deleted_frames(head, len(after.frames), len(before.frames), vanished)
        if deleted is not None:
            self._markers.publish(deleted)

    def observe(self, state: RobotState) -> None:
        """Warn of a loop that the state contradicts; poses are those of the tree."""
        super().observe(state)
        self.warning = self.context.open_loop

    def publications(self) -> list[Publication]:
        """Return the outputs: poses, twists, transforms and markers."""
        prepared, outputs = self._prepared, self._frame_outputs
        if prepared is None:
            return []
        self._publish_fixed()
        rate, arrays, names = self.rate_of, self.arrays, self.context.names
        found = []
        for frame, pose, twist in zip(
            prepared.frames, prepared.poses, prepared.twists, strict=True
        ):
            output, prototype = outputs[frame, 'pose'], partial(empty_pose, names.root)
            fields: Fields = {'pose': Evaluate(pose, (arrays.q,))}
            found.append(publish(output, prototype, fields, FRESH, rate('pose')))
            frame_id = self._twist_frame(frame, prepared.twist_reference)
            output, prototype = outputs[frame, 'twist'], partial(empty_twist, frame_id)
            fields = {'twist': Evaluate(twist, (arrays.q, arrays.v))}
            found.append(publish(output, prototype, fields, FRESH | VELOCITY, rate('twist')))
        tf, tree = self._tf, prepared.tree
        if tf is not None and tree is not None and tree.transforms is not None:
            transforms, fields = partial(tf.empty, tree, names), tf.fields(tree, arrays.q)
            found.append(publish(tf.moving, transforms, fields, FRESH, rate('tf')))
        empty, fields = self._empty_markers, self._marker_fields()
        return [*found, publish(self._markers, empty, fields, FRESH, self.values.markers.rate)]

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of services and markers."""
        return self._prepared.warm_up() if self._prepared else ()

    def outputs(self) -> list[Output]:
        """Return the publishers of poses, twists, markers and transforms."""
        tf = self._tf.all() if self._tf else []
        return [*self._frame_outputs.all(), self._markers, *tf]

    def _check(self, values: KinematicsParameters) -> None:
        topic_names(values.frames)
        if self.context.robot is not None:
            known_frames(self.context.robot, values.frames, '')
        if values.publish_tf:
            tf_message()

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        if 'publish_tf' in names:
            if self._tf is not None:
                self._tf.close()
            self._tf = self._tf_outputs()
        if names & {'frames', 'twist_reference', 'publish_tf', 'publish_base_tf'}:
            self.context.changes.rebuild(NAME)

    def _tf_outputs(self) -> TransformOutputs | None:
        wanted = self.values.publish_tf
        return TransformOutputs(self.node) if wanted else None

    def _publish_fixed(self) -> None:
        prepared, prefix = self._prepared, self.context.names.prefix
        if self._tf is not None and prepared is not None and prepared.tree is not None:
            self._tf.publish_fixed(prepared.tree, prefix)

    # --- topics ---------------------------------------------------------------------------------

    def _empty_markers(self) -> MarkerArray:
        """Return the markers of the axes of frames and of the centre of mass, for a template."""
        prepared, settings = self._prepared, self.values.markers
        assert prepared is not None, 'it was there when the markers were declared'
        diameter = settings.center_of_mass_diameter if prepared.center_of_mass is not None else 0.0
        count, root = len(prepared.frames), self.context.names.root
        return markers.empty_frames(root, count, settings.axis_length, diameter)

    def _marker_fields(self) -> Fields:
        prepared, q = self._prepared, self.arrays.q
        assert prepared is not None, 'it is there when the markers are declared'
        fields = {
            f'markers.{i}.pose': Evaluate(pose, (q,)) for i, pose in enumerate(prepared.poses)
        }
        if prepared.center_of_mass is not None:
            place = f'markers.{len(prepared.poses)}.pose.position'
            fields[place] = Evaluate(prepared.center_of_mass, (q,))
        return fields

    def _twist_frame(self, frame: str, reference: str) -> str:
        local = reference == 'local'
        return self.context.names.frame_id_of(frame) if local else self.context.root_frame_id()

    # --- services -------------------------------------------------------------------------------

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = await requested_state(
            self.context, request.state, request.base_pose, request.base_twist
        )
        robot = state.robot
        check_count(robot, len(request.frames), 'frames')
        names = self.context.names
        frames = [names.required_frame(robot, frame, 'frames') for frame in request.frames]
        frames = frames or self._configured_frames()
        root = self.context.root_frame_id()
        q, v = state.q, state.velocity
        kernels = [kernel('forward_kinematics', frame) for frame in frames]
        if v is not None:
            kernels += [kernel('frame_velocity', frame, reference) for frame in frames]

        def fill(owner: Robot) -> None:
            for frame in frames:
                pose = owner.forward_kinematics(q, frame)
                response.poses.append(pose_stamped(state.stamp, root, pose))
                if v is not None:
                    twist = owner.frame_velocity(q, v, frame, reference)
                    twist_frame = self._twist_frame(frame, reference)
                    response.twists.append(twist_stamped(state.stamp, twist_frame, twist))

        await self.context.compute(robot, kernels, fill)

    def _configured_frames(self) -> list[str]:
        if self._prepared is None:
            raise InvalidArgumentError('frames', self.problem or 'none are configured', 'a frame')
        return list(self._prepared.frames)

    def _default_frame(self) -> str:
        return self._configured_frames()[0]

    async def _jacobian(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = await requested_state(self.context, request.state, request.base_pose)
        names = self.context.names
        frame = self._default_frame()
        if request.frame:
            frame = names.required_frame(state.robot, request.frame, 'frame')
        jacobian = await self.context.compute(
            state.robot,
            [kernel('jacobian', frame, reference)],
            lambda owner: owner.jacobian(state.q, frame, reference),
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
