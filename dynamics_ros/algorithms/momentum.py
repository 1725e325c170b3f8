"""Generalized momentum and what drives it, for momentum observers ([DeLuca2006])."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar

from .forward_kinematics import body_velocities
from .gravity import gravity_torques


def momentum_observer_terms(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """p = M v and beta = C^T v - g, so that dp/dt = tau + beta + tau_external.

    With M-dot = C + C^T, dp/dt = M a + M-dot v = tau - C v - g + (C + C^T) v. For the C of
    [Echeandia2021], C^T v is the sum over bodies of J_i-dot^T Y_i v_i, and the time derivative of
    a column S_j fixed in body j is v_j x S_j. With H_j the momentum of body j and of all that it
    carries, p_j = S_j^T H_j and (C^T v)_j = (v_j x S_j)^T H_j = -S_j^T (v_j x* H_j):
    no matrix is formed.
    """
    transforms, velocities = body_velocities(model, q, v)
    momenta = [Y @ v_B for Y, v_B in zip(model.inertias, velocities, strict=True)]

    p: list[Scalar] = [0.0] * model.nv
    beta: list[Scalar] = [-g for g in gravity_torques(model, q)]
    for i in reversed(range(len(model.joints))):
        joint = model.joints[i]
        rate = velocities[i].cross(momenta[i])
        for k, S in joint.subspace:
            p[k] = p[k] + S.dot(momenta[i])
            beta[k] = beta[k] - S.dot(rate)
        if joint.parent != ROOT:
            momenta[joint.parent] = momenta[joint.parent] + transforms[i].act(momenta[i])
    return p, beta
