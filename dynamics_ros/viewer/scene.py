# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page: a robot, markers and a few lines of text, drawn by viser. Knows nothing of ROS."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from dynamics_ros.model.visual_geometry import Visual

Array = NDArray[np.float64]
Color = tuple[float, float, float]

ROBOT = '/robot'
MARKERS = '/markers'


class Scene:
    """A page on this machine.

    Attributes:
        port: where it is served.
    """

    def __init__(self, host: str, port: int, title: str) -> None:
        """Serve a page.

        Raises:
            OSError: the address cannot be had.
        """
        # Where the address is of no use viser waits for its thread for ever.
        with socket.socket() as probe:
            probe.bind((host, 0))
        self._server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        self.port = self._server.get_port()
        self._server.scene.set_up_direction('+z')
        self._server.scene.add_grid('/ground', width=4.0, height=4.0, cell_size=0.25)
        self._text = self._server.gui.add_markdown('waiting for robot_description')
        self._links: dict[str, Any] = {}
        self._shown: dict[str, tuple[str, Any]] = {}

    def show_robot(self, visuals: Sequence[Visual], reach: float) -> None:
        """Draw another robot, in the place of the one before.

        Args:
            visuals: its shapes.
            reach: how far it goes from its root, for the camera [m].
        """
        with self._server.atomic():
            self._server.scene.remove_by_name(ROBOT)
            self._server.scene.add_frame(ROBOT, show_axes=False)
            names = dict.fromkeys(visual.link for visual in visuals)
            self._links = {
                name: self._server.scene.add_frame(f'{ROBOT}/{number}', show_axes=False)
                for number, name in enumerate(names)
            }
            for number, visual in enumerate(visuals):
                parent = self._links[visual.link].name
                self._server.scene.add_mesh_simple(
                    f'{parent}/shape_{number}',
                    visual.triangles.reshape(-1, 3),
                    np.arange(3 * len(visual.triangles)).reshape(-1, 3),
                    color=visual.color,
                    flat_shading=True,
                )
        self._server.initial_camera.position = (1.1 * reach, -1.1 * reach, 0.8 * reach)
        self._server.initial_camera.look_at = (0.0, 0.0, 0.4 * reach)

    def move_link(self, link: str, position: Sequence[float], wxyz: Sequence[float]) -> None:
        """Place a link: where its frame is [m], and its unit quaternion."""
        shown = self._links.get(link)
        if shown is not None:
            shown.position, shown.wxyz = position, wxyz

    def show_text(self, markdown: str) -> None:
        """Show lines beside the picture."""
        if self._text.content != markdown:
            self._text.content = markdown

    def add_sliders(
        self,
        ranges: Iterable[tuple[str, float, float]],
        on_move: Callable[[dict[str, float]], None],
    ) -> None:
        """Add a slider for each name; whoever moves one calls ``on_move`` with its value.

        Args:
            ranges: name, lowest and highest value.
            on_move: called with the value by name.
        """
        for name, lower, upper in ranges:
            slider = self._server.gui.add_slider(
                name, min=lower, max=upper, step=(upper - lower) / 1000.0,
                initial_value=min(max(0.0, lower), upper),
            )  # fmt: skip

            @slider.on_update
            def moved(_: Any, name: str = name, slider: Any = slider) -> None:
                on_move({name: slider.value})

    def remove(self, name: str) -> None:
        """Take what has been drawn under a name away."""
        shown = self._shown.pop(name, None)
        if shown is not None:
            shown[1].remove()

    def show_arrow(self, name: str, points: Array, color: Color, diameter: float) -> None:
        """Draw an arrow from one point to another, (2, 3) [m]."""
        length = float(np.linalg.norm(points[1] - points[0]))
        self._show(
            name,
            self._server.scene.add_arrows,
            points=points[None],
            colors=np.array([color]),
            shaft_radius=0.5 * diameter,
            head_radius=diameter,
            head_length=min(3.0 * diameter, 0.5 * length),
        )

    def show_lines(self, name: str, points: Array, colors: Sequence[Color], width: float) -> None:
        """Draw lines between pairs of points, (n, 2, 3) [m]; one colour a line."""
        both = np.repeat(np.array(colors)[:, None], 2, axis=1)
        self._show(
            name,
            self._server.scene.add_line_segments,
            points=points,
            colors=both,
            thickness=width,
        )

    def show_sphere(self, name: str, center: Array, diameter: float, color: Color) -> None:
        """Draw a sphere [m]."""
        self._show(
            name,
            self._server.scene.add_icosphere,
            radius=0.5 * diameter,
            color=color,
            position=center,
        )

    def show_label(self, name: str, position: Array, text: str) -> None:
        """Write a text at a point [m]."""
        self._show(name, self._server.scene.add_label, text=text, position=position)

    def together(self) -> AbstractContextManager[None]:
        """What is drawn in this context appears at once."""
        return self._server.atomic()

    def close(self) -> None:
        """Serve no more."""
        self._server.stop()

    def _show(self, name: str, add: Callable[..., Any], **properties: Any) -> None:
        """Move what is drawn under a name, or draw it; moving leaves the page's object alone."""
        shown = self._shown.get(name)
        if shown is not None and shown[0] == add.__name__:
            for key, value in properties.items():
                setattr(shown[1], key, value)
        else:
            self._shown[name] = add.__name__, add(f'{MARKERS}/{name}', **properties)
