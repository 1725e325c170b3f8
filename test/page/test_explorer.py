# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders, frames and torques of the page pose the robot and tell of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.inspect.command import main as inspect
from dynamics_ros.model.collision_geometry import read_visual_geometry
from dynamics_ros.page.bars import EXCEEDED_COLOR, Bar, bars, four_digits

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture
def explorer() -> Iterator[Any]:
    pytest.importorskip('viser')
    from dynamics_ros.page.explorer import Explorer
    from dynamics_ros.page.scene import Scene

    scene = Scene('127.0.0.1', 0, 'test')
    made = Explorer(scene)
    made.show(Robot.from_urdf(ARM), read_visual_geometry(ARM)[0], 'tool0')
    try:
        yield made
    finally:
        scene.close()


def by_hand(handle: Any, value: Any) -> None:
    """What viser does when a person changes a control."""
    handle._impl.value = value
    for call in handle._impl.update_cb:
        call(SimpleNamespace(client=object(), target=handle))


def test_a_slider_poses_the_robot_until_joint_states_come(explorer):
    robot, sliders = explorer.robot, explorer._sliders
    assert list(sliders) == list(robot.joint_names)
    ends = [(slider.min, slider.max) for slider in sliders.values()]
    assert ends == [*zip(robot.lower_limits, robot.upper_limits, strict=True)]
    slider = sliders['elbow_pitch']
    index = explorer.robot.joint_q_indices['elbow_pitch']
    by_hand(slider, 0.7)
    explorer.update()
    assert explorer.q[index] == 0.7
    explorer.follow({'elbow_pitch': 0.4})
    explorer._next_update = 0.0
    explorer.update()
    assert slider.disabled and slider.value == pytest.approx(0.4)
    by_hand(slider, 0.9)
    explorer.update()
    assert explorer.q[index] == 0.4
    explorer.release()
    assert not slider.disabled


def test_a_robot_without_masses_is_shown(explorer):
    text = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
    text += '<parent link="a"/><child link="b"/></joint></robot>'
    explorer.show(Robot.from_urdf(text), {}, 'b')
    by_hand(explorer._sliders['j'], 0.5)
    explorer.update()
    assert explorer.q.tolist() == [0.5]


def test_the_pose_of_the_link_that_is_clicked_is_told(explorer):
    drawn = explorer._scene._server.scene._handle_from_node_name.items()
    shape = next(shape for name, shape in drawn if name.startswith('/robot/hand_link/shape_'))
    for one in shape._impl.click_cb:  # what viser does when a person clicks it
        getattr(one, 'callback', one)(SimpleNamespace(target=shape))
    explorer.update()
    assert explorer.frame == 'hand_link'
    x = explorer.robot.forward_kinematics(explorer.q, 'hand_link')[0, 3]
    assert f'{x:.4f}' in explorer._pose_text.content
    assert explorer._scene.frames['hand_link'].show_axes
    assert not explorer._scene.frames['tool0'].show_axes


def test_gravity_of_the_description_is_shown_until_a_node_tells_another(explorer):
    explorer.follow({'shoulder_pitch': 0.9})
    explorer.update()
    own = explorer.robot.gravity(explorer.q)
    pitch = own[explorer.robot.joint_v_indices['shoulder_pitch']]
    assert (
        f'>{four_digits(pitch)}<' in explorer._bars.content
        and 'limit 120' in explorer._bars.content
    )
    explorer.set_torques({'shoulder_pitch': 12.5}, None)
    explorer._next_update = 0.0
    explorer.update()
    assert '>12.50<' in explorer._bars.content


def test_a_bar_beyond_its_limit_has_the_colour_of_an_alarm_and_names_are_escaped():
    assert EXCEEDED_COLOR not in bars(['a'], {'a': Bar(4.0, 5.0)}, {})
    shown = bars(['<b>'], {'<b>': Bar(-6.0, 5.0)}, {})
    assert EXCEEDED_COLOR in shown and '&lt;b&gt;' in shown and '<b>' not in shown


def test_links_are_drawn_where_forward_kinematics_has_them(explorer):
    explorer.follow({'elbow_pitch': 0.7, 'unknown': 1.0})
    explorer.update()
    drawn = explorer._scene.frames['hand_link']
    X = explorer.robot.forward_kinematics(explorer.q, 'hand_link')
    np.testing.assert_allclose(drawn.position, X[:3, 3], atol=1e-12)
    np.testing.assert_allclose(drawn.wxyz[0] ** 2, (1.0 + np.trace(X[:3, :3])) / 4.0, atol=1e-12)
    assert explorer.q[explorer.robot.joint_q_indices['elbow_pitch']] == 0.7


def test_the_camera_frames_all_shapes_of_the_robot_as_it_stands(explorer):
    explorer._look_at()
    lowest, highest = explorer._scene._box
    tool = explorer.robot.forward_kinematics(explorer.q, 'tool0')[:3, 3]
    assert (lowest <= tool).all() and (tool <= highest).all()
    # The base plate has corners beyond all frames, and stands on the ground.
    assert lowest[0] < -0.05 and lowest[2] == pytest.approx(0.0, abs=0.01)


def test_without_viser_show_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'viser', None)
    for name in ('scene', 'explorer'):
        monkeypatch.delitem(sys.modules, f'dynamics_ros.page.{name}', raising=False)
    assert inspect([str(ARM), '--show']) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'viser is not installed; expected pip install viser' in line
    assert "pip install 'dynamics_ros[viewer]'" in line
