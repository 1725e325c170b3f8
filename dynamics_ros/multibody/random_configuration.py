"""Random configurations of a robot within the limits of its joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms import configuration
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Joint, Model


def random_configuration(
    model: Model, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """A configuration (nq) of a model, uniform within the limits of its joints.

    Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

    Args:
        model: whose joints.
        rng: a NumPy generator, or a seed.

    Raises:
        InvalidArgumentError: neither a generator nor a seed.
    """
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidArgumentError('rng', repr(rng), 'a NumPy generator or a seed') from None
    q = np.array(configuration.neutral(model))
    for joint in model.joints:
        if joint.leader is None:
            q[list(joint.q_indices)] = _random_coordinates(joint, generator)
    return q


def _random_coordinates(joint: Joint, generator: np.random.Generator) -> list[float]:
    """Coordinates of one joint."""
    if joint.kind.name == 'floating':
        quaternion, position = generator.normal(size=4), generator.uniform(-1.0, 1.0, 3)
        return [*position, *(quaternion / np.linalg.norm(quaternion))]
    if joint.kind.name == 'planar':
        return [*generator.uniform(-1.0, 1.0, 2), generator.uniform(-np.pi, np.pi)]
    reach = 1.0 if joint.kind.name == 'prismatic' else np.pi
    lower, upper = joint.limits.lower, joint.limits.upper
    return [
        generator.uniform(
            lower if np.isfinite(lower) else min(-reach, upper - reach),
            upper if np.isfinite(upper) else max(reach, lower + reach),
        )
    ]
