# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""compute_fk and compute_ik: what MoveIt's requests mean and which of its codes they get.

moveit_msgs is no dependency and seldom there, so the requests here are objects with the fields of
its messages; the handlers of a real node answer them. Where it is there, it is used as well.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

import rclpy
from arm import ARM, NAMES, ROBOT, Q
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, PoseStamped
from numpy.testing import assert_allclose
from rclpy.parameter import Parameter
from ros_harness import LATCHED, client, found_by_nodes, occupy, running
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.collision import Collisions, Obstacle
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.inverse_kinematics import Code
from dynamics_ros.nodes.kinematics_node import Kinematics
from dynamics_ros.nodes.process import make_executor
from dynamics_ros.wire.conversions import pose_matrix, pose_message

pytestmark = pytest.mark.ros

DOMAIN = 84
TARGET = ROBOT.forward_kinematics(Q + 0.2, 'tool0')

# The search aims at 1e-5 m and rad; the entries of a pose are of length one.
REACHED = 3e-5


@pytest.fixture(scope='module')
def node():
    """A kinematics node in this process; call a handler and set a parameter."""
    occupy(DOMAIN)
    rclpy.init(domain_id=DOMAIN)
    given = {'robot_description': ARM, 'frames': ['tool0']}
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    one = GuardedNode('kinematics_node', parameter_overrides=overrides)
    context = RobotContext(one)
    part = Kinematics(one, context)
    context.components.append(part)
    executor = make_executor()
    executor.add_node(one)
    executor.create_task(context.start, executor)

    def call(handler, request):
        # A solution that is not there must not be read for one.
        response = SimpleNamespace(
            pose_stamped=[],
            fk_link_names=[],
            solution=SimpleNamespace(joint_state=JointState()),
            error_code=SimpleNamespace(val=0, message=''),
        )
        task = executor.create_task(handler(request, response))
        executor.spin_until_future_complete(task, timeout_sec=PATIENCE)
        return task.result()

    shown = one.create_publisher(MarkerArray, '~/obstacles', LATCHED)
    taken = []
    one.create_subscription(MarkerArray, '~/obstacles', taken.append, 10)

    def show(*markers):
        """Publish obstacles, and wait until this process has them."""
        taken.clear()
        shown.publish(MarkerArray(markers=markers))
        while not taken:
            executor.spin_once(timeout_sec=0.05)
        for _ in range(5):  # the subscription of the part has it as well
            executor.spin_once(timeout_sec=0.0)

    while context.robot is None:
        executor.spin_once(timeout_sec=0.05)
    yield SimpleNamespace(
        ik=lambda request: call(part.moveit.inverse_kinematics, request),
        fk=lambda request: call(part.moveit.forward_kinematics, request),
        set=lambda name, value: one.set_parameters([Parameter(name, value=value)]),
        obstacles=show,
    )
    executor.shutdown()
    one.destroy_node()
    rclpy.shutdown()


def robot_state(q=Q, names=NAMES):
    positions = [] if q is None else [float(x) for x in q]
    return SimpleNamespace(
        joint_state=JointState(name=[] if q is None else list(names), position=positions),
        multi_dof_joint_state=MultiDOFJointState(),
        attached_collision_objects=[],
        is_diff=False,
    )


def constraints(**given):
    kinds = ('joint', 'position', 'orientation', 'visibility')
    empty = {f'{kind}_constraints': [] for kind in kinds}
    return SimpleNamespace(name='', **{**empty, **given})


def pose(matrix, frame_id=''):
    return PoseStamped(header=Header(frame_id=frame_id), pose=pose_message(matrix))


def ik_request(**fields):
    request = {
        'group_name': 'arm',
        'robot_state': robot_state(),
        'constraints': constraints(),
        'avoid_collisions': False,
        'ik_link_name': '',
        'pose_stamped': pose(TARGET),
        'ik_link_names': [],
        'pose_stamped_vector': [],
        'timeout': Duration(),
    }
    return SimpleNamespace(ik_request=SimpleNamespace(**{**request, **fields}))


def fk_request(links, frame_id='', state=None):
    return SimpleNamespace(
        header=Header(frame_id=frame_id),
        fk_link_names=links,
        robot_state=robot_state() if state is None else state,
    )


