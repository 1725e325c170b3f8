# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Client node of the demonstration: subscribes to all outputs and calls the services."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.wire.conversions import (
    duration_message,
    joint_state,
    pose_matrix,
    pose_stamped,
    wrench_array,
    wrench_message,
)
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.msg import ContactState, Result
from dynamics_ros_msgs.srv import ApplyWrench, ComputeInverseDynamics, ComputeInverseKinematics

from .subject import Subject
from .tracks import Track

Array = NDArray[np.float64]
Value = TypeVar('Value')

_SIMULATOR = '/robot_simulator'
QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.RELIABLE)
_SERVICE_TIMEOUT = 60.0  # s, timeout of a service call: a busy machine takes ten
_SEARCH_TIMEOUT = 5.0  # s, timeout of a search, which the service allows at most


class ServiceError(Exception):
    """A service call failed or was not answered."""


class LateError(ServiceError):
    """A service reported that its timeout was too short."""


class UnansweredError(ServiceError):
    """A service call was not answered."""


@dataclass(frozen=True)
class State:
    """A joint state (n each), in the joint order of the robot."""

    q: Array
    v: Array
    effort: Array


@dataclass(frozen=True)
class Wrench:
    """A wrench (6) about the tool's origin, and the frame in whose axes it is expressed."""

    frame_id: str
    values: Array


@dataclass(frozen=True)
class Contact:
    """Contact state and link from contact_node."""

    state: int
    link: str

    @property
    def touched(self) -> bool:
        """Whether contact_node reports a contact or a collision."""
        return self.state != ContactState.NONE


