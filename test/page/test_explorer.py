# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page of a robot: sliders, frames and torques; served from a script, without ROS."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hosts import free_port
from patience import PATIENCE

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.inspect import show
from dynamics_ros.inspect.command import main as inspect
from dynamics_ros.model.collision_geometry import read_visual_geometry
from dynamics_ros.page.bars import EXCEEDED_COLOR, Bar, bars, four_digits
from dynamics_ros.page.bones import missing_shapes, skeleton

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
    explorer.gravity = {'shoulder_pitch': 12.5}
    explorer._next_update = 0.0
    explorer.update()
    assert '>12.50<' in explorer._bars.content


def test_a_bar_beyond_its_limit_has_the_colour_of_an_alarm_and_names_are_escaped():
    assert EXCEEDED_COLOR not in bars(['a'], {'a': Bar(4.0, 5.0)}, {})
    shown = bars(['<b>'], {'<b>': Bar(-6.0, 5.0)}, {})
    assert EXCEEDED_COLOR in shown and '&lt;b&gt;' in shown and '<b>' not in shown
    assert 'table-layout:fixed' in shown  # else bars vanish in a narrow panel


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


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, backend='python')


@pytest.fixture
def port():
    pytest.importorskip('viser')
    return free_port()


def test_the_page_is_served_until_it_is_closed(arm, port):
    with arm.show(np.full(7, 0.2), frame='hand_link', description=ARM, port=port) as page:
        assert page.robot is arm
        assert page._explorer.frame == 'hand_link'
        with urllib.request.urlopen(page.url, timeout=20.0) as answer:
            assert b'<html' in answer.read()
        assert f'src="{page.url}"' in page._repr_html_()
    assert 'closed' in repr(page)
    assert 'iframe' not in page._repr_html_()


@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
def test_what_ends_the_page_is_raised_to_the_one_who_waits(arm, port):
    with show(arm, port=port) as page:
        page._explorer.update = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            page.wait()


def test_sliders_follow_the_configuration(arm, port):
    with show(arm, port=port) as page:
        shown = threading.Event()
        page.pose(np.full(7, 0.3))
        page._scene.later(shown.set)
        assert shown.wait(20.0)
        np.testing.assert_array_equal(page._explorer.q, np.full(7, 0.3))
        values = [slider.value for slider in page._explorer._sliders.values()]
        np.testing.assert_allclose(values, 0.3)


def test_what_cannot_be_shown_is_told(arm, port):
    with pytest.raises(InvalidArgumentError, match='configuration'):
        show(arm, np.zeros(3), port=port)
    with pytest.raises(UnknownFrameError):
        show(arm, frame='nowhere', port=port)
    with pytest.raises(ModelError):
        show(arm, description='<robot/>', port=port)


def test_links_without_shapes_have_bones_to_the_next_ones(arm):
    bones = skeleton(arm.model, ())
    ends = {
        bone.link: np.linalg.norm(bone.triangles.reshape(-1, 3), axis=1).max() for bone in bones
    }
    for frame in arm.model.frames:
        length = np.linalg.norm([*map(float, frame.origin.translation)])
        if frame.parent and length > 1e-6:
            assert ends[frame.parent] >= length - 1e-9
    drawn = [frame.name for frame in arm.model.frames]
    assert skeleton(arm.model, drawn) == ()


def test_missing_shapes_say_which_and_how_to_get_them():
    text = missing_shapes([f"mesh 'link{k}.dae': pip install pycollada" for k in range(20)])
    assert '20 shapes are missing: pip install pycollada' in text
    assert 'link0.dae' in text and 'and 8 more' in text
    assert missing_shapes([]) == ''


def test_the_page_says_which_shapes_are_missing(port, tmp_path):
    file = tmp_path / 'arm.urdf'
    shape = '<mesh filename="package://gone/a.stl"/>'
    file.write_text(re.sub('<cylinder [^>]*/>', shape, ARM.read_text()))
    with Robot(file, backend='python').show(description=file, port=port) as page:
        assert "source the workspace that has the package 'gone'" in unescape(
            page._explorer._text.content
        )


def test_the_page_needs_no_ros_and_is_loaded_when_it_is_shown(port):
    program = f"""
import sys
from dynamics_ros import Robot
robot = Robot.from_urdf({str(ARM)!r}, backend='python')
assert not [name for name in sys.modules if name.startswith(('dynamics_ros.page', 'viser'))]
for name in ('rclpy', 'dynamics_ros_msgs', 'geometry_msgs'):
    sys.modules[name] = None
with robot.show(port={port}) as page:
    print(page.url)
"""
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert f'http://localhost:{port}' in done.stdout.splitlines()
