"""The recursive Newton-Euler algorithm ([SE3] 8, [Lie] table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Motion, Scalar, Transform, Vector3


def inverse_dynamics(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """tau = M(q) a + C(q, v) v + g(q) - J^T f_ext.

    Args:
        model: the robot.
        q, v, a: configuration, velocity, acceleration.
        external: force of the environment on body i, in the frame of that body.

    Returns:
        tau, of nv scalars.
    """
    external = external or {}
    transforms: list[Transform] = []
    velocities: list[Motion] = []
    accelerations: list[Motion] = []
    forces: list[Force] = []

    # 8.1: gravity enters as the acceleration -g of the root.
    a_0 = root_acceleration(model)

    # 8.2: forward, velocities, accelerations and the force each body needs.
    for i, joint in enumerate(model.joints):
        X_PB = joint.transform(q)
        v_P = Motion.zero() if joint.parent == ROOT else velocities[joint.parent]
        a_P = a_0 if joint.parent == ROOT else accelerations[joint.parent]
        v_J = joint.motion(v)
        v_B = X_PB.inverse_act(v_P) + v_J
        a_B = X_PB.inverse_act(a_P) + joint.motion(a) + v_B.cross(v_J)
        Y = model.inertias[i]
        f_B = Y @ a_B + Y.bias_force(v_B)
        if i in external:
            f_B = f_B - external[i]
        transforms.append(X_PB)
        velocities.append(v_B)
        accelerations.append(a_B)
        forces.append(f_B)

    # 8.3: backward, the joint takes its share and the parent carries the rest.
    tau: list[Scalar] = [0.0] * model.nv
    for i in reversed(range(len(model.joints))):
        joint = model.joints[i]
        for k, S in joint.subspace:
            tau[k] = tau[k] + S.dot(forces[i])
        if joint.parent != ROOT:
            forces[joint.parent] = forces[joint.parent] + transforms[i].act(forces[i])
    return tau


def nonlinear_effects(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C(q, v) v + g(q): the torques without acceleration."""
    return inverse_dynamics(model, q, v, [0.0] * model.nv)


def root_acceleration(model: Model) -> Motion:
    """-g: a root that accelerates upwards feels like gravity ([SE3] 8.1)."""
    return Motion(-model.gravity, Vector3.zero())
