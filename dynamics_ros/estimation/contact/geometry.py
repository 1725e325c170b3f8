# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a description tells of the surfaces that contacts are found on, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numpy.typing import ArrayLike

from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.model import ROOT
from dynamics_ros.robot import Robot

from .location import ContactLocator, links_without_surface
from .surface import Surface, sample_surfaces

MAX_NAMED = 8
"""Shapes that are named in a message."""


class ContactGeometry(NamedTuple):
    """What is known of the surfaces of a robot.

    Attributes:
        surfaces: of the links that have one.
        without_surface: links that can be touched as well.
        told: what there is to say about it.
        problem: which shapes could not be read, and why; '' when all could.
    """

    surfaces: dict[str, Surface]
    without_surface: tuple[str, ...]
    told: str
    problem: str = ''

    @classmethod
    def read(
        cls,
        robot: Robot,
        description: str,
        resolution: float,
        check: Callable[[], None] = lambda: None,
    ) -> ContactGeometry:
        """That of a description, for the links that move.

        Args:
            robot: whose links.
            description: URDF as XML text.
            resolution: as of ``sample_surfaces`` [m].
            check: called between two links; raises when it is no longer wanted.

        Raises:
            ModelError: the description is no XML.
            InvalidArgumentError: the resolution is not positive, or a shape has no area.
        """
        geometry = read_collision_geometry(description)
        moved = {
            link: triangles
            for link, triangles in geometry.triangles.items()
            if robot.model.frame(link).body != ROOT
        }
        surfaces: dict[str, Surface] = {}
        for link, triangles in moved.items():
            check()
            surfaces |= sample_surfaces({link: triangles}, resolution)
        told, problem = f'of {len(surfaces)} links', ''
        if problems := tuple(dict.fromkeys(geometry.problems)):
            more = f' and {len(problems) - MAX_NAMED} more' if len(problems) > MAX_NAMED else ''
            problem = '; '.join(problems[:MAX_NAMED]) + more
            told = f'{told}; {len(geometry.problems)} shapes are missing: {problem}'
        unseen = links_without_surface(robot, surfaces, geometry.unread)
        return cls(surfaces, unseen, told, problem)

    def locator(self, robot: Robot, noise: ArrayLike, friction: float) -> ContactLocator:
        """What finds contacts on it; arguments as of ``ContactLocator``."""
        return ContactLocator(
            robot,
            self.surfaces,
            without_surface=self.without_surface,
            noise=noise,
            friction=friction,
        )
