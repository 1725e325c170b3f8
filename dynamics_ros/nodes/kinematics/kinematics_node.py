# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""kinematics_node: topics of poses, twists and transforms; services of kinematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from dynamics_ros.algorithms.jacobian import Reference
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Step
from dynamics_ros.multibody.end_effector.manipulability import manipulability
from dynamics_ros.nodes.output.outputs import FrameOutputs, Output
from dynamics_ros.nodes.output.plan import FRESH, VELOCITY, Group, KernelMessage
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.request_state import requested_state
from dynamics_ros.nodes.services.serving import serve
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.names import known_frames
from dynamics_ros.requests.frame_names import check_count
from dynamics_ros.requests.kernel_twin import kernel
from dynamics_ros.requests.prepared_kinematics import PreparedKinematics
from dynamics_ros.robot import Robot
from dynamics_ros.wire import markers
from dynamics_ros.wire.conversions import (
    empty_pose,
    empty_twist,
    finite_sequence,
    header,
    pose_stamped,
    twist_stamped,
)
from dynamics_ros.wire.responses import velocity_names
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
)

from .frame_tree import TransformOutputs, tf_message
from .inverse_kinematics_service import InverseKinematicsService
from .moveit_services import MoveItServices

NAME = 'kinematics_node'

REFERENCES: tuple[Reference, ...] = ('local_world_aligned', 'local', 'world')


class Kinematics(RobotComponent[KinematicsParameters]):
    """Component that publishes poses and twists of frames, and answers kinematics requests."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context, KinematicsParameters)
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._prepared: PreparedKinematics | None = None
        self._frame_outputs = FrameOutputs(node, {'pose': PoseStamped, 'twist': TwistStamped})
        self._markers = Output(node, MarkerArray, '~/markers')
        self._tf = self._tf_outputs()
        self._searches = InverseKinematicsService(self)
        self.moveit = MoveItServices(self, self._searches, lambda: self._configured_frames()[0])
        if self.values.moveit_services:
            self.moveit.offer()
        for kind, name, handler in (
            (ComputeForwardKinematics, 'compute_forward_kinematics', self._forward_kinematics),
            (ComputeInverseKinematics, 'compute_inverse_kinematics', self._searches.answer),
            (ComputeJacobian, 'compute_jacobian', self._jacobian),
        ):
            serve(node, kind, f'~/{name}', handler)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> PreparedKinematics:
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

    def groups(self) -> list[Group]:
        """Return the outputs: poses, twists, transforms and markers."""
        prepared, outputs = self._prepared, self._frame_outputs
        if prepared is None:
            return []
        self._publish_fixed()
        rates, arrays, names = self.rate_of, self.arrays, self.context.names
        groups = []
        for frame, pose, twist in zip(
            prepared.frames, prepared.poses, prepared.twists, strict=True
        ):
            output = outputs[frame, 'pose']
            message = partial(self.kernel_message, output, 'pose')
            make = partial(message, names.root, empty_pose, pose, arrays.q)
            groups.append(Group(output, rates('pose'), FRESH, 'poses', make))
            output = outputs[frame, 'twist']
            message = partial(self.kernel_message, output, 'twist')
            frame_id = self._twist_frame(frame, prepared.twist_reference)
            make = partial(message, frame_id, empty_twist, twist, arrays.q, arrays.v)
            groups.append(Group(output, rates('twist'), FRESH | VELOCITY, 'twists', make))
        tf, tree = self._tf, prepared.tree
        if tf is not None and tree is not None and tree.transforms is not None:
            make = partial(tf.moving_message, tree, self.context.names, arrays.q)
            groups.append(Group(tf.moving, rates('tf'), FRESH, 'tf', make))
        rate, make = self.values.markers.rate, partial(self._markers_message, prepared)
        groups.append(Group(self._markers, rate, FRESH, 'markers', make))
        return groups

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

    def _markers_message(self, prepared: PreparedKinematics) -> KernelMessage:
        """Return the markers of the axes of frames and of the centre of mass."""
        settings, center = self.values.markers, prepared.center_of_mass
        diameter = settings.center_of_mass_diameter if center is not None else 0.0
        key = (self.context.names.root, prepared.frames, settings.axis_length, diameter)
        last = len(prepared.frames)
        paths, kernels = [f'markers.{i}.pose' for i in range(last)], list(prepared.poses)
        if center is not None:
            paths.append(f'markers.{last}.pose.position')
            kernels.append(center)
        template, q = self._markers.template(key, markers.empty_frames, paths), self.arrays.q
        steps = [
            Step(kernel, (q,), (numbers,))
            for kernel, numbers in zip(kernels, template.numbers, strict=True)
        ]
        return KernelMessage(template, tuple(steps))

    def _twist_frame(self, frame: str, reference: str) -> str:
        local = reference == 'local'
        return self.context.names.frame_id_of(frame) if local else self.context.root_frame_id()

    # --- services -------------------------------------------------------------------------------

    async def _forward_kinematics(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
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

    async def _jacobian(self, request: Any, response: Any) -> None:
        reference = _reference(request.reference)
        state = requested_state(self.context, request.state, request.base_pose)
        frame = self.context.names.required_frame(state.robot, request.frame, 'frame')
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
