# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot is shown on a page of this machine, from a script or within a notebook, without ROS."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hosts import free_port
from patience import PATIENCE

pytest.importorskip('viser')

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.inspect import show
from dynamics_ros.page.bones import skeleton

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, backend='python')


@pytest.fixture
def port():
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
