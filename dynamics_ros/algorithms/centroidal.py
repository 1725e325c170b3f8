"""Momentum of the whole robot about its centre of mass ([Orin2013])."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Force, Matrix3, Scalar, Transform, Vector3

from .coriolis import composite_bodies
from .energy import carried_moments, center_of_mass, total_mass
from .forward_kinematics import body_poses


def centroidal_map(model: Model, q: Sequence[Scalar]) -> list[Force]:
    """Column k is the centroidal momentum of unit velocity k, in the axes of the root frame.

    A velocity of joint i moves body i and all that it carries: the column is the momentum
    Y_i^c S_i of that composite body, seen from the centre of mass.
    """
    tree = composite_bodies(model, q, [0.0] * model.nv)
    X_0G = Transform(Matrix3.identity(), center_of_mass(model, q))
    columns = [Force.zero()] * model.nv
    for i, X_0B in enumerate(body_poses(model, q)):
        X_GB = X_0G.inverse_compose(X_0B)
        for k, S in model.joints[i].subspace:
            columns[k] = columns[k] + X_GB.act(tree.inertias[i] @ S)
    return columns


def centroidal_momentum(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Force:
    """Linear momentum, and angular momentum about the centre of mass, in root axes."""
    tree = composite_bodies(model, q, v)
    X_0G = Transform(Matrix3.identity(), center_of_mass(model, q))
    total = Force.zero()
    for X_0B, Y, v_B in zip(body_poses(model, q), model.inertias, tree.velocities, strict=True):
        total = total + X_0G.inverse_compose(X_0B).act(Y @ v_B)
    return total


def center_of_mass_jacobian(model: Model, q: Sequence[Scalar]) -> list[Vector3]:
    """Column k is the velocity of the centre of mass for unit velocity k, in root axes.

    A velocity S of joint i moves all that body i carries, of mass m and first moment h: the linear
    momentum is m v + w x h.
    """
    transforms = [joint.transform(q) for joint in model.joints]
    masses, moments = carried_moments(model, transforms)
    scale = 1.0 / total_mass(model)
    columns = [Vector3.zero()] * model.nv
    for i, X_0B in enumerate(body_poses(model, q)):
        for k, S in model.joints[i].subspace:
            momentum = S.linear * masses[i] + S.angular.cross(moments[i])
            columns[k] = columns[k] + X_0B.rotation @ (momentum * scale)
    return columns
