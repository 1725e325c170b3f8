# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_node: gravity torques as topics; dynamics, payload and gravity as services."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from geometry_msgs.msg import Accel, Vector3, Vector3Stamped, WrenchStamped
from numpy.testing import assert_allclose
from ros_harness import LATCHED, client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros.control import FeedForward, JointMotion
from dynamics_ros.estimation.effort_model import EffortModel
from dynamics_ros.simulation import comfortable_posture
from dynamics_ros.wire.conversions import duration_message, seconds
from dynamics_ros_msgs.msg import Payload, Result
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardDynamics,
    ComputeInverseDynamics,
    ComputeTrajectoryEfforts,
    SetGravity,
    SetPayload,
)

pytestmark = pytest.mark.ros

DOMAIN = 53

# The node calls the same Robot with the same numbers.
SAME = 1e-12

COMMANDED = NAMES[::-1]
V = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6, -0.7])
TAU = np.array([1.0, 20.0, -2.0, 10.0, 0.5, -0.3, 0.1])
A = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.6, -0.7])


@pytest.fixture(scope='module')
def node():
    parameters = {
        'robot_description': ARM,
        'command_joints': COMMANDED,
        'state_timeout': 0.0,  # however long a busy machine takes from one call to the next
    }
    with running('dynamics_node', DOMAIN, parameters) as process:
        yield process


@pytest.fixture(scope='module')
def ros(node):
    with client(DOMAIN) as one:
        torques = one.listen(JointState, '/dynamics_node/gravity_torques')
        one.exchange(one.joint_state(NAMES, Q, V, TAU), torques)
        yield one


@cache
def torques_of(ros):
    """The one list of gravity torques that ``in_state`` looks at."""
    return ros.listen(JointState, '/dynamics_node/gravity_torques')


def in_state(ros):
    """Have the node hold the state as its latest; its gravity torques there."""
    received = torques_of(ros)
    received.clear()
    return np.array(ros.exchange(ros.joint_state(NAMES, Q, V, TAU), received).effort)


def call(ros, kind, name, **fields):
    request = kind.Request()
    for field, value in fields.items():
        setattr(request, field, value)
    return ros.call(kind, f'/dynamics_node/{name}', request)


def wrench(frame: str, values) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = map(float, values)
    return message


def test_gravity_torques_name_their_joints_and_carry_the_stamp_of_the_input(ros):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    message = ros.joint_state(NAMES[::-1], Q[::-1])
    torque = ros.exchange(message, torques)
    assert torque.header.stamp == message.header.stamp
    assert torque.name == NAMES
    assert not len(torque.position) and not len(torque.velocity)
    assert_allclose(torque.effort, ROBOT.gravity(Q), atol=SAME)


def test_gravity_commands_are_in_the_order_of_the_command_joints(ros):
    commands = ros.listen(Float64MultiArray, '/dynamics_node/gravity_commands')
    message = ros.joint_state(NAMES, Q)
    ros.wait_for(lambda: commands, meanwhile=lambda: ros.publish_joint_state(message))
    assert_allclose(commands[-1].data, ROBOT.gravity(Q)[::-1], atol=SAME)


PUSH = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
STATE = JointState(name=NAMES, position=Q.tolist(), velocity=V.tolist())


@pytest.mark.parametrize(
    ('fields', 'a', 'wrenches'),
    [
        ({'state': STATE, 'accelerations': A.tolist()}, A, {}),
        ({}, 0.0 * A, {}),  # the latest state, at no acceleration
        (
            {'state': STATE, 'external_wrenches': [wrench('tool0', PUSH)] * 2},
            *(0.0 * A, {'tool0': 2.0 * PUSH}),
        ),
    ],
)
def test_inverse_dynamics(ros, fields, a, wrenches):
    in_state(ros)
    response = call(ros, ComputeInverseDynamics, 'compute_inverse_dynamics', **fields)
    assert response.result.code == Result.SUCCESS, response.result.message
    assert response.torques.name == NAMES
    expected = ROBOT.inverse_dynamics(Q, V, a, wrenches)
    assert_allclose(response.torques.effort, expected, atol=SAME)


