# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passes over the kinematic tree that the algorithms share: motions outward, sums inward ([SE3] 8).

Results are stored by index of the body; the key ROOT is the root frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from dynamics_ros.model import ROOT, Joint, Model
from dynamics_ros.spatial import Force, Motion, Scalar, Transform, Vector3

Transforms = Mapping[int, Transform]
Carried = TypeVar('Carried', bound=Any)


@dataclass(frozen=True)
class BodyMotions:
    """Transforms and velocities of bodies.

    Attributes:
        transforms: pose X_PB of each body in its parent.
        velocities: twist of each body with respect to the root frame, in the frame of the body.
    """

    transforms: dict[int, Transform]
    velocities: dict[int, Motion]


def transforms_of_bodies(model: Model, q: Sequence[Scalar]) -> dict[int, Transform]:
    """Pose X_PB of each body in its parent at the configuration q (nq)."""
    return {i: joint.transform(q) for i, joint in enumerate(model.joints)}


def motion_of_bodies(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], bodies: Iterable[int] | None = None
) -> BodyMotions:
    """Transforms and velocities by an outward pass: v_B = X_PB^-1 v_P + S v ([SE3] 8.2).

    Args:
        model: the robot.
        q, v: configuration (nq) and velocity (nv).
        bodies: indices of bodies, parents before children; None for all.
    """
    motions = BodyMotions({}, {ROOT: Motion.zero()})
    for i in range(len(model.joints)) if bodies is None else bodies:
        move(model, motions, i, q, v)
    return motions


def move(
    model: Model, motions: BodyMotions, body: int, q: Sequence[Scalar], v: Sequence[Scalar]
) -> None:
    """Add the transform and the velocity of a body whose parent ``motions`` already contains."""
    joint = model.joints[body]
    X_PB = motions.transforms[body] = joint.transform(q)
    v_P = X_PB.inverse_act(motions.velocities[joint.parent])
    motions.velocities[body] = v_P + joint.motion(q, v)


def accelerations_of_bodies(
    model: Model,
    motions: BodyMotions,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    of_root: Motion,
) -> dict[int, Motion]:
    """Spatial accelerations by an outward pass: a_B = X_PB^-1 a_P + S a + c_J + v_B x S v.

    See [SE3] 8.2.

    Args:
        model: the robot.
        motions: transforms and velocities of the requested bodies.
        q, v, a: configuration (nq), velocity (nv) and acceleration (nv).
        of_root: acceleration of the root frame.
    """
    accelerations = {ROOT: of_root}
    for i in motions.transforms:
        accelerate(model, motions, accelerations, i, q, v, a)
    return accelerations


def accelerate(
    model: Model,
    motions: BodyMotions,
    accelerations: dict[int, Motion],
    body: int,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> None:
    """Add the acceleration of a body whose parent ``accelerations`` already contains."""
    joint = model.joints[body]
    accelerations[body] = (
        motions.transforms[body].inverse_act(accelerations[joint.parent])
        + joint.motion(q, a)
        + velocity_product(joint, motions.velocities[body], q, v)
    )


def velocity_product(joint: Joint, v_B: Motion, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
    """c_J + v_B x S v: the part of a body's acceleration that depends only on velocities."""
    return v_B.cross(joint.motion(q, v)) + joint.bias(q, v)


def upward_acceleration(model: Model) -> Motion:
    """Acceleration -g of the root frame, which is equivalent to gravity ([SE3] 8.1)."""
    return Motion(-model.gravity, Vector3.zero())


def carried_by_bodies(
    model: Model, transforms: Transforms, own: Iterable[Carried], of_root: Carried
) -> dict[int, Carried]:
    """Sums over the subtree of each body by an inward pass, in the frame of the body.

    Args:
        model: the robot.
        transforms: pose X_PB of each body in its parent.
        own: the value of each body in its frame: a force, an inertia, or another type that
            `Transform.act` takes.
        of_root: the value of the root frame.
    """
    total = dict(enumerate(own))
    total[ROOT] = of_root
    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        own = total[parent]
        total[parent] = cast(Carried, own + transforms[i].act(total[i]))
    return total


def forces_towards_root(
    model: Model, transforms: Transforms, body: int, *forces: Force
) -> Iterator[tuple[int, Sequence[Force]]]:
    """Forces on a body, transformed to the body and to each of its ancestors except the root.

    Yields:
        Index of the body or ancestor, and the forces in its frame.
    """
    yield body, forces
    while (parent := model.joints[body].parent) != ROOT:
        forces = tuple(transforms[body].act(force) for force in forces)
        body = parent
        yield body, forces


def torques_of_joints(
    model: Model, q: Sequence[Scalar], forces: Mapping[int, Force]
) -> list[Scalar]:
    """S^T f of all joints (nv): torques that transmit the forces f to the bodies ([SE3] 8.3)."""
    tau: list[Scalar] = [0.0] * model.nv
    for i, joint in enumerate(model.joints):
        for k, S in joint.subspace(q):
            tau[k] = tau[k] + S.dot(forces[i])
    return tau
