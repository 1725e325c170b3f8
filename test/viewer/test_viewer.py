# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros_viewer in a real browser: the robot, its frames, a push, and what the nodes say."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy')

from browser import BROWSER, DRIVER, LACKS, opened, text_of
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Vector3, Wrench
from hosts import free_port
from patience import PATIENCE
from PIL import Image
from ros_harness import LATCHED, Client, client, description, running
from selenium.common.exceptions import TimeoutException
from std_msgs.msg import String

from dynamics_ros import Robot
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.scene import Scene
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ApplyWrench

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason=LACKS),
]

DOMAIN = 69

NODES = ('kinematics_node', 'dynamics_node', 'contact_node')


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    with opened(tmp_path) as browser:
        yield browser


def picture(browser: Any) -> np.ndarray:
    """(height, width, 3) of the page where the robot is, left of the panel; 0 to 255."""
    image = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert('RGB')
    width, height = image.size
    box = (int(0.3 * width), int(0.2 * height), int(0.55 * width), int(0.8 * height))
    return np.asarray(image.crop(box), dtype=float)


def dark(image: np.ndarray) -> float:
    """Share of the pixels that are dark: parts of the arm are; ground, sky, shadows are not."""
    return float((image.max(axis=2) < 100.0).mean())


def in_time(condition: Any) -> Any:
    """What a page says; None where a busy machine draws it too slowly for the browser's driver."""
    with suppress(TimeoutException):
        return condition()


def wait(watcher: Client, condition: Any) -> Any:
    return watcher.wait_for(lambda: in_time(condition), period=0.5)


@pytest.mark.slow
def test_the_page_shows_the_robot_and_a_push(page: Any) -> None:
    port = free_port()
    with (
        running('robot_simulator', DOMAIN),
        running('dynamics_ros', DOMAIN),
        running('dynamics_ros_viewer', DOMAIN, {'port': port}) as viewer,
        client(DOMAIN) as watcher,
    ):
        wait(watcher, lambda: 'the page is at' in viewer.printed)
        # Before the page takes a whole processor, as it does where there is no graphics card.
        wait(
            watcher,
            lambda: all(watcher.status(node).message.startswith('publishing') for node in NODES),
        )
        page.get(f'http://localhost:{port}')
        wait(watcher, lambda: 'seven_joint_arm' in text_of(page))
        wait(watcher, lambda: 'no contact' in text_of(page))
        wait(watcher, lambda: 'ok: contact_node, dynamics_node, kinematics_node' in text_of(page))
        wait(watcher, lambda: dark(picture(page)) > 0.002)

        push = ApplyWrench.Request(frame='tool0', duration=Duration(sec=20))
        push.wrench = Wrench(force=Vector3(y=8.0, z=-15.0))

        def apply() -> None:
            answer = watcher.call(ApplyWrench, '/robot_simulator/apply_wrench', push)
            assert answer.result.code == Result.SUCCESS

        # Again, since a busy machine may show none of a push before it ends.
        watcher.wait_for(
            lambda: in_time(lambda: 'contact at ' in text_of(page)), meanwhile=apply, period=30.0
        )
        (first,) = wait(watcher, lambda: [picture(page)])
        # It moves.
        wait(watcher, lambda: np.abs(picture(page) - first).max() > 60.0)


@pytest.mark.slow
def test_a_bad_description_is_told_on_the_page_and_the_next_good_one_shown(page: Any) -> None:
    port = free_port()
    with (
        running('dynamics_ros_viewer', DOMAIN, {'port': port}) as viewer,
        client(DOMAIN) as watcher,
    ):
        wait(watcher, lambda: 'the page is at' in viewer.printed)
        page.get(f'http://localhost:{port}')
        wait(watcher, lambda: 'waiting for robot_description' in text_of(page))
        assert dark(picture(page)) < 0.0005
        watcher.publish('/robot_description', String(data='<robot'), LATCHED)
        wait(watcher, lambda: 'robot_description refused' in text_of(page))
        watcher.publish('/robot_description', String(data=description()), LATCHED)
        wait(
            watcher,
            lambda: 'seven_joint_arm' in (text := text_of(page)) and 'refused' not in text,
        )


@pytest.fixture(scope='module')
def explorer() -> Iterator[Explorer]:
    scene = Scene('127.0.0.1', 0, 'test')
    one = Explorer(scene)
    one.show(Robot(description()), (), 'tool0')
    yield one
    scene.close()


@pytest.mark.slow
def test_the_panel_takes_at_most_a_quarter_of_the_window(explorer: Explorer, page: Any) -> None:
    script = 'return (document.querySelector("canvas")?.clientWidth ?? 0) / window.innerWidth'
    deadline = time.monotonic() + PATIENCE
    for width in (1400, 700):
        page.set_window_size(width, 600)
        page.get(f'http://localhost:{explorer._scene.port}')
        # Below 900 pixels it is folded, until a click.
        while not in_time(
            lambda width=width: (
                0.749 <= page.execute_script(script) < 1.0
                and ('Frame the robot' in text_of(page)) == (width > 900)
            )
        ):
            explorer.update()
            assert time.monotonic() < deadline
            time.sleep(0.05)