def test_forward_dynamics_undoes_inverse_dynamics(ros):
    tau = ROBOT.inverse_dynamics(Q, V, A)
    state = ros.joint_state(NAMES, Q, V, tau)
    response = call(ros, ComputeForwardDynamics, 'compute_forward_dynamics', state=state)
    assert response.joint_names == NAMES
    # The mass matrix is solved for: its condition number times the rounding.
    assert_allclose(response.accelerations, A, atol=1e-9)


def test_the_terms_of_the_equation_of_motion(ros):
    response = call(
        ros, ComputeDynamicsTerms, 'compute_dynamics_terms', state=ros.joint_state(NAMES, Q, V)
    )
    assert response.result.code == Result.SUCCESS, response.result.message
    assert response.velocity_names == NAMES
    mass = np.reshape(response.mass_matrix, (response.size, response.size))
    coriolis = np.reshape(response.coriolis, (response.size, response.size))
    assert_allclose(mass, ROBOT.mass_matrix(Q), atol=SAME)
    assert_allclose(response.gravity, ROBOT.gravity(Q), atol=SAME)
    assert_allclose(coriolis @ V + response.gravity, response.nonlinear_effects, atol=SAME)
    assert response.kinetic_energy == pytest.approx(0.5 * V @ mass @ V, rel=SAME)
    assert response.potential_energy == pytest.approx(float(ROBOT.potential_energy(Q)), rel=SAME)
    assert response.total_mass == pytest.approx(ROBOT.total_mass, rel=SAME)
    center = response.center_of_mass
    assert_allclose([center.x, center.y, center.z], ROBOT.center_of_mass(Q), atol=SAME)


def test_a_payload_changes_the_torques_is_announced_and_can_be_taken_off(ros):
    announced = ros.listen(Payload, '/payload', LATCHED)
    payload = Payload()
    payload.header.frame_id = 'tool0'
    payload.inertia.m, payload.inertia.com.z = 2.0, 0.05
    response = call(ros, SetPayload, 'set_payload', payload=payload)
    assert response.result.code == Result.SUCCESS, response.result.message
    loaded = ROBOT.with_payload('tool0', 2.0, (0.0, 0.0, 0.05))
    assert_allclose(in_state(ros), loaded.gravity(Q), atol=SAME)
    ros.wait_for(lambda: announced and announced[-1].inertia.m == 2.0)
    assert announced[-1].header.frame_id == 'tool0'

    assert call(ros, SetPayload, 'set_payload').result.code == Result.SUCCESS
    assert_allclose(in_state(ros), ROBOT.gravity(Q), atol=SAME)
    ros.wait_for(lambda: announced[-1].inertia.m == 0.0)


def test_gravity_can_be_turned(ros):
    assert put_in_force(ros, (9.81, 0.0, 0.0)).code == Result.SUCCESS
    assert_allclose(in_state(ros), ROBOT.with_gravity((9.81, 0.0, 0.0)).gravity(Q), atol=SAME)
    assert put_in_force(ros, DOWN).code == Result.SUCCESS
    assert_allclose(in_state(ros), ROBOT.gravity(Q), atol=SAME)


def bad_payload(frame: str = 'tool0', mass: float = 1.0, ixx: float = 0.0) -> SetPayload.Request:
    request = SetPayload.Request()
    request.payload.header.frame_id = frame
    request.payload.inertia.m, request.payload.inertia.ixx = mass, ixx
    return request


