"""Energies and centre of mass ([RD] 3.4.2, 3.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar, Transform, Vector3

from .forward_kinematics import body_velocities


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


def total_mass(model: Model) -> Scalar:
    """Mass of the moving bodies [kg].

    Raises:
        InvalidArgumentError: the model has no mass, so it has no centre of mass.
    """
    mass: Scalar = 0.0
    for inertia in model.inertias:
        mass = mass + inertia.mass
    if isinstance(mass, (int, float)) and not mass > 0.0:
        raise InvalidArgumentError('model', f'total mass {mass}', 'a robot with mass that moves')
    return mass


def first_moment(model: Model, q: Sequence[Scalar]) -> Vector3:
    """Sum of m_i p_i in the root frame [kg m]."""
    transforms = [joint.transform(q) for joint in model.joints]
    masses, moments = carried_moments(model, transforms)
    total = Vector3.zero()
    for joint, X_0B, mass, moment in zip(model.joints, transforms, masses, moments, strict=True):
        if joint.parent == ROOT:
            total = total + _moved(X_0B, mass, moment)
    return total


def carried_moments(
    model: Model, transforms: Sequence[Transform]
) -> tuple[list[Scalar], list[Vector3]]:
    """Mass and first moment of each body with all that it carries, in the frame of that body.

    Args:
        transforms: X_PB of each body in its parent.
    """
    masses = [inertia.mass for inertia in model.inertias]
    moments = [inertia.center * inertia.mass for inertia in model.inertias]
    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        if parent != ROOT:
            moments[parent] = moments[parent] + _moved(transforms[i], masses[i], moments[i])
            masses[parent] = masses[parent] + masses[i]
    return masses, moments


def _moved(X_PB: Transform, mass: float, moment: Vector3) -> Vector3:
    """The first moment about the origin of the parent, in its axes."""
    return X_PB.rotation @ moment + X_PB.translation * mass
