# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot description says, before any choice of root joint or locked joints.

Plain frozen records, free of XML: ``urdf.py`` and ``mjcf.py`` fill them, ``build.py`` builds the
Model from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Triple = tuple[float, float, float]
Matrix3 = tuple[Triple, Triple, Triple]

ZERO: Triple = (0.0, 0.0, 0.0)
IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

FAR = 0.5
"""Of the range of a joint: what is beyond its limits by more is no matter of tolerances."""

LEAST = {'m': 0.1, 'rad': 0.5}
"""By its unit, by how much a position is beyond at least."""


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
    """Joint limits in rad or m, rad/s or m/s, Nm or N; infinite where the description has none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def far_beyond(self, position: float, unit: str) -> str:
        """In words, that a position is beyond by more than tolerances explain; '' where it is not.

        Args:
            position: of the joint.
            unit: 'rad' or 'm'; without limits, or in another one, it cannot be judged.
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
    """The joint moves as ``multiplier * q_leader + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class LinkDescription:
    """A link: its name, its inertial (a missing one is massless), whether it has any geometry."""

    name: str
    inertial: Inertial = Inertial()
    has_geometry: bool = False


@dataclass(frozen=True)
class JointDescription:
    """A joint between two links.

    ``type`` is one of fixed, revolute, continuous, prismatic, spherical, planar, floating. ``axis``
    is a unit vector in the joint frame (the normal of the plane for a planar joint). ``armature``
    is the inertia of a rotor, as seen at the joint [kg m^2 or kg].
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
    """A tree of links and joints. Joints are in tree order: a parent comes before its children.

    ``doubts`` has a sentence for each thing that is usable but probably not meant.
    """

    name: str
    root: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...] = field(default=())
    doubts: tuple[str, ...] = field(default=(), compare=False)
