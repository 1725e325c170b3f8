# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Links and joints of a description as a reader collects them, and how its library is called."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dynamics_ros.errors import ModelError
from dynamics_ros.model.description import (
    Contents,
    Inertial,
    JointDescription,
    LinkDescription,
    Loop,
    Origin,
    RobotDescription,
    Triple,
)
from dynamics_ros.model.doubts import Doubts
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER, is_text, quoted, quoted_path
from dynamics_ros.model.topology import resolve_mimics


class Tree:
    """Links and joints of a description, with unique names.

    Attributes:
        name: name of the robot.
        links, joints: in the order of the description.
        doubts: contents that the description cannot express.
    """

    def __init__(self, name: str, reserved: Collection[str] = ()) -> None:
        """Start without links; fixed joints do not get ``reserved`` names."""
        self.name, self._reserved = name, reserved
        self.links: list[LinkDescription] = []
        self.joints: dict[str, JointDescription] = {}
        self.doubts = Doubts()
        self._taken: set[str] = set()

    def free_name(self, name: str) -> str:
        """Return a unique link name."""
        while name in self._taken:
            name = f'{name}_'
        self._taken.add(name)
        return name

    def add_link(
        self, name: str, mass: float, center: Any, inertia: Any, has_geometry: bool = False
    ) -> None:
        """Add a link with its centre of mass (3) and the inertia (3, 3) about it."""
        check(f'link {quoted(name)}', mass, center, inertia)
        inertial = Inertial(mass, triple(center), _rows(inertia))
        self.links.append(LinkDescription(name, inertial, has_geometry))

    def add_joint(
        self, name: str, kind: str, parent: str, child: str, pose: Any, **more: Any
    ) -> None:
        """Add a joint; ``pose`` is R (3, 3) and p (3), ``more`` the rest of a JointDescription."""
        (R, p), limits = pose, more.get('limits')
        if kind == 'revolute' and limits and math.isinf(limits.lower) and math.isinf(limits.upper):
            kind = 'continuous'
        ends = (limits.lower, limits.upper) if limits else ()
        numbers = [x for x in ends if not math.isinf(x)]
        numbers += [more.get(key, 0.0) for key in ('damping', 'friction', 'armature')]
        check(f'joint {quoted(name)}', R, p, *numbers)
        origin = Origin(triple(p), _rows(R))
        self.joints[name] = JointDescription(name, kind, parent, child, origin, **more)

    def fix(self, parent: str, link: str, pose: Any) -> None:
        """Add a fixed joint."""
        name = f'{link}_fixed'
        while name in self.joints or name in self._reserved:
            name = f'{name}_'
        self.add_joint(name, 'fixed', parent, link, pose)

    def contents(
        self,
        root_joint: str,
        gravity: Triple | None = None,
        loops: tuple[Loop, ...] = (),
        passive_joints: tuple[str, ...] = (),
    ) -> Contents:
        """Return all of it, and log the doubts."""
        robot = RobotDescription(
            name=self.name,
            root=self.links[0].name,
            links=tuple(self.links),
            joints=tuple(resolve_mimics(self.joints).values()),
            loops=loops,
            passive_joints=passive_joints,
            doubts=self.doubts.logged(self.name),
        )
        return Contents(robot, root_joint=root_joint, gravity=gravity)


@contextmanager
def library(package: str, form: str, source: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which a library reads a source; its errors become ModelErrors.

    Args:
        package: name of the library.
        form: name of the format.
        source: text or path.
    """
    element = form if is_text(source) else f'file {quoted_path(source)}'
    try:
        yield
    except ImportError:
        reason = f'is read by the package {package}, which is not installed (pip install {package})'
        raise ModelError(element, reason) from None
    except OSError as error:
        raise ModelError(element, f'cannot be read: {error.strerror}') from None
    except (ValueError, RuntimeError) as error:
        raise ModelError(element, f'{package} refuses it: {error}') from error


def check(element: str, *values: Any) -> None:
    """Refuse numbers with which dynamics would overflow, as the URDF reader does.

    Raises:
        ModelError: a number is too large, or is not one.
    """
    for value in values:
        if not np.all(np.abs(value) <= MAXIMUM_NUMBER):
            raise ModelError(element, f'has {value}, which is too large')


def triple(values: Any) -> Triple:
    """Return three numbers as floats."""
    x, y, z = map(float, values)
    return x, y, z


def _rows(matrix: Any) -> tuple[Triple, Triple, Triple]:
    first, second, third = map(triple, matrix)
    return first, second, third
