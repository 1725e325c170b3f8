# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latched topics of payload and gravity, from the node that manages them to all others."""

from __future__ import annotations

from geometry_msgs.msg import Vector3Stamped
from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.output.outputs import LATCHED, Output
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.requests import robot_request
from dynamics_ros.requests.robot_request import RobotRequest
from dynamics_ros.wire.conversions import (
    header,
    inertia_arrays,
    inertia_message,
    vector_array,
    vector_message,
)
from dynamics_ros_msgs.msg import Payload

from .context import RobotContext


class LoadPublisher:
    """Publisher of the current payload and gravity."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        """Create the topics ``payload`` and ``gravity`` of a node."""
        self._context = context
        self._payload = Output(node, Payload, 'payload', LATCHED)
        self._gravity = Output(node, Vector3Stamped, 'gravity', LATCHED)
        self._published_payload: PayloadParameters | None = None
        self._published_gravity: tuple[str, tuple[float, ...]] | None = None

    @property
    def outputs(self) -> list[Output]:
        """Both publishers."""
        return [self._payload, self._gravity]

    def publish(self, request: RobotRequest) -> None:
        """Publish payload and gravity of the current robot, each only if it has changed."""
        context, payload = self._context, request.payload
        if payload != self._published_payload:
            self._published_payload = payload
            head = header(context.now(), context.names.frame_id_of(payload.frame))
            inertia = inertia_message(
                payload.mass, payload.center_of_mass, payload.inertia_matrix()
            )
            self._payload.publish(Payload(header=head, inertia=inertia))
        gravity = context.root_frame_id(), request.gravity
        if gravity != self._published_gravity:
            self._published_gravity = gravity
            head = header(context.now(), gravity[0])
            self._gravity.publish(Vector3Stamped(header=head, vector=vector_message(gravity[1])))


class LoadSubscriber:
    """Applies payload and gravity that another node publishes."""

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to ``payload``, and to ``gravity`` unless ``gravity_source`` is set."""
        self._context = context
        node = context.node
        node.create_subscription(Payload, 'payload', self._on_payload, LATCHED)
        if context.parameters.values.gravity_source.kind == 'parameter':
            node.create_subscription(Vector3Stamped, 'gravity', self._on_gravity, LATCHED)

    def _on_payload(self, message: Payload) -> None:
        context = self._context
        try:
            mass, center, inertia = inertia_arrays(message.inertia, 'payload.inertia')
        except DynamicsRosError as error:
            context.changes.report('payload', error)
            return
        frame = context.names.frame_of(message.header.frame_id)
        payload = PayloadParameters.of(frame, mass, center, inertia)
        context.changes.change_and_report('payload', payload=payload)

    def _on_gravity(self, message: Vector3Stamped) -> None:
        context = self._context
        try:
            gravity = gravity_in_root(context, message)
        except DynamicsRosError as error:
            context.changes.report('gravity', error)
            return
        context.changes.change_and_report('gravity', gravity=gravity)
        context.parameters.store({'gravity': gravity})


def gravity_in_root(context: RobotContext, message: Vector3Stamped) -> tuple[float, ...]:
    """Return the acceleration of free fall in a message; arguments of the errors begin gravity.

    See ``requests.robot_request.gravity_in_root``.
    """
    vector = vector_array(message.vector, 'gravity.vector')
    frame_id, names = message.header.frame_id, context.names
    return robot_request.gravity_in_root(vector, frame_id, names, context.robot)