class Client:
    """Stores the outputs of nodes and simulator; its callbacks run in the executor's thread.

    Attributes:
        node: its ROS node.
        joint_states, pose, gravity, external_torques, wrench, contact: outputs of the nodes.
        true_pose, true_wrench: ground truth of the simulator.
    """

    def __init__(self, subject: Subject, tick: Callable[[], None]) -> None:
        """Create the node with its subscriptions and clients.

        Args:
            subject: the robot.
            tick: called repeatedly while waiting; an exception from it ends the wait.
        """
        self.node = Node('dynamics_ros_demo')
        self._subject = subject
        self._tick = tick
        self._names = list(subject.robot.joint_names)
        self._tracks: dict[str, Track[Any]] = {}

        tool = topic_names([subject.tool])[subject.tool]
        truth = f'{_SIMULATOR}/ground_truth'
        self.joint_states = self._subscribe('/joint_states', JointState, self._state)
        self.pose = self._subscribe(f'/kinematics_node/{tool}/pose', PoseStamped, _matrix)
        self.gravity = self._subscribe('/dynamics_node/gravity_torques', JointState, self._efforts)
        self.external_torques = self._subscribe(
            '/contact_node/external_torques', JointState, self._efforts
        )
        self.wrench = self._subscribe(f'/contact_node/{tool}/wrench', WrenchStamped, _wrench)
        self.contact = self._subscribe('/contact_node/contact_state', ContactState, _contact)
        self.true_pose = self._subscribe(f'{truth}/pose', PoseStamped, _matrix)
        self.true_wrench = self._subscribe(f'{truth}/wrench', WrenchStamped, _wrench)

        self._push = self.node.create_client(ApplyWrench, f'{_SIMULATOR}/apply_wrench')
        self._solve = self.node.create_client(
            ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics'
        )
        self._inverse_dynamics = self.node.create_client(
            ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics'
        )
        self._services = (self._push, self._solve, self._inverse_dynamics)

    def received(self) -> dict[str, int]:
        """Number of received messages of each topic."""
        return {name: track.count for name, track in self._tracks.items()}

    def rate(self) -> float:
        """Joint states per second of simulated time, including lost ones [Hz]."""
        stamps = sorted(self.joint_states.stamps())
        steps = [b - a for a, b in pairwise(stamps)]
        return NANOSECONDS / min(steps) if steps else 0.0

    def silent(self) -> list[str]:
        """Names of topics without a message so far, and of services that are not available."""
        topics = [name for name, count in self.received().items() if not count]
        return topics + [
            client.srv_name for client in self._services if not client.service_is_ready()
        ]

    def alone(self) -> bool:
        """Whether exactly one node publishes joint states."""
        return bool(self.node.count_publishers('/joint_states') == 1)

    def newest_state(self) -> State:
        """The latest joint state; at least one must have been received."""
        state = self.joint_states.latest
        assert state is not None
        return state

    def push(self, force: Array, duration: float) -> float:
        """Push the tool with a force (3) in root axes for a duration [s]; return the call time [s].

        Raises:
            ServiceError: the push was rejected.
        """
        request = ApplyWrench.Request(
            frame=self._subject.tool,
            wrench=wrench_message(np.concatenate([force, np.zeros(3)])),
            duration=duration_message(duration),
        )
        _, took = self._call(self._push, request)
        return took

    def inverse_kinematics(self, target: Array) -> tuple[Array, float]:
        """Joint positions (n) that bring the tool to a pose (4, 4), and the call time [s].

        Raises:
            ServiceError: there is no solution, or the call failed.
        """
        request = ComputeInverseKinematics.Request(
            frame=self._subject.tool, timeout=duration_message(_SEARCH_TIMEOUT)
        )
        request.target = pose_stamped(
            self.node.get_clock().now().to_msg(), self._subject.robot.root_frame, target
        )
        response, took = self._call(self._solve, request)
        return self._in_order(response.solution.name, response.solution.position), took

    def inverse_dynamics(self, state: State, a: Array) -> tuple[Array, float]:
        """Joint torques (n) for accelerations a (n) in a state, and the call time [s].

        Raises:
            ServiceError: the call failed.
        """
        stamp = self.node.get_clock().now().to_msg()
        request = ComputeInverseDynamics.Request(
            state=joint_state(stamp, self._names, position=state.q, velocity=state.v),
            acceleration_names=self._names,
            accelerations=a.tolist(),
        )
        response, took = self._call(self._inverse_dynamics, request)
        return self._in_order(response.torques.name, response.torques.effort), took

    def _subscribe(self, topic: str, kind: Any, value: Callable[[Any], Value]) -> Track[Value]:
        """Subscribe to a topic as bytes; ``value`` converts a message when it is requested."""
        track = Track(lambda data: value(deserialize_message(data, kind)))

        def receive(data: bytes) -> None:
            # All these messages begin with a header, after the four bytes of the CDR encapsulation.
            sec, nanosec = struct.unpack_from('<iI' if data[1] else '>iI', data, 4)
            track.add(sec * NANOSECONDS + nanosec, data)

        self._tracks[topic] = track
        self.node.create_subscription(kind, topic, receive, QOS, raw=True)
        return track

    def _call(self, client: Any, request: Any) -> tuple[Any, float]:
        """Call a service and wait for its response, while the executor runs in another thread.

        Returns:
            The response, and the time of the call [s].
        """
        began = time.monotonic()
        arrivals: list[float] = []
        future = client.call_async(request)
        future.add_done_callback(lambda _: arrivals.append(time.monotonic()))
        while not arrivals:
            self._tick()
            if time.monotonic() - began > _SERVICE_TIMEOUT:
                client.remove_pending_request(future)
                raise UnansweredError(
                    f'{client.srv_name} has not answered in {_SERVICE_TIMEOUT:g} s'
                )
            time.sleep(0.0005)
        response = future.result()
        result = response.result
        if result.code <= 0:
            kind = LateError if result.code == Result.TIMED_OUT else ServiceError
            raise kind(f'{client.srv_name}: code {result.code}, {result.message}')
        return response, arrivals[0] - began

    def _state(self, message: JointState) -> State:
        return State(
            self._in_order(message.name, message.position),
            self._in_order(message.name, message.velocity),
            self._in_order(message.name, message.effort),
        )

    def _efforts(self, message: JointState) -> Array:
        return self._in_order(message.name, message.effort)

    def _in_order(self, names: list[str], values: Any) -> Array:
        """Values (n) of a message in the joint order of the robot."""
        if names == self._names:
            return np.array(values)
        given = dict(zip(names, values, strict=True))
        return np.array([given[name] for name in self._names])


def _matrix(message: PoseStamped) -> Array:
    return pose_matrix(message.pose, 'pose')


def _wrench(message: WrenchStamped) -> Wrench:
    return Wrench(message.header.frame_id, wrench_array(message.wrench, 'wrench'))


def _contact(message: ContactState) -> Contact:
    return Contact(message.state, message.link)
