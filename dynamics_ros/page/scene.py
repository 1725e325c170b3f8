# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scene of the page, drawn with viser: a robot, and objects in its frames. Independent of ROS."""

from __future__ import annotations

import errno
import json
import math
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from html import escape
from queue import SimpleQueue
from typing import Any
from urllib.parse import quote

import numpy as np
import viser
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.collision_geometry import Visual

Array = NDArray[np.float64]
Color = tuple[float, float, float]

USUAL_PORT, HIGHEST_PORT = 8080, 65535
"""Port of a page if none is given, and the highest number of a port."""

ROBOT = '/robot'

CAMERA_DIRECTION = np.array([0.62, -0.66, 0.42])
"""Unit vector from the robot to the camera."""

PANEL_SHARE, PANEL_WIDTHS = 0.25, (225.0, 350.0)
"""Share of the window that the panel takes, within least and largest width [pixels]."""

PANEL_BORDER, FOLDED_WIDTH = 4.0, 40.0
"""Width of the borders beside a panel, and of a panel that is folded [pixels]."""

GRID = {False: ((200, 200, 200), (140, 140, 140)), True: ((62, 62, 66), (96, 96, 102))}
"""Colours of cells and sections of the ground grid, by whether the theme is dark."""


class Scene:
    """A web page with a 3D scene.

    viser handles the input of the page in its own threads. ``later`` queues a call, and ``answer``
    runs the queued calls in the thread of the caller, so only one thread changes the scene.

    Attributes:
        port: port of the page.
        gui: panel beside the scene (viser's GuiApi).
        frames: scene nodes of the frames of the robot, with all objects in them, by name.
    """

    def __init__(self, host: str, port: int, title: str, *, exact: bool = False) -> None:
        """Serve a page.

        Args:
            host: address of the page.
            port: its port; 0 is ``USUAL_PORT``.
            title: title of the page.
            exact: whether a taken port is an error, instead of a reason to take the next free one.

        Raises:
            InvalidArgumentError: the host is not an address of this machine, or the port is not
                available.
        """
        if not 0 <= port <= HIGHEST_PORT:
            raise InvalidArgumentError('port', str(port), f'0 to {HIGHEST_PORT}')
        port, free = port or USUAL_PORT, f'a free port, or 0 for {USUAL_PORT} or the next free one'
        # With an unusable address, viser would wait for its thread for ever.
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port if exact else 0))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise InvalidArgumentError('port', f'{port} is in use', free) from error
                expected = 'an address of this machine'
                raise InvalidArgumentError('host', str(error), expected) from error
        try:
            self._server: Any = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        except OSError as error:
            raise InvalidArgumentError('port', str(error), free) from error
        self.port = self._server.get_port()
        self._box = -np.ones(3), np.ones(3)
        self.gui: Any = self._server.gui
        self._server.scene.set_up_direction('+z')
        self._grid = self._server.scene.add_grid(
            '/ground', width=4.0, height=4.0, cell_size=0.25, section_size=1.0
        )
        self.set_dark(False)
        if hasattr(self.gui, 'main_panel'):  # viser 1.1; a floating panel hides part of the robot
            self.gui.main_panel.dock_right()
            self._server.on_client_connect(self._fit_to_window)
        self._title = self.gui.add_html('')
        self._queued_calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.frames: dict[str, Any] = {}
        self._objects: dict[str, tuple[str, str, Any]] = {}

    def later(self, call: Callable[[], None]) -> None:
        """Queue a call for the next ``answer``; thread-safe."""
        self._queued_calls.put(call)

    def answer(self) -> None:
        """Run the queued calls for the input of the page."""
        for _ in range(self._queued_calls.qsize()):
            self._queued_calls.get()()

    def set_title(self, title: str) -> None:
        """Set the title of the panel and of the tab of the browser."""
        self.gui.set_panel_label(title)
        # viser has no call for the title of the document: an image without source runs this line.
        line = escape(f'document.title = {json.dumps(title)}', quote=True)
        self._title.content = f'<img src="" hidden onerror="{line}">'

    def set_dark(self, dark: bool) -> None:
        """Set a dark or light theme for all visitors of the page."""
        self.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width='medium'
        )
        self._grid.cell_color, self._grid.section_color = GRID[dark]

    def show_robot(
        self,
        frames: Sequence[str],
        visuals: Sequence[Visual],
        on_click: Callable[[str], None],
    ) -> None:
        """Draw another robot in place of the current one, and remove all other objects.

        Args:
            frames: names of all frames, which become the names of the scene nodes.
            visuals: visual shapes of the robot.
            on_click: called by ``answer`` with the name of the link whose shape is clicked.
        """
        with self.together():
            for name in list(self._objects):
                self.remove(name)
            self._server.scene.remove_by_name(ROBOT)
            self._server.scene.add_frame(ROBOT, show_axes=False)
            self.frames = {
                name: self._server.scene.add_frame(
                    _path(name), show_axes=False, axes_length=0.12, axes_radius=0.004,
                    origin_radius=0.008,
                )
                for name in frames
            }  # fmt: skip
            for number, visual in enumerate(visuals):
                corners = visual.triangles.reshape(-1, 3)
                shape = self._server.scene.add_mesh_simple(
                    f'{_path(visual.link)}/shape_{number}',
                    corners,
                    np.arange(len(corners)).reshape(-1, 3),
                    color=visual.color,
                    flat_shading=True,
                )
                chosen = partial(on_click, visual.link)
                shape.on_click(lambda _, chosen=chosen: self.later(chosen))

    def look_at(self, lowest: Array, highest: Array, ground: float) -> None:
        """Move the camera so that it shows a box with two corners (3) [m], for all visitors.

        Args:
            lowest, highest: the corners.
            ground: height of the grid [m].
        """
        self._box, self._grid.position = (lowest, highest), (0.0, 0.0, ground)
        # The initial camera knows no window: _fit_to_window aims it.
        self._aim(self._server.initial_camera, 1.0)
        for client in self._server.get_clients().values():
            self._aim(client.camera, float(client.camera.aspect))

    def _aim(self, camera: Any, aspect: float) -> None:
        lowest, highest = self._box
        radius = max(0.5 * float(np.linalg.norm(highest - lowest)), 0.05)
        # The angle is that of the height.
        angle = math.atan(min(1.0, aspect) * math.tan(0.5 * float(camera.fov)))
        center = 0.5 * (lowest + highest)
        camera.position = center + CAMERA_DIRECTION * 1.15 * radius / math.sin(angle)
        camera.look_at = center

    def _fit_to_window(self, client: Any) -> None:
        """Give the panel of a client its share of the window, and aim the camera at the rest.

        In a narrow window the panel would take more than its share: it is folded to a bar at the
        edge, which a click opens.
        """
        least, largest = PANEL_WIDTHS
        window = float(client.camera.image_width)
        width = min(max(PANEL_SHARE * window, least), largest)
        client.gui.main_panel.set_width(round(width - PANEL_BORDER))
        if PANEL_SHARE * window < least:
            client.gui.main_panel.minimize()
            width = FOLDED_WIDTH
        self._aim(client.camera, (window - width) / float(client.camera.image_height))

    def remove(self, name: str) -> None:
        """Remove the object of a name."""
        shown = self._objects.pop(name, None)
        if shown is not None:
            shown[2].remove()

    def draw_sphere(
        self, name: str, frame: str, center: Array, diameter: float, color: Color
    ) -> None:
        """Draw a sphere about a centre (3) [m] in a frame of the robot; '' is the root frame.

        It replaces the object of its name.
        """
        # As bytes: viser converts a colour when it creates an object, but not when it is set later.
        shown = tuple(round(255.0 * min(max(part, 0.0), 1.0)) for part in color)
        look = {'radius': 0.5 * diameter, 'color': shown, 'position': center}
        self._draw(name, frame, 'icosphere', look)

    def draw_arrow(
        self, name: str, frame: str, points: Array, diameter: float, color: Color
    ) -> None:
        """Draw an arrow between two points (2, 3) [m], as ``draw_sphere`` draws a sphere."""
        length = float(np.linalg.norm(points[1] - points[0]))
        look = {
            'points': points[None],
            'colors': np.array([color]),
            'shaft_radius': 0.5 * diameter,
            'head_radius': diameter,
            'head_length': min(3.0 * diameter, 0.5 * length),
        }
        self._draw(name, frame, 'arrows', look)

    def _draw(self, name: str, frame: str, kind: str, look: dict[str, Any]) -> None:
        shown = self._objects.get(name)
        if shown is not None and shown[:2] == (frame, kind):
            for key, value in look.items():
                setattr(shown[2], key, value)
        else:
            self.remove(name)
            add = getattr(self._server.scene, f'add_{kind}')
            handle = add(f'{_path(frame)}/{quote(name, safe="")}', **look)
            self._objects[name] = frame, kind, handle

    def together(self) -> AbstractContextManager[None]:
        """Context in which all changes of the scene become visible at once."""
        return self._server.atomic()

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()


def _path(frame: str) -> str:
    """Scene node of a frame; a slash in the frame name does not create a level."""
    return f'{ROBOT}/{quote(frame, safe="")}'.rstrip('/')
