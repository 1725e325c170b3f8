# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services: answered at once or once something is there, and the dynamics that they tell."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from patience import PATIENCE

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from ros_harness import client, description, occupy, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.guarded_node import MAX_BYTES, GuardedNode
from dynamics_ros.nodes.process import make_executor
from dynamics_ros.nodes.services import serve
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeForwardDynamics, ComputeInverseDynamics, SetGravity

pytestmark = pytest.mark.ros

DOMAIN, INSIDE = 39, 40
ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
RNG = np.random.default_rng(7)


def request_of(names=NAMES, frames=(), **fields: Any) -> Any:
    """Inverse dynamics of a random state, with wrenches at frames."""
    count = len(names)
    request = ComputeInverseDynamics.Request(
        state=JointState(
            name=list(names),
            position=RNG.uniform(-1.0, 1.0, count).tolist(),
            velocity=RNG.uniform(-1.0, 1.0, count).tolist(),
        ),
        accelerations=RNG.uniform(-1.0, 1.0, count).tolist(),
    )
    request.state.header.stamp.sec = int(RNG.integers(1, 10**6))
    for frame in frames:
        wrench = WrenchStamped()
        wrench.header.frame_id = frame
        force, torque = wrench.wrench.force, wrench.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = RNG.uniform(-5.0, 5.0, 6).tolist()
        request.external_wrenches.append(wrench)
    for field, value in fields.items():
        setattr(request, field, value)
    return request


def torques(request: Any, robot: Robot = ROBOT) -> np.ndarray:
    """What the library says to a request."""
    state = request.state
    q, v, a = np.zeros(7), np.zeros(7), np.zeros(7)
    for i, name in enumerate(state.name):
        q[NAMES.index(name)] = state.position[i]
        v[NAMES.index(name)] = state.velocity[i] if state.velocity else 0.0
    for name, value in zip(request.acceleration_names or state.name, request.accelerations):
        a[NAMES.index(name)] = value
    wrenches: dict[str, np.ndarray] = {}
    for one in request.external_wrenches:
        force, torque, frame = one.wrench.force, one.wrench.torque, one.header.frame_id
        six = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        wrenches[frame] = wrenches.get(frame, 0.0) + six
    return robot.inverse_dynamics(q, v, a, wrenches)


# --- one service in this process ----------------------------------------------------------------


class Asked:
    """A service on the library.

    Attributes:
        understood: requests that its handler has seen.
        waits_for: what it waits for before it answers.
    """

    def __init__(self) -> None:
        self.understood = 0
        self.waits_for: Future[None] | None = None

    async def answer(self, request: Any, response: Any) -> None:
        self.understood += 1
        if self.waits_for is not None:
            await self.waits_for
        if not np.isfinite(request.state.position).all():
            raise InvalidArgumentError('state.position', 'not finite', 'finite numbers')
        if not request.state.name:
            raise ZeroDivisionError('a fault')
        response.torques.effort = torques(request).tolist()


@pytest.fixture(params=['the fastest executor', 'the usual executor'])
def asked(request):
    """A service in this process, and a function that calls it."""
    occupy(INSIDE)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=INSIDE)
    rclpy.init(domain_id=INSIDE)
    fast = request.param == 'the fastest executor'
    executor = make_executor() if fast else SingleThreadedExecutor()
    node = GuardedNode('asked')
    service = Asked()
    serve(node, ComputeInverseDynamics, 'ask', service.answer)
    caller = node.create_client(ComputeInverseDynamics, 'ask')
    # Executors look at coroutines that wait after events of the middleware only.
    node.create_timer(0.02, lambda: None)
    executor.add_node(node)
    assert caller.wait_for_service(PATIENCE)

    def call(request, *, then=lambda: None):
        future = caller.call_async(request)
        then()
        executor.spin_until_future_complete(future, timeout_sec=PATIENCE)
        assert future.done()
        return future.result()

    service.executor, service.node = executor, node
    yield service, call
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    rclpy.shutdown(context=context)


def test_what_is_there_is_answered_and_what_is_raised_is_told(asked):
    service, call = asked
    request = request_of()
    response = call(request)
    assert response.result.code == Result.SUCCESS
    assert_allclose(response.torques.effort, torques(request), rtol=1e-12)
    request.state.position[3] = float('nan')
    response = call(request)
    assert response.result.code == Result.INVALID_ARGUMENT
    assert 'state.position' in response.result.message
    assert not service.node.faults.counts
    assert 'a fault' in call(request_of([])).result.message
    assert service.node.faults.counts.total() == 1


