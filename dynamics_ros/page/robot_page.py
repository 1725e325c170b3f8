# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Web page of a robot in the browser or in a notebook, without ROS."""

from __future__ import annotations

import os
import threading
from html import escape
from pathlib import Path

from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.collision_geometry import read_visual_geometry
from dynamics_ros.model.formats import read_any
from dynamics_ros.model.hardened_xml import is_text
from dynamics_ros.multibody.arguments import finite_vector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bones import missing_shapes

PORT = 8080
"""Port of a page if none is given."""

HOST = '127.0.0.1'
"""Only this machine can reach the page, because it has no password."""

INSTALL = "pip install viser, or pip install 'dynamics_ros[viewer]'"
"""What to do where viser is missing."""

PERIOD = 0.05
"""Period between checks for requests from the page [s]."""

HEIGHT = 600
"""Height of a page in a notebook [pixels]."""


class RobotPage:
    """Page on this machine that shows a robot until it is closed; also a context manager.

    In a notebook the page appears if the object is the last of a cell; a script calls ``wait``. The
    page has a slider for each joint, frames and their poses, and gravity torques beside the limits.

    Attributes:
        robot: the robot.
        url: address of the page on this machine.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        configuration: ArrayLike | None = None,
        *,
        frame: str | None = None,
        description: str | os.PathLike[str] | None = None,
        port: int = PORT,
        folder: Path | None = None,
    ) -> None:
        """Serve the page from a separate thread.

        Args:
            robot: the robot.
            configuration: (nq) shown at first; None sets all joints to zero, or as near as their
                limits allow.
            frame: frame shown at first; None is the tool frame of the robot.
            description: text or file of the robot; the shapes of URDF are drawn. Bodies without
                shapes are drawn as bones between their joints.
            port: port of the page; the next free one if it is taken.
            folder: folder of relative mesh paths if the description is text.

        Raises:
            InvalidArgumentError: the configuration has another shape or is not finite, the port is
                not available, or viser, which draws the page, is not installed.
            UnknownFrameError: no such frame.
            ModelError: the description cannot be read.
        """
        # Fail before anything is served.
        if configuration is not None:
            configuration = finite_vector('configuration', configuration, robot.nq)
        if description is not None and not is_text(description):
            folder = Path(os.path.expanduser(description)).parent
        urdf = read_any(description).urdf if description is not None else ''
        # Without URDF, links are shown as bones.
        visuals, missing = read_visual_geometry(urdf or '<robot name=""/>', folder)
        tool = robot.model.frame(frame or robot.model.tool_frame).name
        try:
            from .explorer import Explorer
            from .scene import Scene
        except ImportError as absent:
            reason = f'{absent.name} is not installed'
            raise InvalidArgumentError('show', reason, INSTALL) from absent
        scene = Scene(HOST, port, robot.name)
        explorer = Explorer(scene)
        explorer.show(robot, visuals, tool)
        explorer.say(missing_shapes(missing))
        if configuration is not None:
            explorer.pose(configuration)
        self.robot = robot
        self.url = f'http://localhost:{scene.port}'
        self._scene, self._explorer = scene, explorer
        self._closed = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name='robot page', daemon=True)
        self._thread.start()

    def pose(self, q: ArrayLike) -> None:
        """Show the robot in a configuration (nq), which sliders may change.

        Raises:
            InvalidArgumentError: the configuration has another shape, or is not finite.
        """
        configuration = finite_vector('q', q, self.robot.nq).copy()
        self._scene.later(lambda: self._explorer.pose(configuration))

    def wait(self) -> None:
        """Serve the page until it is closed or Ctrl-C ends it."""
        try:
            # A wait without timeout would block Ctrl-C on some systems.
            while not self._closed.wait(1.0):
                pass
        finally:
            self.close()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop serving the page."""
        self._closed.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> RobotPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = 'closed' if self._closed.is_set() else self.url
        return f'<RobotPage of {self.robot.name!r}: {state}>'

    def _repr_html_(self) -> str:
        """Return HTML that embeds the page in a notebook."""
        if self._closed.is_set():
            return f'<p>{escape(repr(self))}</p>'
        return (
            f'<iframe src="{self.url}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'
            f'<p><a href="{self.url}" target="_blank">{self.url}</a></p>'
        )

    def _run(self) -> None:
        """Handle requests from the page in one thread, because the explorer is not thread-safe."""
        try:
            while not self._closed.wait(PERIOD):
                self._explorer.update()
        except Exception as failure:
            self._failure = failure
            raise
        finally:
            self._closed.set()
            self._scene.close()