@pytest.mark.parametrize(
    ('request_', 'code'),
    [
        (bad_payload(frame='nose'), Result.UNKNOWN_FRAME),
        (bad_payload(frame=''), Result.UNKNOWN_FRAME),
        (bad_payload(mass=-1.0), Result.INVALID_ARGUMENT),
        (bad_payload(mass=math.nan), Result.INVALID_ARGUMENT),
        (bad_payload(ixx=-1.0), Result.INVALID_ARGUMENT),
    ],
)
def test_a_bad_payload_is_refused_and_the_one_before_kept(ros, request_, code):
    response = ros.call(SetPayload, '/dynamics_node/set_payload', request_)
    assert response.result.code == code, response.result.message
    assert response.result.message
    assert_allclose(in_state(ros), ROBOT.gravity(Q), atol=SAME)


def test_a_bad_gravity_is_refused(ros):
    for gravity, frame_id, words in (
        ((0.0, 0.0, math.inf), '', 'finite'),
        ((25.0, 25.0, 0.0), '', 'up to 30 m/s^2'),
        ((0.0, 0.0, 0.0), 'tool0', 'base_link'),
    ):
        refused = put_in_force(ros, gravity, frame_id)
        assert refused.code == Result.INVALID_ARGUMENT
        assert words in refused.message


@pytest.mark.parametrize(
    ('fields', 'code'),
    [
        ({'accelerations': [0.0]}, Result.INVALID_ARGUMENT),
        ({'accelerations': [math.nan] * 7}, Result.INVALID_ARGUMENT),
        ({'acceleration_names': ['nose'], 'accelerations': [0.0]}, Result.UNKNOWN_JOINT),
        (
            {'acceleration_names': ['elbow_pitch'] * 2, 'accelerations': [0.0] * 2},
            Result.INVALID_ARGUMENT,
        ),
        ({'external_wrenches': [wrench('nose', [0.0] * 6)]}, Result.UNKNOWN_FRAME),
        ({'external_wrenches': [wrench('tool0', [math.nan] * 6)]}, Result.INVALID_ARGUMENT),
        ({'base_acceleration': Accel(linear=Vector3(x=1.0))}, Result.INVALID_ARGUMENT),
        ({'state': JointState(name=['nose'], position=[0.0])}, Result.UNKNOWN_JOINT),
        ({'state': JointState(name=NAMES, position=[0.0])}, Result.INVALID_ARGUMENT),
        ({'state': JointState(name=NAMES, position=[math.inf] * 7)}, Result.INVALID_ARGUMENT),
    ],
)
def test_a_bad_inverse_dynamics_request_gets_its_code(ros, fields, code):
    response = call(ros, ComputeInverseDynamics, 'compute_inverse_dynamics', **fields)
    assert response.result.code == code, response.result.message
    assert response.result.message
    assert not response.torques.name


@pytest.mark.parametrize(
    ('message', 'kind'),
    [
        (JointState(name=NAMES, position=[0.0] * 6), 'wrong length of position'),
        (JointState(name=NAMES, position=[math.nan] * 7), 'position not finite'),
        (JointState(name=[*NAMES, NAMES[0]], position=[0.0] * 8), 'repeated names'),
        (JointState(name=NAMES, position=[0.0] * 7, effort=[0.0]), 'wrong length of effort'),
    ],
)
def test_joint_states_that_cannot_be_right_are_counted_and_change_nothing(ros, message, kind):
    in_state(ros)
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.wait_for(
        lambda: f'refused: {kind}' in ros.values('dynamics_node'),
        meanwhile=lambda: ros.publish_joint_state(message),
    )
    assert all(torque.header.stamp != message.header.stamp for torque in torques)
    response = call(ros, ComputeDynamicsTerms, 'compute_dynamics_terms')
    assert_allclose(response.gravity, ROBOT.gravity(Q), atol=SAME)