def test_an_answer_that_has_to_wait_comes_once_it_is_there(asked):
    service, call = asked
    service.waits_for = Future(executor=service.executor)
    done = service.waits_for

    def later():
        service.executor.create_task(done.set_result, None)

    timer = threading.Timer(0.2, later)
    request = request_of()
    response = call(request, then=timer.start)
    assert done.done()
    assert_allclose(response.torques.effort, torques(request), rtol=1e-12)


def test_a_request_larger_than_any_robot_is_refused_before_anything_is_computed(asked):
    service, call = asked
    request = request_of()
    request.external_wrenches = [WrenchStamped()] * 20_000
    response = call(request)
    assert response.result.code == Result.INVALID_ARGUMENT
    assert f'at most {MAX_BYTES}' in response.result.message
    assert service.understood == 0
    assert call(request_of()).result.code == Result.SUCCESS


# --- the node -----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def ros():
    parameters = {'robot_description': description()}
    with running('dynamics_node', DOMAIN, parameters), client(DOMAIN) as one:
        one.wait_for(lambda: ask(one, request_of()).result.code != Result.NO_MODEL)
        yield one


def ask(ros, request: Any, kind: Any = ComputeInverseDynamics, name='compute_inverse_dynamics'):
    return ros.call(kind, f'/dynamics_node/{name}', request)


SHUFFLED = [NAMES[i] for i in (3, 0, 6, 2, 5, 1, 4)]
MANY = {
    'all joints': {},
    'another order': {'names': SHUFFLED},
    'accelerations in another order': {'acceleration_names': SHUFFLED},
    'no accelerations': {'accelerations': []},
    'some accelerations': {'acceleration_names': NAMES[2:4], 'accelerations': [1.0, 2.0]},
    'a wrench': {'frames': ['tool0']},
    'two wrenches': {'frames': ['tool0', 'forearm_link']},
    'the same wrenches, the other first': {'frames': ['forearm_link', 'tool0']},
    'two at one frame': {'frames': ['tool0', 'tool0']},
}


@pytest.mark.parametrize('what', MANY)
def test_inverse_dynamics_again_and_again(ros, what):
    for _ in range(6):
        request = request_of(**MANY[what])
        response = ask(ros, request)
        assert response.result.code == Result.SUCCESS, response.result.message
        assert response.torques.name == NAMES
        assert response.torques.header.stamp == request.state.header.stamp
        # The node computes with the same kernels.
        assert_allclose(response.torques.effort, torques(request), rtol=1e-12, atol=1e-12)


def test_forward_dynamics_again_and_again(ros):
    for names in (NAMES, SHUFFLED):
        for _ in range(6):
            asked = request_of(names, ['tool0'])
            request = ComputeForwardDynamics.Request(
                state=asked.state, external_wrenches=asked.external_wrenches
            )
            request.state.effort = [
                torques(asked)[NAMES.index(name)] for name in request.state.name
            ]
            response = ask(ros, request, ComputeForwardDynamics, 'compute_forward_dynamics')
            assert response.result.code == Result.SUCCESS, response.result.message
            expected = dict(zip(names, asked.accelerations, strict=True))
            found = dict(zip(response.joint_names, response.accelerations, strict=True))
            # There and back again loses what the mass matrix loses.
            assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_gravity_that_is_set_counts_from_the_next_request_on(ros):
    for _ in range(3):
        ask(ros, request_of())
    for gravity in ((0.0, 0.0, -1.62), (0.0, 3.7, 0.0), (0.0, 0.0, -9.81)):
        change = SetGravity.Request()
        change.gravity.vector.x, change.gravity.vector.y, change.gravity.vector.z = gravity
        assert ask(ros, change, SetGravity, 'set_gravity').result.code == Result.SUCCESS
        robot = ROBOT.with_gravity(gravity)
        for _ in range(4):
            request = request_of()
            found = ask(ros, request).torques.effort
            assert_allclose(found, torques(request, robot), rtol=1e-12, atol=1e-12)
