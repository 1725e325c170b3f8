"""Requests that are like the one before: answered from bytes to bytes, as if they were not."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from ros_harness import client, description, occupy, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.app.executor import make_executor
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.nodes.services import serving
from dynamics_ros.nodes.services.repeats import Numbers, Repeatable, Repeats
from dynamics_ros.nodes.wire import service_bytes
from dynamics_ros.nodes.wire.service_bytes import ServiceBytes, UnknownMessageClassError
from dynamics_ros_msgs import srv
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeForwardDynamics, ComputeInverseDynamics, SetGravity

pytestmark = pytest.mark.ros

DOMAIN, INSIDE = 75, 76
SERVICES = [getattr(srv, name) for name in dir(srv) if name[0].isupper() and '_' not in name]

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
RNG = np.random.default_rng(7)
PATIENCE = 40.0


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


# --- bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize('kind', SERVICES, ids=lambda kind: kind.__name__)
def test_requests_come_as_bytes_and_responses_leave_so(kind):
    stands_for = ServiceBytes(kind)
    for part in (kind.Request, kind.Response):
        message = part()
        filled(message)
        data = serialize_message(message)
        if part is kind.Request:
            taken = deserialize_message(data, stands_for.Request)
            assert type(taken) is bytes
            assert deserialize_message(taken, part) == message
        else:
            sent = serialize_message(stands_for.Response(data))
            assert deserialize_message(sent, part) == message
            assert isinstance(message, stands_for.Response)
            assert not isinstance(kind.Request(), stands_for.Response)


def filled(message: Any) -> None:
    """Put something into every field that is a number or a string."""
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        if isinstance(value, float):
            setattr(message, name, float(RNG.uniform(1.0, 2.0)))
        elif isinstance(value, str):
            setattr(message, name, 'some text')
        elif hasattr(value, 'typecode'):
            value.extend(RNG.uniform(1.0, 2.0, 3).tolist() if value.typecode == 'd' else [1, 2])
        elif hasattr(value, 'get_fields_and_field_types'):
            filled(value)


def test_a_response_that_is_none_raises_and_does_no_harm():
    stands_for = ServiceBytes(ComputeInverseDynamics)
    for nonsense in (b'', b'xx', b'\0\1\0\0' + b'\xff' * 9, None):
        with pytest.raises(RuntimeError):
            serialize_message(stands_for.Response(nonsense))
    response = ComputeInverseDynamics.Response(torques=JointState(name=NAMES))
    good = stands_for.Response(serialize_message(response))
    assert deserialize_message(serialize_message(good), ComputeInverseDynamics.Response) == response


@pytest.mark.parametrize('name', service_bytes.NAMES)
def test_another_way_of_making_messages_is_recognised(monkeypatch, name):
    kind = ComputeInverseDynamics
    ServiceBytes(kind)  # which has rclpy look its functions up
    monkeypatch.setattr(type(kind.Request), name, None)
    monkeypatch.setattr('dynamics_ros.nodes.wire.service_bytes.serialize_message', lambda _: b'')
    with pytest.raises(UnknownMessageClassError, match=name):
        ServiceBytes(kind)


def test_a_middleware_that_is_not_as_it_is_known_is_recognised(monkeypatch):
    def other(*_):
        return 1

    middleware = service_bytes._middleware()
    for name in ('serialize', 'deserialize'):
        with monkeypatch.context() as patched:
            patched.setattr(middleware, name, other)
            with pytest.raises(UnknownMessageClassError):
                ServiceBytes(ComputeInverseDynamics)
    ServiceBytes(ComputeInverseDynamics)


def test_a_large_request_leaves_no_room_behind():
    stands_for = ServiceBytes(ComputeInverseDynamics)
    request = request_of()
    request.state.header.frame_id = 'x' * (8 << 20)
    data = serialize_message(request)
    assert deserialize_message(deserialize_message(data, stands_for.Request), type(request)) == (
        request
    )
    assert service_bytes._middleware().room.capacity <= service_bytes.MOST_ROOM


# --- what is remembered -------------------------------------------------------------------------


class Asked:
    """A service on the library, that counts what it has to understand."""

    def __init__(self) -> None:
        self.understood = 0
        self.robot = ROBOT
        self.waits_for: Future[None] | None = None

    async def answer(self, request: Any, response: Any) -> Repeatable | None:
        self.understood += 1
        if self.waits_for is not None:
            await self.waits_for
        if not np.isfinite(request.state.position).all():
            raise InvalidArgumentError('state.position', 'not finite', 'finite numbers')
        robot, order = self.robot, tuple(request.state.name.index(name) for name in NAMES)
        response.torques.name = list(reversed(NAMES))
        response.torques.effort = torques(request, robot)[::-1].tolist()
        response.torques.header.stamp = request.state.header.stamp
        return Repeatable(
            robot.kernel('inverse_dynamics'),
            tuple(
                Numbers(field, order)
                for field in ('state.position', 'state.velocity', 'accelerations')
            ),
            Numbers('torques.effort', tuple(reversed(range(7)))),
            lambda: self.robot is robot,
        )


@pytest.fixture(params=['the fastest executor', 'the usual executor'])
def asked(request):
    """A service in this process, and a function that calls it."""
    yield from offered(request.param == 'the fastest executor')


def offered(fast):
    occupy(INSIDE)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=INSIDE)
    rclpy.init(domain_id=INSIDE)
    executor = make_executor() if fast else SingleThreadedExecutor()
    node = Node('asked')
    service = Asked()
    serving.serve(node, ComputeInverseDynamics, 'ask', service.answer, FaultLog(node), repeats=True)
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

    service.executor = executor
    yield service, call
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    rclpy.shutdown(context=context)


def test_the_third_request_of_a_kind_is_not_understood_anew(asked):
    service, call = asked
    for names in (NAMES, [NAMES[i] for i in (3, 0, 6, 2, 5, 1, 4)]):
        before = service.understood
        for _ in range(10):
            request = request_of(names)
            response = call(request)
            assert response.result.code == Result.SUCCESS
            assert response.torques.name == NAMES[::-1]
            assert response.torques.header.stamp == request.state.header.stamp
            assert_array_equal(response.torques.effort, torques(request)[::-1])
        assert service.understood == before + 2


def test_both_kinds_stay_known_to_clients_that_take_turns(asked):
    service, call = asked
    kinds = [NAMES, NAMES[::-1]]
    for names in (kinds[0], kinds[0], kinds[1], kinds[1]):
        call(request_of(names))
    before = service.understood
    for i in range(20):
        request = request_of(kinds[i % 2])
        assert_array_equal(call(request).torques.effort, torques(request)[::-1])
    assert service.understood == before


def test_what_differs_in_more_is_understood_anew(asked):
    service, call = asked
    for _ in range(3):
        call(request_of())
    others = {
        'a number that is none': request_of(),
        'a result that is none': request_of(),
        'another frame_id': request_of(),
        'other names': request_of([*NAMES[1:], NAMES[0]]),
        'the pose of a base': request_of(),
    }
    others['a number that is none'].state.position[3] = float('nan')
    others['a result that is none'].state.velocity = [1e300] * 7  # their squares overflow
    others['another frame_id'].state.header.frame_id = 'somewhere'
    others['the pose of a base'].base_pose.position.x = 1.0
    for what, request in others.items():
        before = service.understood
        response = call(request)
        assert service.understood == before + 1, what
        if what == 'a number that is none':
            assert response.result.code == Result.INVALID_ARGUMENT
            assert 'state.position' in response.result.message
        elif what == 'a result that is none':
            # Whoever understands it has the last word, the node's services that it is refused.
            assert not np.isfinite(response.torques.effort).any()
        else:
            assert_array_equal(response.torques.effort, torques(request)[::-1])
    before = service.understood
    request = request_of()
    assert_array_equal(call(request).torques.effort, torques(request)[::-1])
    assert service.understood == before


def test_another_robot_is_taken_at_once(asked):
    service, call = asked
    for _ in range(3):
        call(request_of())
    service.robot = ROBOT.with_gravity((0.0, 0.0, -1.6))
    for _ in range(4):
        request = request_of()
        assert_array_equal(call(request).torques.effort, torques(request, service.robot)[::-1])


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
    assert_array_equal(response.torques.effort, torques(request)[::-1])


def test_a_request_larger_than_any_robot_is_refused_before_it_is_read(asked):
    service, call = asked
    request = request_of()
    request.external_wrenches = [WrenchStamped()] * 20_000
    response = call(request)
    assert response.result.code == Result.INVALID_ARGUMENT
    assert f'at most {serving.MOST_BYTES}' in response.result.message
    assert service.understood == 0
    assert call(request_of()).result.code == Result.SUCCESS


@pytest.mark.parametrize('method', ['learn', 'answer'])
def test_a_fault_in_remembering_costs_no_answer(asked, monkeypatch, method):
    def fail(*_):
        raise ZeroDivisionError('a fault')

    service, call = asked
    monkeypatch.setattr(Repeats, method, fail)
    for _ in range(4):
        request = request_of()
        assert_array_equal(call(request).torques.effort, torques(request)[::-1])
    assert service.understood == 4


def test_where_bytes_are_not_to_be_had_all_is_answered_the_same(monkeypatch):
    def refuse(kind):
        raise UnknownMessageClassError(kind.__name__)

    monkeypatch.setattr(serving, 'ServiceBytes', refuse)
    for service, call in offered(True):
        for _ in range(5):
            request = request_of()
            assert_array_equal(call(request).torques.effort, torques(request)[::-1])
        assert service.understood == 5


def test_only_so_many_are_remembered():
    repeats = Repeats()
    kernel = ROBOT.kernel('gravity')
    data = []
    for i in range(10):
        request = ComputeInverseDynamics.Request(
            state=JointState(name=[f'{i}{name}' for name in NAMES], position=[0.1] * 7)
        )
        response = ComputeInverseDynamics.Response(torques=JointState(effort=[0.0] * 7))
        data.append(serialize_message(request))
        how = Repeatable(
            kernel, (Numbers('state.position'),), Numbers('torques.effort'), lambda: True
        )
        for _ in range(2):
            repeats.learn(data[-1], request, response, how)
    answered = [repeats.answer(one) is not None for one in data]
    assert answered == [False] * 6 + [True] * 4


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