def test_a_joint_that_stops_reporting_silences_the_node_until_it_reports_again(ros):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    in_state(ros)
    late = ros.joint_state(NAMES[:-1], Q[:-1], step=2.0)
    ros.wait_for_status(
        'dynamics_node',
        'no news for longer than joint_timeout of: wrist_roll',
        meanwhile=lambda: ros.publish_joint_state(late),
    )
    assert all(torque.header.stamp != late.header.stamp for torque in torques)
    ros.wait_for_status('dynamics_node', 'publishing', meanwhile=lambda: in_state(ros))


HOME = comfortable_posture(ROBOT, 'tool0')
FRICTION = EffortModel.from_robot(ROBOT).friction_torque
TIME = [1.0, 2.0, 3.5]
POSITIONS = np.array([HOME, HOME + 0.1, HOME - 0.05])
VELOCITIES = np.array([0.0 * HOME, 0.0 * HOME + 0.1, 0.0 * HOME])
ACCELERATIONS = np.array([0.0 * HOME + 0.2, 0.0 * HOME - 0.1, 0.0 * HOME])


def trajectory(q=POSITIONS, v=None, a=None, time=TIME, names=NAMES):
    rows = ((), ()) if v is None else (v, a if a is not None else ())
    points = [
        JointTrajectoryPoint(
            positions=list(map(float, q[i])),
            velocities=list(map(float, rows[0][i])) if len(rows[0]) else [],
            accelerations=list(map(float, rows[1][i])) if len(rows[1]) else [],
            time_from_start=duration_message(t),
        )
        for i, t in enumerate(time)
    ]
    return JointTrajectory(joint_names=list(names), points=points)


def compute(ros, message):
    request = ComputeTrajectoryEfforts.Request(trajectory=message)
    return ros.call(ComputeTrajectoryEfforts, '/dynamics_node/compute_trajectory_efforts', request)


@pytest.mark.parametrize(
    'given', [(), (VELOCITIES,), (VELOCITIES, ACCELERATIONS)], ids=['q', 'q v', 'q v a']
)
def test_the_service_fills_efforts_and_what_is_missing(ros, given):
    answer = compute(ros, trajectory(POSITIONS, *given))
    assert answer.result.code == Result.SUCCESS, answer.result.message
    motion = JointMotion.of(NAMES, TIME, POSITIONS, *given)
    expected = FeedForward(ROBOT, HOME, FRICTION).efforts(motion)
    points = answer.trajectory.points
    assert np.abs(np.array([p.effort for p in points]) - expected).max() < 1e-9
    assert np.abs(np.array([p.velocities for p in points]) - motion.v).max() < 1e-12
    assert [seconds(p.time_from_start) for p in points] == TIME
    assert list(answer.violations) == []


def test_the_service_tells_what_is_beyond_limits(ros):
    far = POSITIONS.copy()
    far[1, 2] = ROBOT.upper_limits[2] + 0.2
    answer = compute(ros, trajectory(far, VELOCITIES))
    assert answer.result.code == Result.SUCCESS
    found = [x for x in answer.violations if x.quantity == 'position']
    assert [x.joint for x in found] == [NAMES[2]]
    assert found[0].limit == ROBOT.upper_limits[2]
    assert found[0].value >= far[1, 2] - 1e-9
    assert seconds(found[0].time_from_start) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ('message', 'words'),
    [
        (JointTrajectory(joint_names=list(NAMES)), 'points'),
        (trajectory(time=[1.0, 1.0, 2.0]), 'time_from_start'),
        (trajectory(q=POSITIONS[:, :6]), 'positions'),
        (trajectory(q=POSITIONS * np.nan), 'positions'),
        (trajectory(names=['nowhere', *NAMES[1:]]), 'nowhere'),
    ],
    ids=['no points', 'times', 'counts', 'NaN', 'unknown joint'],
)
def test_bad_trajectories_are_refused_by_name(ros, message, words):
    answer = compute(ros, message)
    assert answer.result.code < 0
    assert words in answer.result.message
    assert not answer.trajectory.points


