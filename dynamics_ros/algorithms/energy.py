"""Energies and centre of mass ([RD] 3.4.2, 3.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidArgumentError
from ..model import Model
from ..spatial import Scalar, Vector3
from .forward_kinematics import body_poses, body_velocities


def kinetic_energy(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """Sum of v_i^T Y_i v_i / 2 over the bodies ([RD] eq. 3.31, [Lie] eq. 15)."""
    _, velocities = body_velocities(model, q, v)
    energy: Scalar = 0.0
    for Y, v_B in zip(model.inertias, velocities, strict=True):
        energy = energy + 0.5 * v_B.dot(Y @ v_B)
    return energy


def potential_energy(model: Model, q: Sequence[Scalar]) -> Scalar:
    """-sum of m_i g^T p_i, zero with every mass at the root's origin ([RD] eq. 3.33)."""
    return -model.gravity.dot(first_moment(model, q))


def center_of_mass(model: Model, q: Sequence[Scalar]) -> Vector3:
    """Centre of mass of the moving bodies in the root frame."""
    return first_moment(model, q) * (1.0 / total_mass(model))


def total_mass(model: Model) -> float:
    """Mass of the moving bodies [kg].

    Raises:
        InvalidArgumentError: the model has no mass, so it has no centre of mass.
    """
    mass = sum(inertia.mass for inertia in model.inertias)
    if not mass > 0.0:
        raise InvalidArgumentError('model', f'total mass {mass}', 'a robot with mass that moves')
    return float(mass)


def first_moment(model: Model, q: Sequence[Scalar]) -> Vector3:
    """Sum of m_i p_i in the root frame [kg m]."""
    moment = Vector3.zero()
    for X_0B, inertia in zip(body_poses(model, q), model.inertias, strict=True):
        moment = moment + X_0B.act(inertia.center) * inertia.mass
    return moment
