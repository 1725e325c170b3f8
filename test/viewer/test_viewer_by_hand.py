# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The mouse on the page, in a real browser: clicks on links, drags the target, presses buttons.

Where a thing is on the page follows from the camera that the page tells of. A link is clicked where
no other one, no panel and no notice lies over it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

pytest.importorskip('viser')

from browser import BROWSER, DRIVER, LACKS, Camera, covered, opened, text_of
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
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
POSTURE = {'shoulder_pitch': 0.5, 'elbow_pitch': 1.2, 'wrist_pitch': 0.6}
SIZE = 1100, 450
"""Pixels; the panel covers 400 of them on the right, and not the robot."""


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
        self.explorer.posed.move(POSTURE)
        self.explorer.posed.place()
        self.explorer.posed.look_at()
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

    def drawn(self) -> None:
        """Wait until what the page has been told is in its picture."""
        self.browser.execute_async_script(
            'const done = arguments[0];'
            'requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))'
        )

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

    def mouse(self) -> ActionChains:
        """Actions without pauses of their own."""
        return ActionChains(self.browser, duration=50)

    def move_to(self, actions: ActionChains, pixel: np.ndarray) -> None:
        """Add a move of the mouse to a pixel (2)."""
        actions.w3c_actions.pointer_action.move_to_location(*(round(float(x)) for x in pixel))

    def triangles(self) -> tuple[np.ndarray, list[str]]:
        """All shapes as they are drawn, (n, 3, 3) in the root frame [m], and the link of each."""
        posed, corners, links = self.explorer.posed, [], []
        for visual in VISUALS:
            X = posed.robot.forward_kinematics(posed.q, visual.link)
            corners.append(visual.triangles @ X[:3, :3].T + X[:3, 3])
            links += [visual.link] * len(visual.triangles)
        return np.concatenate(corners), links

    def arrow(self, pose: np.ndarray, size: float) -> tuple[int, np.ndarray, np.ndarray]:
        """The axis of a target (4, 4) that is grasped best: its number, two pixels (2) along it.

        No link lies behind the first pixel: it would be clicked.
        """
        camera = Camera(self.browser, self.camera)
        corners, _ = self.triangles()
        ways = []
        for axis in range(3):
            tip, beyond = (pose[:3, 3] + part * size * pose[:3, axis] for part in (0.75, 1.15))
            way = axis, camera.pixel(tip), camera.pixel(beyond)
            if camera.first(tip, corners) < 0 and not covered(self.browser, way[1]):
                ways.append(way)
        assert ways, 'links lie behind all arrows'
        return max(ways, key=lambda way: float(np.linalg.norm(way[2] - way[1])))

    def clear_pixel(self, link: str) -> np.ndarray:
        """A pixel (2) of a link that is well inside what is seen of it."""
        camera = Camera(self.browser, self.camera)
        corners, links = self.triangles()
        for triangle in corners[[one == link for one in links]]:
            middle = triangle.mean(axis=0)
            # Around it as well, by 4 mm.
            around = (middle + 0.004 * step for step in (*camera.R.T[:2], *-camera.R.T[:2]))
            if all(
                (hit := camera.first(point, corners)) >= 0 and links[hit] == link
                for point in (middle, *around)
            ) and not covered(self.browser, pixel := camera.pixel(middle)):
                return pixel
        raise AssertionError(f'{link} is hidden')


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    scene = Scene('127.0.0.1', 0, 'test')
    try:
        with opened(tmp_path_factory.mktemp('profile'), SIZE) as browser:
            yield Page(browser, scene)
    finally:
        scene.close()


@pytest.mark.parametrize('link', ['forearm_link', 'pedestal_link'])
def test_a_click_on_a_link_shows_its_pose(page, link):
    page.explorer._choose_frame(TOOL)
    page.until(page.settled)
    actions = page.mouse()
    page.move_to(actions, page.clear_pixel(link))
    actions.w3c_actions.pointer_action.click()
    actions.perform()
    posed = page.explorer.posed
    place = ', '.join(f'{x:.4f}' for x in posed.robot.forward_kinematics(posed.q, link)[:3, 3])
    page.until(lambda: page.explorer.frame == link and place in text_of(page.browser))


def test_the_target_is_dragged_along_an_arrow_and_its_solutions_reach_it(page, monkeypatch):
    # A busy machine finds them as well; the search ends when it has as many as are shown.
    monkeypatch.setattr('dynamics_ros.page.explorer.SEARCH_TIME', 60.0)
    explorer = page.explorer
    explorer._choose_frame(TOOL)
    page.open_tab('Reach')
    explorer._reach_text.content = 'no target yet'
    page.until(lambda: 'no target yet' in text_of(page.browser))
    page.press('label', 'target to drag')
    page.until(lambda: 'solutions for tool0' in text_of(page.browser))
    page.drawn()
    robot, start = explorer.posed.robot, explorer.posed.frame_pose(TOOL)
    target = explorer._scene._target
    axis, begin, end = page.arrow(start, target.scale)
    actions = page.mouse()
    page.move_to(actions, begin)
    actions.w3c_actions.pointer_action.pointer_down()
    for part in (0.2, 0.5, 1.0):
        page.move_to(actions, begin + part * (end - begin))
    actions.w3c_actions.pointer_action.pointer_up()
    actions.perform()

    def dragged():
        moved = start[:3, :3].T @ (np.array(target.position) - start[:3, 3])
        aside = np.delete(moved, axis)
        return abs(moved[axis]) > 0.03 and np.abs(aside).max() < 0.01

    def reached():
        return [
            np.linalg.norm(robot.forward_kinematics(one.q, TOOL)[:3, 3] - target.position)
            for one in explorer._solutions
        ]

    page.until(lambda: dragged() and reached() and max(reached()) < 1e-3)
    page.press('label', 'target to drag')
    page.until(lambda: explorer._scene._target is None)


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
    requests = Requests(
        node,
        page.explorer._scene,
        page.explorer.tabs,
        ('contact_node', 'robot_simulator'),
        lambda: page.explorer.frame,
    )
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