WALL = (6.0, 1.0, -7.0)
MOON, DOWN = (0.0, 0.0, -1.62), (0.0, 0.0, -9.81)
PARAMETERS = {'robot_description': ARM}


def put_in_force(ros, gravity, frame_id=''):
    request = SetGravity.Request()
    request.gravity.header.frame_id = frame_id
    request.gravity.vector.x, request.gravity.vector.y, request.gravity.vector.z = gravity
    return ros.call(SetGravity, '/dynamics_node/set_gravity', request).result


def used(ros, name, gravity):
    """Whether a node reports this gravity."""
    return ros.values(name).get('gravity [m/s^2]') == ' '.join(f'{x:g}' for x in gravity)


def told(gravity, frame_id='') -> Vector3Stamped:
    message = Vector3Stamped()
    message.header.frame_id = frame_id
    message.vector.x, message.vector.y, message.vector.z = gravity
    return message


def test_what_is_in_force_is_told_and_told_again_to_whoever_comes_later(ros):
    assert put_in_force(ros, WALL, 'base_link').code == Result.SUCCESS
    for _ in range(2):
        heard = ros.listen(Vector3Stamped, '/gravity', LATCHED)
        ros.wait_for(lambda heard=heard: heard)
        vector = heard[-1].vector
        assert (vector.x, vector.y, vector.z) == WALL
        assert heard[-1].header.frame_id == 'base_link'


@pytest.mark.parametrize('name', ['contact_node', 'cartesian_servo_node'])
def test_a_node_of_its_own_follows_from_its_start_on(ros, name):
    assert put_in_force(ros, WALL).code == Result.SUCCESS
    with running(name, DOMAIN, PARAMETERS):
        for gravity in (WALL, MOON):
            assert put_in_force(ros, gravity).code == Result.SUCCESS
            ros.wait_for(lambda gravity=gravity: used(ros, name, gravity))
        # What the root frame is called is known with the robot.
        ros.wait_for(lambda: ros.status(name).hardware_id == ROBOT.name)
        # Gone with the test: a node of the next one would hear two latched messages, in any order.
        with client(DOMAIN, 'another_teller') as other:
            refused = {
                'gravity.vector': told((0.0, float('nan'), 0.0)),
                'base_link': told(WALL, 'tool0'),
            }
            for words, message in refused.items():
                ros.wait_for(
                    lambda words=words: words in ros.values(name).get('refused change', ''),
                    meanwhile=lambda message=message: other.publish('/gravity', message, LATCHED),
                )
            assert used(ros, name, MOON)
            other.publish('/gravity', told(WALL, 'base_link'), LATCHED)
            ros.wait_for(lambda: used(ros, name, WALL))
            ros.wait_for(lambda: 'refused change' not in ros.values(name))


def test_one_name_for_three_nodes_is_refused_by_name():
    with running('dynamics_ros', DOMAIN, PARAMETERS, remaps={'__node': 'arm'}) as process:
        assert process.wait() == 1
        lines = [line for line in process.printed.splitlines() if 'cannot start' in line]
        assert len(lines) == 1
        assert '__node:=arm' in lines[0] and 'kinematics_node:__node:=' in lines[0]
        assert 'Traceback' not in process.printed


def test_a_node_of_the_composed_process_can_be_renamed(ros):
    remaps = {'contact_node:__node': 'skin'}
    with running('dynamics_ros', DOMAIN, PARAMETERS, remaps=remaps, namespace='/renamed'):
        for node in ('skin', 'dynamics_node', 'kinematics_node'):
            ros.wait_for_status(f'renamed/{node}', 'waiting for')


def test_it_is_alive_and_well_after_all_this(ros, node):
    assert put_in_force(ros, DOWN).code == Result.SUCCESS
    ros.wait_for(lambda: abs(in_state(ros) - ROBOT.gravity(Q)).max() < SAME)
    assert node.alive
    assert 'Traceback' not in node.printed and 'callback raised' not in node.printed
