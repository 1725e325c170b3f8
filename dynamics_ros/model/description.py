# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions, before any choice of root joint or locked joints.

Plain frozen records, independent of XML: ``urdf.py`` and the readers in ``formats`` create them,
``build.py`` builds the Model from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dynamics_ros.errors import InvalidArgumentError

Triple = tuple[float, float, float]
Matrix3 = tuple[Triple, Triple, Triple]

ZERO: Triple = (0.0, 0.0, 0.0)
IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

FAR = 0.5
"""Share of a joint's range: positions farther outside than this are not within tolerance."""

LEAST = {'m': 0.1, 'rad': 0.5}
"""Smallest excess over a limit that counts as far outside, by unit."""


@dataclass(frozen=True)
class Origin:
    """Pose of a child in its parent: translation [m] and rotation matrix R_parent_child."""

    translation: Triple = ZERO
    rotation: Matrix3 = IDENTITY


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass in the link frame [m], inertia about it in link axes [kg m^2]."""

    mass: float = 0.0
    center_of_mass: Triple = ZERO
    inertia: Matrix3 = (ZERO, ZERO, ZERO)


@dataclass(frozen=True)
class Limits:
    """Joint limits in rad or m, rad/s or m/s, Nm or N; infinite if the description has none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def far_beyond(self, position: float, unit: str) -> str:
        """Return a description of how far a position exceeds the limits, or '' if within tolerance.

        Args:
            position: position of the joint.
            unit: 'rad' or 'm'; other units, and joints without limits, are not checked.
        """
        span = self.upper - self.lower if math.isfinite(self.upper - self.lower) else 0.0
        excess = max(position - self.upper, self.lower - position)
        if excess <= max(FAR * span, LEAST.get(unit, math.inf)):
            return ''
        metres = unit == 'm'
        slip = 'millimetres' if metres else 'degrees'
        guess = f'; {slip}?' if abs(position) > (1.0 if metres else 2.0 * math.pi) else ''
        return f'at {position:.4g} (limits {self.lower:.4g} to {self.upper:.4g} {unit}{guess})'


@dataclass(frozen=True)
class Mimic:
    """Mimic joint: it moves as ``multiplier * q_leader + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


LOOP_KINDS = ('position', 'pose', 'revolute')
"""Kinds of joints that close a loop: ball joints or pins, welds, hinges about the z axes."""


class Loop(NamedTuple):
    """Joint that closes a kinematic loop: two frames that coincide.

    Attributes:
        frame, other: names of the frames.
        kind: one of ``LOOP_KINDS``: what coincides is the origins, the poses, or the origins and
            the z axes.
    """

    frame: str
    other: str
    kind: str = 'position'

    @classmethod
    def of(cls, text: str) -> Loop:
        """Read ``frame other [kind]``.

        Raises:
            InvalidArgumentError: the text is something else.
        """
        words = text.split()
        if len(words) not in (2, 3) or not {*words[2:]} <= {*LOOP_KINDS}:
            raise InvalidArgumentError('loops', repr(text), f"'frame other' and {LOOP_KINDS}")
        return cls(*words)


@dataclass(frozen=True)
class LinkDescription:
    """Link: its name, its inertial (None if massless), and whether it has any geometry."""

    name: str
    inertial: Inertial = Inertial()
    has_geometry: bool = False


@dataclass(frozen=True)
class JointDescription:
    """Joint between two links.

    ``type`` is one of fixed, revolute, continuous, prismatic, spherical, planar, floating. ``axis``
    is a unit vector in the joint frame (the normal of the plane for a planar joint). ``armature``
    is the inertia of a rotor, reflected to the joint [kg m^2 or kg].
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Origin = Origin()
    axis: Triple = (1.0, 0.0, 0.0)
    limits: Limits = Limits()
    mimic: Mimic | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True)
class RobotDescription:
    """Tree of links and joints. Joints are in tree order: a parent comes before its children.

    ``loops`` are joints that the tree does not contain, ``passive_joints`` joints without a motor.
    ``doubts`` has a sentence for each element that is usable but probably not intended.
    """

    name: str
    root: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...] = field(default=())
    loops: tuple[Loop, ...] = ()
    passive_joints: tuple[str, ...] = ()
    doubts: tuple[str, ...] = field(default=(), compare=False)

    def with_loops(
        self, loops: Iterable[str], passive_joints: Iterable[str] = ()
    ) -> RobotDescription:
        """Return the description with further loops and passive joints.

        Raises:
            InvalidArgumentError: a loop is not ``frame other [kind]``.
        """
        return replace(
            self,
            loops=(*self.loops, *map(Loop.of, loops)),
            passive_joints=tuple(dict.fromkeys((*self.passive_joints, *passive_joints))),
        )


class Contents(NamedTuple):
    """Contents of a description of any format.

    Attributes:
        robot: links and joints.
        urdf: URDF as XML text; '' for MJCF and SDF.
        root_joint: 'fixed'; 'floating' if one body that nothing holds, or that has a free joint,
            carries everything.
        gravity: gravity of the file [m/s^2]; None if its format has none.
    """

    robot: RobotDescription
    urdf: str = ''
    root_joint: str = 'fixed'
    gravity: Triple | None = None
