"""dynamics_ros_viewer draws markers in frames of the robot, and leaves out what makes no sense."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import Point
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_harness import PATIENCE, description, occupy
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros import Robot
from dynamics_ros.viewer.node import Viewer, ViewerParameters

pytestmark = pytest.mark.ros

DOMAIN = 97
ROBOT = Robot.from_urdf(description())


class Drawn:
    """What a viewer asks a page to draw, without the page."""

    def __init__(self) -> None:
        self.spheres: dict[str, np.ndarray] = {}
        self.pictures = 0

    def show_robot(self, *_) -> None: ...
    def move_link(self, *_) -> None: ...
    def show_text(self, *_) -> None:
        self.pictures += 1

    def together(self):
        return nullcontext()

    def show_sphere(self, name, center, diameter, color) -> None:
        self.spheres[name] = center

    def remove(self, name) -> None:
        self.spheres.pop(name, None)


@pytest.fixture
def viewer():
    occupy(DOMAIN)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node('viewer', context=context)
    values = ViewerParameters(robot_description=description(), frame_prefix='left/')
    yield Viewer(node, Drawn(), values)
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_pictures_go_on_while_simulated_time_stands_still(viewer):
    simulated = Parameter('use_sim_time', Parameter.Type.BOOL, True)
    assert viewer.node.set_parameters([simulated])[0].successful
    executor = SingleThreadedExecutor(context=viewer.node.context)
    executor.add_node(viewer.node)
    try:
        deadline = time.monotonic() + PATIENCE
        while viewer.scene.pictures < 5:
            assert time.monotonic() < deadline, f'only {viewer.scene.pictures} pictures'
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.shutdown()


def sphere(frame: str, x: float = 0.0, **fields) -> Marker:
    marker = Marker(type=Marker.SPHERE, **fields)
    marker.header.frame_id = frame
    marker.pose.position = Point(x=x)
    return marker


def draw(viewer, *markers: Marker) -> dict[str, np.ndarray]:
    viewer._on_markers('topic')(MarkerArray(markers=markers))
    viewer.draw()
    return viewer.scene.spheres


@pytest.mark.parametrize('frame', ['left/tool0', 'tool0'])
def test_frames_may_have_the_prefix_of_the_nodes(viewer, frame):
    (center,) = draw(viewer, sphere(frame)).values()
    expected = ROBOT.forward_kinematics(ROBOT.neutral(), 'tool0')[:3, 3]
    # The same product of the same numbers.
    np.testing.assert_allclose(center, expected, atol=1e-15)


def test_a_frame_of_another_robot_is_not_drawn(viewer):
    assert draw(viewer, sphere('right/tool0')) == {}


def test_a_marker_that_makes_no_sense_is_left_out_and_the_others_are_drawn(viewer):
    bad = sphere('tool0', math.nan, id=1)
    no_rotation = sphere('tool0', id=2)
    no_rotation.pose.orientation.w = 0.0
    assert set(draw(viewer, bad, no_rotation, sphere('tool0', id=3))) == {'topic//3'}


def test_what_was_drawn_goes_when_its_marker_makes_no_sense_any_more(viewer):
    assert draw(viewer, sphere('tool0'))
    assert draw(viewer, sphere('tool0', math.inf)) == {}


def test_delete_all_clears_what_the_topic_has_drawn(viewer):
    assert len(draw(viewer, sphere('tool0', id=1), sphere('tool0', id=2))) == 2
    assert draw(viewer, Marker(action=Marker.DELETEALL)) == {}
