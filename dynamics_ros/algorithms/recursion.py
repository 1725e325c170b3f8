# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The passes over the tree that the algorithms share: motions outward, sums inward ([SE3] 8).

Results are by body; where the root frame has one too, it is that of the body ROOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from dynamics_ros.model import ROOT, Joint, Model
from dynamics_ros.spatial import Force, Motion, Scalar, Transform, Vector3
from dynamics_ros.spatial.scalar import call

Transforms = Mapping[int, Transform]
Carried = TypeVar('Carried', bound=Any)


@dataclass(frozen=True)
class BodyMotions:
    """How bodies stand and move.

    Attributes:
        transforms: X_PB of each body in its parent.
        velocities: twist of each body with respect to the root, in its own frame.
    """

    transforms: dict[int, Transform]
    velocities: dict[int, Motion]


def transforms_of_bodies(model: Model, q: Sequence[Scalar]) -> dict[int, Transform]:
    """X_PB of every body in its parent."""
    return {i: joint.transform(q) for i, joint in enumerate(model.joints)}


def motion_of_bodies(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], bodies: Iterable[int] | None = None
) -> BodyMotions:
    """The outward pass: v_B = X_PB^-1 v_P + S v ([SE3] 8.2).

    Args:
        model: the robot.
        q, v: configuration and velocity.
        bodies: parents before children; None are all.
    """
    motions = BodyMotions({}, {ROOT: Motion.zero()})
    for i in range(len(model.joints)) if bodies is None else bodies:
        _move(model, motions, i, q, v)
    return motions


def _move(
    model: Model, motions: BodyMotions, body: int, q: Sequence[Scalar], v: Sequence[Scalar]
) -> None:
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
    """The outward pass of a_B = X_PB^-1 a_P + S a + c_J + v_B x S v ([SE3] 8.2).

    Accelerations are spatial ones.

    Args:
        model: the robot.
        motions: of the bodies that are asked for.
        q, v, a: configuration, velocity and acceleration.
        of_root: what the root frame accelerates with.
    """
    accelerations = {ROOT: of_root}
    for i in motions.transforms:
        _accelerate(model, motions, accelerations, i, q, v, a)
    return accelerations


def _accelerate(
    model: Model,
    motions: BodyMotions,
    accelerations: dict[int, Motion],
    body: int,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> None:
    joint = model.joints[body]
    accelerations[body] = (
        motions.transforms[body].inverse_act(accelerations[joint.parent])
        + joint.motion(q, a)
        + velocity_product(joint, motions.velocities[body], q, v)
    )


def moving_bodies(
    model: Model,
    motions: BodyMotions,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    of_root: Motion,
) -> Iterator[tuple[int, Motion, Motion]]:
    """Both outward passes, body after body, for whoever needs each body's motion but once.

    What is computed of a body follows its motion at once: in compiled code few values wait.

    Args:
        model, q, v, a, of_root: as above.
        motions: is filled in.

    Yields:
        The index of a body, its velocity and its acceleration.
    """
    accelerations = {ROOT: of_root}
    for i in range(len(model.joints)):
        _move(model, motions, i, q, v)
        _accelerate(model, motions, accelerations, i, q, v, a)
        yield i, motions.velocities[i], accelerations[i]


def velocity_product(joint: Joint, v_B: Motion, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
    """c_J + v_B x S v: the acceleration of a joint's body that comes from velocities alone."""
    return v_B.cross(joint.motion(q, v)) + joint.bias(q, v)


def upward_acceleration(model: Model) -> Motion:
    """-g: a root that accelerates upwards feels like gravity ([SE3] 8.1)."""
    return Motion(-model.gravity, Vector3.zero())


def carried_by_bodies(
    model: Model, transforms: Transforms, own: Iterable[Carried], of_root: Carried
) -> dict[int, Carried]:
    """The inward pass: what each body has of its own, with that of all bodies that it carries.

    Args:
        model: the robot.
        transforms: X_PB of each body.
        own: a force, an inertia, or whatever `Transform.act` takes, of each body in its frame.
        of_root: what the root frame has of its own.
    """
    total = dict(enumerate(own))
    total[ROOT] = of_root
    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        own = total[parent]
        total[parent] = call(_carried, len(model.joints), own, transforms[i], total[i])
    return total


def _carried(own: Carried, X_PB: Transform, of_child: Carried) -> Carried:
    return cast(Carried, own + X_PB.act(of_child))


def felt_towards_root(
    model: Model, transforms: Transforms, body: int, *forces: Force
) -> Iterator[tuple[int, Sequence[Force]]]:
    """Forces on a body as seen from the body itself and from each one that carries it.

    Yields:
        The index of the body that they are seen from, and the forces in its frame.
    """
    yield body, forces
    while (parent := model.joints[body].parent) != ROOT:
        forces = call(_in_parent, model.pairs_of_joints, transforms[body], *forces)
        body = parent
        yield body, forces


def _in_parent(X_PB: Transform, *forces: Force) -> tuple[Force, ...]:
    return tuple(X_PB.act(force) for force in forces)


def along_joints(model: Model, q: Sequence[Scalar], forces: Mapping[int, Force]) -> list[Scalar]:
    """S^T f of every joint (nv): the torques that transmit forces to the bodies ([SE3] 8.3)."""
    tau: list[Scalar] = [0.0] * model.nv
    for i, joint in enumerate(model.joints):
        for k, S in joint.subspace(q):
            tau[k] = tau[k] + S.dot(forces[i])
    return tau