def solved(response):
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    assert response.error_code.message == ''
    assert response.solution.joint_state.name == NAMES
    return np.array(response.solution.joint_state.position)


@pytest.mark.parametrize('frame_id', ['', 'base_link', 'elbow_link'])
def test_fk_gives_poses_of_links_in_the_frame_that_is_asked_for(node, frame_id):
    response = node.fk(fk_request(['tool0', 'wrist_link'], frame_id))
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    assert response.fk_link_names == ['tool0', 'wrist_link']
    carrier = ROBOT.forward_kinematics(Q, frame_id or 'base_link')
    for name, stamped in zip(response.fk_link_names, response.pose_stamped, strict=True):
        assert stamped.header.frame_id == (frame_id or 'base_link')
        expected = np.linalg.inv(carrier) @ ROBOT.forward_kinematics(Q, name)
        assert_allclose(pose_matrix(stamped.pose, 'pose'), expected, atol=1e-12)


def test_ik_brings_the_end_of_the_group_to_the_pose(node):
    found = solved(node.ik(ik_request()))
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0'), TARGET, atol=REACHED)


def far():
    target = TARGET.copy()
    target[:3, 3] = [5.0, 0.0, 0.0]
    return target


def nan():
    message = pose(TARGET)
    message.pose.position.x = math.nan
    return message


def moving_base():
    state = robot_state()
    state.multi_dof_joint_state.joint_names = ['world_joint']
    return state


