# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on the page is posed by sliders or by joint states, without ROS."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.inspect.command import main as inspect
from dynamics_ros.model.visual_geometry import read_visual_geometry

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


class FakeScene:
    """Keeps where links are drawn."""

    def __init__(self):
        self.placed = {}

    def show_robot(self, frames, visuals, on_click):
        self.frames = frames

    def look_at(self, lowest, highest):
        self.box = lowest, highest

    def set_ground(self, height):
        self.ground = height

    def move_frame(self, frame, pose):
        self.placed[frame] = np.array(pose[0]), np.array(pose[1])


@pytest.fixture
def posed():
    pytest.importorskip('viser')
    from dynamics_ros.page.posed import PosedRobot

    visuals, _ = read_visual_geometry(ARM)
    return PosedRobot(FakeScene(), Robot.from_urdf(ARM, backend='python'), visuals)


def test_links_are_drawn_where_forward_kinematics_has_them(posed):
    posed.move({'elbow_pitch': 0.7, 'unknown': 1.0})
    position, wxyz = posed._scene.placed['hand_link']
    X = posed.robot.forward_kinematics(posed.q, 'hand_link')
    np.testing.assert_allclose(position, X[:3, 3], atol=1e-12)
    np.testing.assert_allclose(wxyz[0] ** 2, (1.0 + np.trace(X[:3, :3])) / 4.0, atol=1e-12)
    assert posed.q[posed.robot.joint_q_indices['elbow_pitch']] == 0.7


def test_there_is_a_slider_within_limits_for_every_joint(posed):
    sliders = posed.sliders()
    assert [one.joint for one in sliders] == list(posed.robot.joint_names)
    assert [one.lower for one in sliders] == posed.robot.lower_limits.tolist()
    assert [one.upper for one in sliders] == posed.robot.upper_limits.tolist()


def test_the_camera_frames_all_shapes_of_the_robot_as_it_stands(posed):
    posed.look_at()
    lowest, highest = posed._scene.box
    tool = posed.robot.forward_kinematics(posed.q, 'tool0')[:3, 3]
    assert (lowest <= tool).all() and (tool <= highest).all()
    # The base plate has corners beyond all frames, and stands on the ground.
    assert lowest[0] < -0.05 and lowest[2] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(('root_joint', 'ground'), [('floating', -0.5), ('fixed', 0.0)])
def test_the_ground_is_below_the_legs_of_a_base_that_floats(root_joint, ground):
    pytest.importorskip('viser')
    from dynamics_ros.page.posed import PosedRobot

    leg = Robot.from_urdf(
        '<robot name="one"><link name="base"/><link name="foot"/>'
        '<joint name="leg" type="prismatic"><parent link="base"/><child link="foot"/>'
        '<origin xyz="0 0 -0.5"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>',
        root_joint,
        backend='python',
    )
    assert PosedRobot(FakeScene(), leg, ())._scene.ground == ground


def test_without_viser_show_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'viser', None)
    monkeypatch.delitem(sys.modules, 'dynamics_ros.page.scene', raising=False)
    monkeypatch.delitem(sys.modules, 'dynamics_ros.page.explorer', raising=False)
    assert inspect([str(ARM), '--no-speed', '--show']) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'viser is not installed; expected pip install viser' in line
