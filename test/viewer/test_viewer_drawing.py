# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer draws forces in frames of the robot, and leaves out what makes no sense."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('viser')

import rclpy
from arm import ARM, ROBOT
from geometry_msgs.msg import Point
from patience import PATIENCE
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from ros_harness import occupy
from sensor_msgs.msg import JointState

from dynamics_ros.viewer.node import CONTACT_POINT, Viewer, ViewerParameters, is_local
from dynamics_ros_msgs.msg import ContactState, ExternalWrench, Result
from dynamics_ros_msgs.srv import ApplyWrench

pytestmark = pytest.mark.ros

DOMAIN = 97
FORCE = 'force at tool0'


class Drawn(MagicMock):
    """What a viewer asks a page to draw, without the page."""

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.objects: dict[str, tuple[str, np.ndarray]] = {}
        self.pictures = 0

    def _get_child_mock(self, **options):
        return MagicMock(**options)

    def together(self):
        self.pictures += 1
        return nullcontext()

    def draw_arrow(self, name, frame, place, *_look) -> None:
        self.objects[name] = frame, place

    draw_sphere = draw_arrow

    def remove(self, name) -> None:
        self.objects.pop(name, None)


@pytest.fixture
def viewer(request):
    occupy(DOMAIN)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node('viewer', context=context)
    values = ViewerParameters(
        host=getattr(request, 'param', '127.0.0.1'),
        robot_description=ARM,
        frame_prefix='left/',
    )
    yield Viewer(node, Drawn(), values)
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.parametrize('viewer', ['127.0.0.1', '0.0.0.0'], indirect=True)
def test_only_this_machine_may_call_services(viewer):
    assert (viewer.requests is not None) is is_local(viewer._values.host)


def estimate(frame='left/tool0', force=(0.0, 30.0, 0.0), point=(0.1, 0.0, 0.0)):
    message = ExternalWrench(frame='tool0')
    message.header.frame_id = frame
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
    message.reference_point = Point(**dict(zip('xyz', point, strict=True)))
    return message


@pytest.mark.parametrize('frame', ['left/tool0', 'tool0', 'left/base_link'])
def test_a_force_ends_where_it_acts_in_the_axes_of_its_contact_frame(viewer, frame):
    q = np.full(7, 0.3)
    viewer._on_joint_state(JointState(name=list(ROBOT.joint_names), position=q))
    X = ROBOT.forward_kinematics(q, 'tool0') if 'base' in frame else np.eye(4)
    force, point = X[:3, :3] @ [0.0, 30.0, 0.0], X[:3, :3] @ [0.1, 0.0, 0.0] + X[:3, 3]
    viewer.keep_wrench(estimate(frame, force, point))
    viewer.draw()
    carrier, points = viewer.scene.objects[FORCE]
    assert carrier == 'tool0'
    np.testing.assert_allclose(points, [[0.1, -0.3, 0.0], [0.1, 0.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize(
    ('message', 'drawn'),
    [
        (estimate(force=(0.1, 0.0, 0.0)), False),
        (estimate('right/tool0'), False),
        (estimate('elsewhere'), False),
        (estimate(force=(math.nan, 0.0, 0.0)), True),
        (estimate(force=(1e300, 0.0, 0.0)), True),
        (estimate(point=(0.0, math.inf, 0.0)), True),
    ],
)
def test_estimates_that_make_no_sense_are_not_drawn(viewer, message, drawn):
    for one in (estimate(), message):
        viewer.keep_wrench(one)
        viewer.draw()
    assert (FORCE in viewer.scene.objects) == drawn  # the one before


def contact(torques=(7.5, 0.5), thresholds=(2.0, 2.0), **fields):
    return ContactState(
        joint_names=['elbow_pitch', 'wrist_pitch'],
        external_torques=torques,
        contact_thresholds=thresholds,
        **fields,
    )


@pytest.mark.parametrize(
    'message',
    [
        contact([1.0]),
        contact([1.0, 3.0], [2.0]),
        contact([], []),
        contact([1.0] * 3, [2.0] * 3),
        contact(point_known=True, point=Point(x=math.nan), point_frame_id='left/tool0'),
    ],
)
def test_a_contact_state_whose_lists_or_point_make_no_sense_is_passed_over(viewer, message):
    good = contact(point_known=True, point=Point(x=0.2), point_frame_id='left/tool0')
    for one in (good, message):
        viewer.keep_contact(one)
        viewer.draw()
    assert viewer.contact is good
    frame, center = viewer.scene.objects[CONTACT_POINT]
    assert frame == 'tool0' and center[0] == 0.2
    viewer.keep_contact(contact())
    viewer.draw()
    assert CONTACT_POINT not in viewer.scene.objects


def test_buttons_without_a_service_are_disabled(viewer):
    requests = viewer.requests
    requests._buttons = [(MagicMock(), client) for _, client in requests._buttons]
    viewer.draw()
    assert [button.disabled for button, _ in requests._buttons] == [True] * 3
    there = MagicMock(service_is_ready=lambda: True)
    requests._buttons[0] = requests._buttons[0][0], there
    requests.update()
    assert [button.disabled for button, _ in requests._buttons] == [False, True, True]


def test_a_click_after_the_service_went_is_told(viewer):
    requests = viewer.requests
    requests._status_text = MagicMock()
    _, push = requests._buttons[-1]
    requests._call('push', push, requests._push_request)
    assert requests._status_text.content.endswith('robot_simulator/apply_wrench is not available')


def test_the_button_pushes_the_simulated_robot_at_the_chosen_frame(viewer):
    requests, asked = viewer.requests, []
    requests._status_text = MagicMock()  # the page has one for all its texts

    def apply(request, response):
        asked.append(request)
        response.result = Result(code=Result.SUCCESS, message='it is pushed')
        return response

    viewer.node.create_service(ApplyWrench, 'robot_simulator/apply_wrench', apply)
    executor = SingleThreadedExecutor(context=viewer.node.context)
    executor.add_node(viewer.node)
    viewer.explorer._choose_frame('hand_link')
    requests._force.value = (0.0, 15.0, 0.0)
    deadline = time.monotonic() + PATIENCE
    _, push = requests._buttons[-1]
    while not push.service_is_ready():
        executor.spin_once(timeout_sec=0.02)
        assert time.monotonic() < deadline
    requests._call('push', push, requests._push_request)
    while '...' in requests._status_text.content:
        executor.spin_once(timeout_sec=0.02)
        assert time.monotonic() < deadline
    executor.shutdown()
    assert requests._status_text.content == '**push**: done. it is pushed'
    (request,) = asked
    assert request.frame == 'hand_link'
    assert (request.wrench.force.x, request.wrench.force.y) == (0.0, 15.0)
