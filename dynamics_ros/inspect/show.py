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


PERIOD = 0.05
"""s between two looks at what is asked for on the page."""


def show(robot: Robot, visuals: Sequence[Visual], tool: str, port: int) -> None:
    """Serve the page, with a slider for each joint and all solutions of a target, until Ctrl-C.

    Args:
        robot: it.
        visuals: its shapes.
        tool: the frame that is shown at first.
        port: of the page; the next free one when it is taken.

    Raises:
        InvalidArgumentError: the page cannot be served, or what draws it is not installed.
    """
    try:
        from dynamics_ros.viewer.scene import Scene
    except ImportError as missing:
        raise InvalidArgumentError(
            '--show', f'{missing.name} is not installed', 'pip install viser'
        ) from missing
    from dynamics_ros.viewer.explorer import Explorer

    try:
        scene = Scene('127.0.0.1', port, TITLE)
    except OSError as error:
        raise InvalidArgumentError('--port', str(error), 'a port that is free') from error
    explorer = Explorer(scene)
    explorer.show(robot, visuals, tool)
    explorer.say(f'**{robot.name}**')
    print(f'\nthe page is at http://localhost:{scene.port}; Ctrl-C ends it', flush=True)
    try:
        while True:
            explorer.update()
            time.sleep(PERIOD)
    finally:
        scene.close()
