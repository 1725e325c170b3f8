# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Random configurations of a robot within the limits of its joints."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Joint


def random_configuration(
    joints: Sequence[Joint], nq: int, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Return a configuration (nq), uniform within the limits of all joints of a model.

    Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

    Args:
        joints: joints of the model.
        nq: size of its configurations.
        rng: a NumPy generator, or a seed.

    Raises:
        InvalidArgumentError: ``rng`` is neither a generator nor a seed.
    """
    # NumPy also accepts arrays as seeds, but fails for a matrix.
    if not (rng is None or isinstance(rng, (np.random.Generator, Integral))):
        raise InvalidArgumentError('rng', f'a {type(rng).__name__}', 'a NumPy generator or a seed')
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidArgumentError('rng', repr(rng), 'a NumPy generator or a seed') from None
    q = np.zeros(nq)
    for joint in joints:
        if joint.leader is None:
            limits = joint.limits
            q[list(joint.q_indices)] = joint.kind.random(generator, limits.lower, limits.upper)
    return q