REFUSED = {
    'unknown link': ({'ik_link_name': 'nose'}, Code.INVALID_LINK_NAME, 'nose'),
    'unknown frame': (
        {'pose_stamped': pose(TARGET, 'nowhere')},
        Code.FRAME_TRANSFORM_FAILURE,
        'nowhere',
    ),
    'several poses, one without a link': (
        {'pose_stamped_vector': [pose(TARGET)] * 2, 'ik_link_names': ['', 'tool0']},
        Code.INVALID_LINK_NAME,
        'an empty name',
    ),
    'constraints': (
        {'constraints': constraints(joint_constraints=[object()])},
        Code.INVALID_GOAL_CONSTRAINTS,
        'joint constraints',
    ),
    'NaN seed': ({'robot_state': robot_state(Q * math.nan)}, Code.INVALID_ROBOT_STATE, 'finite'),
    'moving base': ({'robot_state': moving_base()}, Code.INVALID_ROBOT_STATE, 'multi_dof'),
    'no state yet': ({'robot_state': robot_state(None)}, Code.INVALID_ROBOT_STATE, 'waiting'),
    'NaN pose': ({'pose_stamped': nan()}, Code.FAILURE, 'target.pose.position'),
    'out of reach': ({'pose_stamped': pose(far())}, Code.NO_IK_SOLUTION, 'out of reach'),
    'fk of nothing': (fk_request([]), Code.INVALID_LINK_NAME, 'empty'),
    'fk of an unknown link': (fk_request(['nose']), Code.INVALID_LINK_NAME, 'nose'),
    'fk in an unknown frame': (
        fk_request(['tool0'], 'nowhere'),
        Code.FRAME_TRANSFORM_FAILURE,
        'nowhere',
    ),
    'fk of an unknown joint': (
        fk_request(['tool0'], state=robot_state(Q[:1], ['nose'])),
        Code.INVALID_ROBOT_STATE,
        'nose',
    ),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_ik_cannot_answer_gets_the_code_that_moveit_has_for_it(node, case):
    given, code, words = REFUSED[case]
    response = node.ik(ik_request(**given)) if isinstance(given, dict) else node.fk(given)
    assert response.error_code.val == code, response.error_code.message
    assert words in response.error_code.message
    assert not response.solution.joint_state.name and response.pose_stamped == []


def ball(at, frame_id='', diameter=0.3, **fields):
    """An obstacle as a marker."""
    marker = Marker(ns='test', id=1, type=Marker.SPHERE, header=Header(frame_id=frame_id), **fields)
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = map(float, at)
    marker.scale.x = marker.scale.y = marker.scale.z = diameter
    return marker


def test_solutions_keep_apart_from_obstacles_and_links(node):
    pytest.importorskip('coal')
    found = solved(node.ik(ik_request(avoid_collisions=True)))
    alone = Collisions(ROBOT, ARM)
    assert alone.distances(found).smallest >= 0.01
    # Where the tool is to be, there is no solution; one that is carried by the root is deleted.
    node.obstacles(ball(TARGET[:3, 3], 'base_link'))
    refused = node.ik(ik_request(avoid_collisions=True)).error_code
    assert refused.val == Code.NO_IK_SOLUTION
    assert 'collision' in refused.message
    solved(node.ik(ik_request(avoid_collisions=False)))
    # In the way of the elbow alone: another posture.
    elbow = ROBOT.forward_kinematics(found, 'elbow_link')[:3, 3]
    node.obstacles(ball(elbow, diameter=0.1))
    other = solved(node.ik(ik_request(avoid_collisions=True, timeout=Duration(sec=5))))
    assert_allclose(ROBOT.forward_kinematics(other, 'tool0'), TARGET, atol=REACHED)
    obstacle = Obstacle('sphere', (0.05,), (elbow, (0.0, 0.0, 0.0, 1.0)))
    assert alone.with_obstacles({'ball': obstacle}).distances(other).smallest >= 0.01
    node.obstacles(Marker(action=Marker.DELETEALL))
    solved(node.ik(ik_request(avoid_collisions=True)))


def triangles(corners, height=0.0):
    points = [Point(x=float(i % 3), y=float(i % 2), z=height) for i in range(corners)]
    marker = ball([0, 0, 0], diameter=1.0, points=points)
    marker.type = Marker.TRIANGLE_LIST
    return marker


@pytest.mark.parametrize(
    ('marker', 'words'),
    [
        (ball([0, 0, 0], 'nowhere'), 'nowhere'),
        (ball([math.nan, 0, 0]), 'finite'),
        (ball([0, 0, 0], diameter=-1.0), 'positive'),
        (Marker(type=Marker.MESH_RESOURCE, pose=pose_message(np.eye(4))), 'CUBE, SPHERE'),
        (Marker(action=77), 'ADD, DELETE'),
        (Marker(type=Marker.TRIANGLE_LIST, pose=pose_message(np.eye(4))), 'and 0 points'),
        (triangles(303), '303 corners of meshes; expected up to 100 and 300'),
        (triangles(3, math.nan), 'finite triangles'),
    ],
)
def test_what_is_no_obstacle_is_refused_until_it_is_mended(node, marker, words):
    pytest.importorskip('coal')
    node.obstacles(marker)
    refused = node.ik(ik_request(avoid_collisions=True)).error_code
    assert refused.val == Code.COLLISION_CHECKING_UNAVAILABLE
    assert words in refused.message
    solved(node.ik(ik_request()))
    node.obstacles(Marker(action=Marker.DELETEALL))
    solved(node.ik(ik_request(avoid_collisions=True)))


def test_without_coal_a_request_says_what_is_missing(node, monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    node.set('collision_margin', 0.011)  # reads the shapes again
    refused = node.ik(ik_request(avoid_collisions=True)).error_code
    assert refused.val == Code.COLLISION_CHECKING_UNAVAILABLE
    assert 'pip install coal' in refused.message
    solved(node.ik(ik_request()))


def services(one):
    return dict(one.node.get_service_names_and_types())


def ready(one):
    """Whether the node has all of its services: those in question come before this one."""
    return '/kinematics_node/compute_inverse_kinematics' in services(one)


OFFERED = {'robot_description': ARM, 'frames': ['tool0'], 'moveit_services': True}
OURS = {'/compute_fk', '/compute_ik'}


def test_nobody_is_offered_services_of_move_group_unasked():
    with found_by_nodes('moveit_msgs'), client(DOMAIN) as one:
        with running('kinematics_node', DOMAIN, OFFERED | {'moveit_services': False}):
            one.wait_for(lambda: ready(one))
            assert not OURS & set(services(one))
        with running('kinematics_node', DOMAIN, OFFERED):
            one.wait_for(lambda: set(services(one)) >= OURS)


@pytest.mark.skipif(importlib.util.find_spec('moveit_msgs') is not None, reason='it is there')
def test_without_moveit_msgs_there_is_nothing_to_offer():
    with running('kinematics_node', DOMAIN, OFFERED) as process:
        assert process.wait() == 1
        assert 'cannot start: moveit_services: moveit_msgs is not installed' in process.printed
