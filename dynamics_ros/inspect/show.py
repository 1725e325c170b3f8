# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on a page of the browser, without ROS."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.visual_geometry import Visual
from dynamics_ros.robot import Robot

TITLE = 'dynamics_ros inspect'


def show(robot: Robot, visuals: Sequence[Visual], port: int) -> None:
    """Serve the page, with a slider for each joint, until Ctrl-C.

    Raises:
        InvalidArgumentError: the page cannot be served, or what draws it is not installed.
    """
    try:
        from dynamics_ros.viewer.scene import Scene
    except ImportError as missing:
        raise InvalidArgumentError(
            '--show', f'{missing.name} is not installed', 'pip install viser'
        ) from missing
    from dynamics_ros.viewer.posed import PosedRobot

    try:
        scene = Scene('127.0.0.1', port, TITLE)
    except OSError as error:
        raise InvalidArgumentError('--port', str(error), 'a port that is free') from error
    posed = PosedRobot(scene, robot, visuals)
    sliders = posed.sliders()
    posed.move({one.joint: min(max(0.0, one.lower), one.upper) for one in sliders})
    scene.add_sliders(sliders, posed.move)
    scene.show_text(f'**{robot.name}**')
    print(f'\nthe page is at http://localhost:{scene.port}; Ctrl-C ends it', flush=True)
    try:
        while True:
            time.sleep(3600.0)
    finally:
        scene.close()
