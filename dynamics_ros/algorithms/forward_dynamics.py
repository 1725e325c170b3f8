"""The articulated-body algorithm ([Lie] table 3, [Featherstone2008] table 7.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model import ROOT, Model
from ..spatial import Force, Motion, Scalar, Transform
from ..spatial.articulated import ArticulatedInertia
from .inverse_dynamics import inverse_dynamics, root_acceleration
from .linear import factorize, solve, solve_factorized
from .mass_matrix import mass_matrix


def forward_dynamics(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """a = M^-1 (tau - C v - g + J^T f_ext).

    The articulated-body recursion needs a coordinate of its own for every joint; a robot with
    mimic joints is solved through its mass matrix instead.

    Args:
        model: the robot.
        q, v, tau: configuration, velocity, joint torques.
        external: force of the environment on body i, in the frame of that body.
    """
    if model.has_mimic_joints:
        bias = inverse_dynamics(model, q, v, [0.0] * model.nv, external)
        return solve(mass_matrix(model, q), [t - b for t, b in zip(tau, bias, strict=True)])
    return articulated_body_algorithm(model, q, v, tau, external or {})


def articulated_body_algorithm(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force],
) -> list[Scalar]:
    """Joint accelerations in a number of operations linear in the joints."""
    n = len(model.joints)
    transforms: list[Transform] = []
    velocities: list[Motion] = []
    biases: list[Motion] = []
    articulated: list[ArticulatedInertia] = []
    forces: list[Force] = []

    # Pass 1, outwards: velocities, velocity-product accelerations, rigid-body bias forces.
    for i, joint in enumerate(model.joints):
        X_PB = joint.transform(q)
        v_P = Motion.zero() if joint.parent == ROOT else velocities[joint.parent]
        v_J = joint.motion(v)
        v_B = X_PB.inverse_act(v_P) + v_J
        Y = model.inertias[i]
        bias_force = Y.bias_force(v_B)
        transforms.append(X_PB)
        velocities.append(v_B)
        biases.append(v_B.cross(v_J))
        articulated.append(ArticulatedInertia.of(Y))
        forces.append(bias_force - external[i] if i in external else bias_force)

    # Pass 2, inwards: what a body and all behind it answer to an acceleration.
    U: list[list[Force]] = [[] for _ in range(n)]
    solvers: list[tuple[list[list[Scalar]], list[Scalar]]] = [([], []) for _ in range(n)]
    residuals: list[list[Scalar]] = [[] for _ in range(n)]
    for i in reversed(range(n)):
        joint = model.joints[i]
        Y_A, p_A = articulated[i], forces[i]
        U[i] = [Y_A @ S for _, S in joint.subspace]
        solvers[i] = factorize([[S.dot(force) for force in U[i]] for _, S in joint.subspace])
        residuals[i] = [tau[k] - S.dot(p_A) for k, S in joint.subspace]
        if joint.parent == ROOT:
            continue
        Y_a, p_a = Y_A, p_A + Y_A @ biases[i]
        for force, share in _decoupled(U[i], solvers[i]):
            Y_a = Y_a.without(force, share)
            p_a = p_a - force * (share * biases[i].dot(force))
        for force, share in zip(U[i], solve_factorized(*solvers[i], residuals[i]), strict=True):
            p_a = p_a + force * share
        X_PB = transforms[i]
        articulated[joint.parent] = articulated[joint.parent] + Y_a.seen_from(X_PB)
        forces[joint.parent] = forces[joint.parent] + X_PB.act(p_a)

    # Pass 3, outwards: accelerations.
    a_0 = root_acceleration(model)
    accelerations: list[Motion] = []
    a: list[Scalar] = [0.0] * model.nv
    for i, joint in enumerate(model.joints):
        a_P = a_0 if joint.parent == ROOT else accelerations[joint.parent]
        a_B = transforms[i].inverse_act(a_P) + biases[i]
        right = [r - a_B.dot(force) for r, force in zip(residuals[i], U[i], strict=True)]
        for (k, S), value in zip(joint.subspace, solve_factorized(*solvers[i], right), strict=True):
            a[k] = value
            a_B = a_B + S * value
        accelerations.append(a_B)
    return a


def _decoupled(
    U: Sequence[Force], solver: tuple[list[list[Scalar]], list[Scalar]]
) -> list[tuple[Force, Scalar]]:
    """U D^-1 U^T as a sum of dyads: the columns of U L^-T with the inverse pivots."""
    L, inverse = solver
    columns: list[Force] = []
    for i, force in enumerate(U):
        column = force
        for k in range(i):
            column = column - columns[k] * L[i][k]
        columns.append(column)
    return list(zip(columns, inverse, strict=True))
