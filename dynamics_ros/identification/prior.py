# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of a robot without a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .normal_equations import Layout

Array = NDArray[np.float64]

FRICTION_REACH, OFFSET_REACH, SLOW = 2.0, 0.1, 0.1
"""Prior of friction and of offsets: deviation over the RMS of the effort; rad/s or m/s at which
viscous friction reaches it."""

LOAD_REACH = 0.3
"""Prior deviation of what friction grows by with the load; gears of robots have up to about 0.2."""

ROTOR_REACH = 0.1
"""Prior of a rotor inertia: of the largest inertia that a joint carries, where its own is less."""

HELD = 1e20
"""Weight of the divergence of bodies that are as described, over that of others."""

NEVER = 1e-6
"""Prior deviation of the friction of a joint that does not move, over the RMS of the effort."""


UNMEASURED, UNMEASURED_WITHOUT_LIMIT = 0.05, 2.5
"""Largest dry friction of a joint that nobody has seen moving: share of its effort limit; Nm or N
where it has none."""


def unmeasured_friction(robot: Robot, described: Array) -> Array:
    """(nv) largest dry friction that a joint may have whose motion was not recorded [Nm or N].

    Args:
        robot: whose joints.
        described: (nv) dry friction that is known of them, which may be 0 as nobody wrote it down.
    """
    usual = by_effort_limit(robot, UNMEASURED, UNMEASURED_WITHOUT_LIMIT)
    return np.asarray(np.maximum(usual, described))


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known without a recording.

    Attributes:
        mean: (n) unknowns of the description.
        precision: (n, n) of friction; zero for what belongs to bodies and rotors.
        divergence: (n, n) second derivative of the divergence and of its like for rotors.
        bodies: (bodies, 10) of the description, made possible.
    """

    mean: Array
    precision: Array
    divergence: Array
    bodies: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        layout: Layout,
        sizes: Array,
        moving: NDArray[np.bool_],
        held: bool = False,
        rotors: Array | None = None,
    ) -> Prior:
        """That of a description.

        Args:
            robot, layout: whose.
            sizes: (nv) of the efforts [Nm or N].
            moving: (nv) which joints move.
            held: whether bodies are exactly as described.
            rotors: (nv) rotor inertias that are told to be there, where they are large
                [kg m^2 or kg]; None: nothing is known of them.
        """
        bodies = pseudo_inertia.described(robot)
        mean, n = np.zeros(layout.count), layout.count
        mean[: layout.bodies] = (pseudo_inertia.given(robot) if held else bodies).ravel()
        divergence, precision = np.zeros((n, n)), np.zeros((n, n))
        for body, block in enumerate(pseudo_inertia.metric(bodies)):
            own = slice(10 * body, 10 * body + 10)
            divergence[own, own] = HELD * block if held else block
        rng = np.random.default_rng(0)
        postures = np.array([robot.random_configuration(rng) for _ in range(20)])
        carried = robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
        of_rotors = np.arange(layout.bodies, layout.inertial)
        # A small motor behind a large gear has more than the hand that it turns.
        reach = np.maximum(carried, ROTOR_REACH * carried.max()) + 1e-9
        if rotors is not None:
            reach = np.maximum(reach, rotors)
        divergence[of_rotors, of_rotors] = 1.0 / reach**2
        declared = EffortModel.from_robot(robot)
        for joint in range(layout.joints):
            friction = layout.friction(joint)
            dry = declared.coulomb[joint]
            mean[friction] = (declared.viscous[joint], 0.0, dry, dry, 0.0)
            size = max(sizes[joint], 1e-6)
            reach = size * (FRICTION_REACH if moving[joint] else NEVER)
            of_load = LOAD_REACH if moving[joint] else NEVER
            deviations = np.array([reach / SLOW, OFFSET_REACH * size, reach, reach, of_load])
            precision[friction, friction] = np.diag(1.0 / deviations**2)
        return cls(mean, precision, divergence, bodies)
