# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy, centre of mass ([RD] 3.4.2, 3.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar, Transform, Vector3

from .quantity import Q, V, quantity
from .recursion import Transforms, carried_by_bodies, motion_of_bodies, transforms_of_bodies


@quantity('kinetic energy, v^T M v / 2', '[J]', may_overflow=True)
def kinetic_energy(model: Model, q: Q, v: V) -> Scalar:
    """Kinetic energy [J], the sum of v_i^T Y_i v_i / 2 ([RD] eq. 3.31, [Lie] eq. 15)."""
    velocities = motion_of_bodies(model, q, v).velocities
    energy: Scalar = 0.0
    for i, Y in enumerate(model.inertias):
        energy = energy + 0.5 * velocities[i].dot(Y @ velocities[i])
    return energy


@quantity('energy in the field of gravity, zero with all mass at the origin of the root', '[J]')
def potential_energy(model: Model, q: Q) -> Scalar:
    """Potential energy [J], -sum of m_i g^T p_i with p_i in the root frame ([RD] eq. 3.33)."""
    return -model.gravity.dot(first_moment(model, q))


@quantity('centre of mass of what moves', '[m], in the root frame')
def center_of_mass(model: Model, q: Q) -> Vector3:
    """Centre of mass of the moving bodies in the root frame [m]."""
    return first_moment(model, q) * (1.0 / total_mass(model))


def total_mass(model: Model) -> Scalar:
    """Mass of the moving bodies [kg].

    Raises:
        InvalidArgumentError: the total mass is not positive, so there is no centre of mass.
    """
    mass: Scalar = 0.0
    for inertia in model.inertias:
        mass = mass + inertia.mass
    if isinstance(mass, (int, float)) and not mass > 0.0:
        raise InvalidArgumentError('model', f'total mass {mass}', 'a robot with a moving mass')
    return mass


def first_moment(model: Model, q: Sequence[Scalar]) -> Vector3:
    """First moment of the moving bodies, the sum of m_i p_i, in the root frame [kg m]."""
    return subtree_moments(model, transforms_of_bodies(model, q))[ROOT].moment


@dataclass(frozen=True)
class FirstMoment:
    """Mass m [kg] and first moment h = m c [kg m] about the origin of a frame, in its axes."""

    mass: Scalar
    moment: Vector3

    def __add__(self, other: FirstMoment) -> FirstMoment:
        return FirstMoment(self.mass + other.mass, self.moment + other.moment)

    def seen_from(self, X_PB: Transform) -> FirstMoment:
        """R h + m p: this first moment, given in frame B, in the parent frame P."""
        moment = X_PB.rotation @ self.moment + X_PB.translation * self.mass
        return FirstMoment(self.mass, moment)


def subtree_moments(model: Model, transforms: Transforms) -> dict[int, FirstMoment]:
    """First moment of each body with its subtree, in the frame of that body.

    Args:
        model: the robot.
        transforms: X_PB of each body in its parent.
    """
    own = [FirstMoment(Y.mass, Y.center * Y.mass) for Y in model.inertias]
    return carried_by_bodies(model, transforms, own, FirstMoment(0.0, Vector3.zero()))
