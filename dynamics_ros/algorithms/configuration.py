"""Steps on the manifold of configurations, joint by joint ([SE3] 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynamics_ros.model import Joint, Model
from dynamics_ros.spatial import Scalar


def integrate(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """The configuration after one second at the constant velocity v."""
    result: list[Scalar] = [0.0] * model.nq
    for joint in _owners(model):
        own_q, own_v = _own(joint.q_indices, q), _own(joint.v_indices, v)
        for i, value in zip(joint.q_indices, joint.kind.integrate(own_q, own_v), strict=True):
            result[i] = value
    return result


def difference(model: Model, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
    """The constant velocity that takes q0 to q1 in one second."""
    result: list[Scalar] = [0.0] * model.nv
    for joint in _owners(model):
        own_0, own_1 = _own(joint.q_indices, q0), _own(joint.q_indices, q1)
        for i, value in zip(joint.v_indices, joint.kind.difference(own_0, own_1), strict=True):
            result[i] = value
    return result


def interpolate(
    model: Model, q0: Sequence[Scalar], q1: Sequence[Scalar], t: Scalar
) -> list[Scalar]:
    """q0 at t = 0, q1 at t = 1, and the constant velocity between them."""
    return integrate(model, q0, [t * velocity for velocity in difference(model, q0, q1)])


def neutral(model: Model) -> list[float]:
    """Every joint transform the identity; followers stand where their leader takes them."""
    result = [0.0] * model.nq
    for joint in _owners(model):
        for i, value in zip(joint.q_indices, joint.kind.neutral(), strict=True):
            result[i] = value
    return result


def _owners(model: Model) -> Iterator[Joint]:
    return (joint for joint in model.joints if joint.leader is None)


def _own(indices: Sequence[int], values: Sequence[Scalar]) -> list[Scalar]:
    return [values[i] for i in indices]
