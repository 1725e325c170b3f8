# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobian of a frame and its derivatives in the three references ([RD] 2.8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.linear_algebra.solve import damped_inverse as damped
from dynamics_ros.model import ROOT, Frame, Model
from dynamics_ros.spatial import Motion, Scalar, Transform, Vector3

from .forward_kinematics import body_poses
from .quantity import Input, Q, Reference, V, Values, quantity


@quantity(
    'Jacobian of the frame, whose twist is J v ([RD] eq. 2.164)',
    'rows of the twist, columns as v',
    name='jacobian',
)
def jacobian_columns(model: Model, q: Q, frame: Frame, reference: Reference) -> list[Motion]:
    """Columns (nv) of the Jacobian: column k is the frame's twist for unit velocity k.

    See [RD] eq. 2.164.

    Args:
        model, q: the robot and its configuration (nq).
        frame: the frame.
        reference: one of ``REFERENCES``.
    """
    columns = [Motion.zero()] * model.nv
    for i, X_RB in _to_reference(model, q, frame, reference).items():
        for k, S in model.joints[i].subspace(q):
            columns[k] = columns[k] + X_RB.act(S)
    return columns


@quantity(
    'time derivative of the Jacobian of the frame along the velocity v',
    'rows of the twist, columns as v, 1/s',
    may_overflow=True,
)
def jacobian_derivative(
    model: Model, q: Q, v: V, frame: Frame, reference: Reference
) -> list[Motion]:
    """Time derivatives of the columns of the Jacobian.

    A column J that is fixed in body B has the rate v_B x J, with both in the reference. If S
    depends on q, its rate in the body is added. The reference 'local' moves with the frame, which
    subtracts v_F x J. The origin of 'local_world_aligned' moves with the frame, which adds w x v_F
    to the linear part.

    Args:
        model, q, v: the robot, its configuration (nq) and velocity (nv).
        frame: the frame.
        reference: one of ``REFERENCES``.
    """
    rates = [Motion.zero()] * model.nv
    velocities = {ROOT: Motion.zero()}
    columns: list[tuple[int, int, Motion, Motion]] = []
    v_F = Motion.zero()
    for i, X_RB in _to_reference(model, q, frame, reference).items():
        joint = model.joints[i]
        v_F = velocities[joint.parent]
        changes = joint.subspace_rates(q, v)
        for (k, S), change in zip(joint.subspace(q), changes, strict=True):
            J = X_RB.act(S)
            v_F = v_F + J * v[k]
            columns.append((i, k, J, X_RB.act(change)))
        velocities[i] = v_F
    for i, k, J, change in columns:
        moving = velocities[i].cross(J) + _of_moving_reference(J, v_F, reference)
        rates[k] = rates[k] + moving + change
    return rates


@quantity(
    'derivative of the Jacobian J along velocities: of J[i][j] along k at [i][j][k]',
    'rows of the twist, then twice as v',
)
def jacobian_hessian(model: Model, q: Q, frame: Frame, reference: Reference) -> list[list[Motion]]:
    """Derivatives of the columns of the Jacobian: ``hessian[j][k]`` is that of column j by q_k.

    A derivative is along velocity k, q exp(t e_k). Column j has the derivative J_k x J_j for every
    joint k between it and the root; the reference moves with all joints.

    Args:
        model, q: the robot and its configuration (nq).
        frame: the frame.
        reference: one of ``REFERENCES``.
    """
    hessian = [[Motion.zero()] * model.nv for _ in range(model.nv)]
    chain = _to_reference(model, q, frame, reference)
    columns = [
        (i, k, X_RB.act(S)) for i, X_RB in chain.items() for k, S in model.joints[i].subspace(q)
    ]
    for body_j, j, J_j in columns:
        for body_k, k, J_k in columns:
            rate = _of_moving_reference(J_j, J_k, reference)
            if body_k <= body_j:
                rate = rate + J_k.cross(J_j)
            hessian[j][k] = hessian[j][k] + rate
    for i, X_RB in chain.items():
        for j, k, slope in model.joints[i].subspace_slopes(q):
            hessian[j][k] = hessian[j][k] + X_RB.act(slope)
    return hessian


@quantity(
    'damped inverse of a Jacobian: J^T (J J^T + damping 1)^-1',
    'rows as v, columns of the twist',
    internal=True,
)
def damped_inverse(
    model: Model, jacobian: Annotated[Sequence[Values], Input(6, 'nv')], damping: Scalar
) -> Annotated[Sequence[Values], Input('nv', 6)]:
    """Damped inverse (nv, 6) of a Jacobian (6, nv)."""
    return damped(jacobian, damping)


def _of_moving_reference(column: Motion, v_F: Motion, reference: str) -> Motion:
    """Rate of the components of a fixed column due to the motion of the reference."""
    if reference == 'local':
        return -v_F.cross(column)
    if reference == 'local_world_aligned':
        return Motion(column.angular.cross(v_F.linear), Vector3.zero())
    return Motion.zero()


def _to_reference(
    model: Model, q: Sequence[Scalar], frame: Frame, reference: str
) -> dict[int, Transform]:
    """Transforms X_RB to the reference of each body between the root and the frame, root first."""
    chain = model.ancestors(frame.body)
    poses = body_poses(model, q, chain)
    X_0F = poses[frame.body] @ frame.placement
    if reference == 'world':
        return {i: poses[i] for i in chain}
    if reference == 'local':
        return {i: X_0F.inverse_compose(poses[i]) for i in chain}
    return {i: Transform(poses[i].rotation, poses[i].translation - X_0F.translation) for i in chain}
