# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact surfaces read from a robot description, with a report of what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from numpy.typing import ArrayLike

from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.model import ROOT
from dynamics_ros.robot import Robot

from .location import ContactLocator, links_without_surface
from .surface import Surface, sample_surfaces

LOCATION_RATE = 20.0
"""Maximum rate of locations during a contact [Hz]; one takes up to 20 ms on a desktop machine."""

MAX_NAMED = 8
"""Maximum number of shapes named in a message."""


class ContactGeometry(NamedTuple):
    """Known contact surfaces of a robot.

    Attributes:
        surfaces: surface of each link that has one.
        without_surface: links that can be touched but have no known surface.
        summary: summary text for the user.
        problem: the shapes that could not be read, and why; '' if all were read.
    """

    surfaces: dict[str, Surface]
    without_surface: tuple[str, ...]
    summary: str
    problem: str = ''

    @classmethod
    def read(
        cls,
        robot: Robot,
        description: str,
        check: Callable[[], None] = lambda: None,
        folder: Path | None = None,
    ) -> ContactGeometry:
        """Reads the contact surfaces of the moving links from a description.

        Args:
            robot: the robot that has these links.
            description: URDF as XML text.
            check: called between two links; raises to cancel.
            folder: folder to which relative paths of meshes refer.

        Raises:
            ModelError: the description is not valid XML.
            InvalidArgumentError: a shape has no area.
        """
        geometry = read_collision_geometry(description, folder)
        moved = {
            link: triangles
            for link, triangles in geometry.triangles.items()
            if robot.model.frame(link).body != ROOT
        }
        surfaces: dict[str, Surface] = {}
        for link, triangles in moved.items():
            check()
            surfaces |= sample_surfaces({link: triangles})
        summary, problem = f'of {len(surfaces)} links', ''
        if problems := tuple(dict.fromkeys(geometry.problems)):
            more = f' and {len(problems) - MAX_NAMED} more' if len(problems) > MAX_NAMED else ''
            problem = '; '.join(problems[:MAX_NAMED]) + more
            summary = f'{summary}; {len(geometry.problems)} shapes are missing: {problem}'
        unseen = links_without_surface(robot, surfaces, geometry.unread)
        return cls(surfaces, unseen, summary, problem)

    def locator(self, robot: Robot, noise: ArrayLike) -> ContactLocator:
        """Creates a locator for these surfaces; arguments as for ``ContactLocator``."""
        return ContactLocator(
            robot, self.surfaces, without_surface=self.without_surface, noise=noise
        )
