# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer draws markers in frames of the robot, and leaves out what makes no sense."""

from __future__ import annotations

import math
from contextlib import nullcontext
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('viser')

import rclpy
from geometry_msgs.msg import Point
from rclpy.node import Node
from ros_harness import description, occupy
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros import Robot
from dynamics_ros.viewer.drawing import MAX_MARKERS
from dynamics_ros.viewer.node import Viewer, ViewerParameters, is_local
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

pytestmark = pytest.mark.ros

DOMAIN = 97
ROBOT = Robot.from_urdf(description())


class Drawn(MagicMock):
    """What a viewer asks a page to draw, without the page."""

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.spheres: dict[str, tuple[str, np.ndarray]] = {}
        self.placed: dict[str, np.ndarray] = {}
        self.pictures, self.kinds = 0, []

    def _get_child_mock(self, **options):
        return MagicMock(**options)

    def move_frame(self, frame, pose) -> None:
        self.placed[frame] = np.array(pose[0])

    def together(self):
        self.pictures += 1
        return nullcontext()

    def draw(self, name, frame, kind, **look) -> None:
        self.kinds.append(kind)
        if kind == 'icosphere':
            self.spheres[name] = frame, look['position']

    def remove(self, name) -> None:
        self.spheres.pop(name, None)


@pytest.fixture
def viewer(request):
    occupy(DOMAIN)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node('viewer', context=context)
    values = ViewerParameters(
        host=getattr(request, 'param', '127.0.0.1'),
        robot_description=description(),
        frame_prefix='left/',
    )
    yield Viewer(node, Drawn(), values)
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.parametrize('viewer', ['127.0.0.1', '0.0.0.0'], indirect=True)
def test_only_this_machine_may_call_services(viewer):
    assert viewer._requests.tab.remove.called is (not is_local(viewer._host))


def sphere(frame: str, x: float = 0.0, **fields) -> Marker:
    marker = Marker(type=Marker.SPHERE, **fields)
    marker.header.frame_id = frame
    marker.pose.position = Point(x=x)
    return marker


def draw(viewer, *markers: Marker) -> dict[str, tuple[str, np.ndarray]]:
    viewer._drawing.keep_markers('topic', MarkerArray(markers=markers))
    viewer.draw()
    return viewer.scene.spheres


@pytest.mark.parametrize('frame', ['left/tool0', 'tool0'])
def test_frames_may_have_the_prefix_of_the_nodes(viewer, frame):
    ((carrier, center),) = draw(viewer, sphere(frame)).values()
    assert carrier == 'tool0'
    np.testing.assert_array_equal(center, np.zeros(3))


def state(second: int, *positions: float) -> JointState:
    message = JointState(name=list(ROBOT.joint_names), position=positions)
    message.header.stamp.sec = second
    return message


def test_what_lay_at_the_tool_when_it_was_stamped_moves_with_the_tool(viewer):
    then, now = np.full(7, 0.3), np.full(7, 0.6)
    viewer._on_joint_state(state(10, *then))
    viewer._on_joint_state(state(11, *now))
    # Told in the root frame, of a state that another has overtaken.
    marker = sphere('left/base_link')
    place = ROBOT.forward_kinematics(then, 'tool0') @ [0.01, 0.0, 0.0, 1.0]
    marker.pose.position = Point(x=place[0], y=place[1], z=place[2])
    marker.header.stamp.sec = 10
    ((carrier, center),) = draw(viewer, marker).values()
    assert carrier == 'tool0'
    np.testing.assert_allclose(center, [0.01, 0.0, 0.0], atol=1e-12)
    expected = ROBOT.forward_kinematics(now, 'tool0')[:3, 3]
    np.testing.assert_allclose(viewer.scene.placed['tool0'], expected, atol=1e-12)


@pytest.mark.parametrize(
    ('torques', 'thresholds'),
    [([1.0], [2.0, 2.0]), ([1.0, 3.0], [2.0]), ([], []), ([1.0] * 3, [2.0] * 3)],
)
def test_a_contact_state_whose_lists_do_not_fit_is_passed_over(viewer, torques, thresholds):
    fitting = ContactState(
        joint_names=['elbow_pitch', 'wrist_pitch'],
        external_torques=[7.5, 0.5],
        contact_thresholds=[2.0, 2.0],
    )
    viewer._drawing.keep_contact(fitting)
    viewer.draw()
    viewer._drawing.keep_contact(
        ContactState(
            joint_names=fitting.joint_names,
            external_torques=torques,
            contact_thresholds=thresholds,
        )
    )
    viewer.draw()
    assert viewer._drawing.contact is fitting


def test_forces_and_points_that_are_no_numbers_are_passed_over(viewer):
    nowhere = Point(x=math.nan)
    viewer._drawing.keep_contact(
        ContactState(point_known=True, point=nowhere, point_frame_id='left/tool0')
    )
    wrench = ExternalWrench(frame='tool0', reference_point=nowhere)
    wrench.header.frame_id = 'left/tool0'
    viewer._drawing.keep_wrench(wrench)
    viewer.draw()
    assert viewer.scene.pictures == 1
    assert viewer._drawing.contact is None


def test_a_frame_of_another_robot_is_not_drawn(viewer):
    assert draw(viewer, sphere('right/tool0')) == {}


def test_a_marker_that_makes_no_sense_is_left_out_and_the_others_are_drawn(viewer):
    bad = sphere('tool0', math.nan, id=1)
    no_rotation = sphere('tool0', id=2)
    no_rotation.pose.orientation.w = 0.0
    assert set(draw(viewer, bad, no_rotation, sphere('tool0', id=3))) == {'topic//3'}


def test_numbers_and_colours_that_a_page_cannot_draw_are_left_out(viewer):
    lines = sphere('tool0', id=1, points=[Point()] * 4)
    lines.type = Marker.LINE_LIST
    lines.colors = [ColorRGBA()] * 2
    far, huge, endless = (sphere('tool0', id=k) for k in (2, 3, 4))
    far.pose.position.x = 1e300
    huge.scale.x, endless.scale.x = 1e300, math.nan
    black = sphere('tool0', id=5)
    black.color.r = math.nan
    assert set(draw(viewer, lines, far, huge, endless, black)) == {'topic//5'}
    assert 'line_segments' not in viewer.scene.kinds
    lines.colors = [ColorRGBA()] * 4
    draw(viewer, lines)
    assert viewer.scene.kinds.count('line_segments') == 1


def test_a_publisher_that_names_each_marker_anew_fills_no_memory(viewer):
    many = [sphere('tool0', id=k) for k in range(MAX_MARKERS + 100)]
    assert len(draw(viewer, *many[:1000])) == 1000
    assert len(draw(viewer, *many[1000:])) == MAX_MARKERS
    # Those that are drawn can still move, and go.
    assert draw(viewer, sphere('tool0', 0.5, id=0))['topic//0'][1][0] != 0.0
    assert draw(viewer, Marker(action=Marker.DELETEALL)) == {}
    assert len(draw(viewer, *many[-10:])) == 10


def test_buttons_without_a_service_are_disabled(viewer):
    requests = viewer._requests
    requests._buttons = [(MagicMock(), client) for _, client in requests._buttons]
    viewer.draw()
    assert [button.disabled for button, _ in requests._buttons] == [True] * 3
    there = MagicMock(service_is_ready=lambda: True)
    requests._buttons[0] = requests._buttons[0][0], there
    requests.update()
    assert [button.disabled for button, _ in requests._buttons] == [False, True, True]
