# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plausibility checks of a description: usable, but probably not as its author meant."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model import Model, RobotDescription
from dynamics_ros.model.collision_geometry import CollisionGeometry, by_reason
from dynamics_ros.model.description import Inertial, JointDescription
from dynamics_ros.model.doubts import Doubts

Array = NDArray[np.float64]

DENSEST = 23_000.0
"""Largest plausible density [kg/m^3], above every material of a robot."""

OUTSIDE = 0.2
"""Tolerated distance of a centre of mass from a shape, as a share of its extent: shapes omit
screws.
"""

DEGREES = 8.0 * math.pi
"""Angle [rad] of four turns; limits beyond it are in degrees, or mean no limit."""

FASTEST = 60.0
"""Largest plausible velocity limit [rad/s], ten turns a second; larger ones are in degrees."""

LARGEST = 50.0
"""Largest plausible distance of a link from its parent [m]; larger ones are in millimetres."""

NO_VELOCITY = 'no limit of velocity is given for {}: the servo and plans take their own'
NO_EFFORT = 'no limit of effort is given for {}: contact thresholds come from noise alone'
IN_DEGREES = 'limits of {} look like degrees; URDF has radians'
TOO_FAST = 'limits of velocity of {} look like degrees a second; URDF has radians a second'
MILLIMETRES = 'joints {} are more than 50 m from their parents; URDF has metres'
NO_INERTIA = 'a mass without an inertia is given for {}, which has a shape: a point of mass'
OFF_CENTRE = 'the centre of mass of {} lies outside of its shape'
TOO_WIDE = 'the inertia of {} is larger than its shape allows: it would have to be wider'
TOO_HEAVY = 'the mass of {} is more than its shape of solid metal would have; kg are meant'


def oddities(
    description: RobotDescription, model: Model, shapes: CollisionGeometry, looks: tuple[str, ...]
) -> list[str]:
    """Return one sentence per kind of oddity, with the names of the elements.

    Args:
        description: the description.
        model: the model built from it.
        shapes: its collision geometry.
        looks: the visuals that could not be read.
    """
    doubts = Doubts()
    for joint in description.joints:
        _about_joint(joint, doubts)
    for link in description.links:
        if link.name in shapes.triangles:
            _about_shape(link.name, link.inertial, shapes.triangles[link.name], doubts)
    found = [*description.doubts, *model.warnings, *filter(None, [model.doubt])]
    found += doubts.sentences(model.name)
    own = [sentence.removeprefix(f'robot {model.name!r}: ') for sentence in found]
    return [*own, *by_reason((*looks, *shapes.problems))]


def _about_joint(joint: JointDescription, doubts: Doubts) -> None:
    if math.hypot(*joint.origin.translation) > LARGEST:
        doubts.add(MILLIMETRES, joint.name)
    if joint.type not in ('revolute', 'continuous', 'prismatic') or joint.mimic:
        return
    limits = joint.limits
    if math.isinf(limits.velocity):
        doubts.add(NO_VELOCITY, joint.name)
    if math.isinf(limits.effort):
        doubts.add(NO_EFFORT, joint.name)
    if joint.type == 'prismatic':
        return
    ends = [abs(end) for end in (limits.lower, limits.upper) if math.isfinite(end)]
    if ends and max(ends) > DEGREES:
        doubts.add(IN_DEGREES, joint.name)
    if FASTEST < limits.velocity < math.inf:
        doubts.add(TOO_FAST, joint.name)


def _about_shape(link: str, inertial: Inertial, triangles: Array, doubts: Doubts) -> None:
    """Compare an inertial with the bounding box of the collision shape, never too small."""
    if not inertial.mass:
        return
    corners = triangles.reshape(-1, 3)
    lowest, highest = corners.min(axis=0), corners.max(axis=0)
    extent = highest - lowest
    margin = OUTSIDE * float(extent.max())
    center = np.array(inertial.center_of_mass)
    if (center < lowest - margin).any() or (center > highest + margin).any():
        doubts.add(OFF_CENTRE, link)
    if inertial.mass > DENSEST * float(np.prod(extent + 1e-3)):
        doubts.add(TOO_HEAVY, link)
    largest = float(np.linalg.eigvalsh(np.array(inertial.inertia)).max())
    if not largest:
        doubts.add(NO_INERTIA, link)
    # Mass at the farthest corners has the largest inertia that the box allows.
    farthest = float(np.maximum(abs(highest - center), abs(center - lowest)) @ np.ones(3)) + margin
    if largest > inertial.mass * farthest**2:
        doubts.add(TOO_WIDE, link)
