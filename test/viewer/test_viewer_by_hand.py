# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: buttons are pressed, and the panel takes its share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

pytest.importorskip('viser')

from browser import BROWSER, DRIVER, LACKS, opened, text_of
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.by import By

from dynamics_ros import Robot
from dynamics_ros.model.visual_geometry import read_visual_geometry
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.scene import Scene

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason=LACKS),
]

DOMAIN = 184
ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
VISUALS = read_visual_geometry(ARM)[0]
TOOL = 'tool0'
SIZE = 1100, 450
"""Pixels."""


class Page:
    """A page with a robot, and the browser that shows it.

    Attributes:
        browser: of selenium.
        explorer: what answers it, in the thread of the test.
    """

    def __init__(self, browser: Any, scene: Scene) -> None:
        self.browser, self._scene = browser, scene
        self.explorer = Explorer(scene)
        self.explorer.show(Robot.from_urdf(ARM), VISUALS, TOOL)
        browser.get(f'http://localhost:{scene.port}')
        self.until(lambda: 'x y z' in text_of(browser) and self.settled())
        self.dismiss_notices()

    def until(self, condition: Any) -> None:
        """Answer the page until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.explorer.update()
            if condition():
                return
            assert time.monotonic() < deadline, text_of(self.browser)
            time.sleep(0.05)

    @property
    def camera(self) -> Any:
        """The page's own, or None."""
        clients = [*self._scene._server.get_clients().values()]
        return clients[-1].camera if clients else None

    def settled(self) -> bool:
        """Whether the page has drawn the robot, as it stands, from where it was told to look."""
        camera, wanted = self.camera, self._scene._server.initial_camera
        return camera is not None and np.allclose(camera.position, wanted.position, atol=1e-3)

    def dismiss_notices(self) -> None:
        """Close what lies over the picture, such as the notice of a machine without graphics."""
        self.browser.execute_script(
            'document.querySelectorAll(".mantine-Notification-closeButton").forEach(b => b.click())'
        )
        notices = (By.CSS_SELECTOR, '.mantine-Notification-root')
        self.until(lambda: not self.browser.find_elements(*notices))

    def press(self, selector: str, text: str) -> None:
        """Click an element that has a text, as soon as it is there; the page may make it anew."""

        def pressed() -> bool:
            try:
                for one in self.browser.find_elements(By.CSS_SELECTOR, selector):
                    if one.is_displayed() and text in one.text:
                        one.click()
                        return True
            except (StaleElementReferenceException, ElementClickInterceptedException):
                pass
            return False

        self.until(pressed)

    def open_tab(self, title: str) -> None:
        """Choose a tab; one that the page makes anew meanwhile is chosen again."""
        tab = f'[role=tab][title={title}]'

        def chosen() -> bool:
            if self.browser.find_elements(By.CSS_SELECTOR, f'{tab}[aria-selected=true]'):
                return True
            self.press(tab, title)
            return False

        self.until(chosen)


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    scene = Scene('127.0.0.1', 0, 'test')
    try:
        with opened(tmp_path_factory.mktemp('profile'), SIZE) as browser:
            yield Page(browser, scene)
    finally:
        scene.close()


@pytest.fixture
def simulator(page):
    """A service in the place of the simulator's, and the requests that it was given."""
    rclpy = pytest.importorskip('rclpy')
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from ros_harness import occupy

    from dynamics_ros.viewer.requests import Requests
    from dynamics_ros_msgs.msg import Result
    from dynamics_ros_msgs.srv import ApplyWrench

    occupy(DOMAIN)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node('viewer', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    asked: list[Any] = []

    def apply(request, response):
        asked.append(request)
        response.result = Result(code=Result.SUCCESS, message='it is pushed')
        return response

    node.create_service(ApplyWrench, 'robot_simulator/apply_wrench', apply)
    nodes = 'contact_node', 'robot_simulator'
    requests = Requests(node, page.explorer._scene, page.explorer, nodes)
    try:
        yield executor, requests, asked
    finally:
        requests.tab.remove()
        tab = (By.CSS_SELECTOR, '[role=tab][title=Requests]')
        page.until(lambda: not page.browser.find_elements(*tab))
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.ros
def test_the_button_pushes_the_simulated_robot_at_the_chosen_frame(page, simulator):
    executor, requests, asked = simulator
    page.explorer._choose_frame('hand_link')

    def spun(condition):
        executor.spin_once(timeout_sec=0.02)
        return condition()

    page.until(lambda: spun(requests._push_client.service_is_ready))
    requests.update()  # as the node does: until then the button is grey
    page.open_tab('Requests')
    page.press('button', 'Push in the simulator')
    page.until(lambda: spun(lambda: 'push: done. it is pushed' in text_of(page.browser)))
    (request,) = asked
    assert request.frame == 'hand_link'
    assert (request.wrench.force.x, request.wrench.force.y) == (0.0, 15.0)


@pytest.mark.parametrize('width', [700, 1000, 1400])
def test_the_panel_takes_at_most_a_quarter_of_the_window(page, tmp_path, width):
    scene = page.explorer._scene
    with opened(tmp_path, (width, 600)) as browser:
        browser.get(f'http://localhost:{scene.port}')
        share = 'return (document.querySelector("canvas")?.clientWidth ?? 0) / window.innerWidth'
        page.until(lambda: 0.749 <= browser.execute_script(share) < 1.0)
        # Below 900 pixels it is folded, until a click.
        page.until(lambda: ('Frame the robot' in text_of(browser)) == (width > 900))
