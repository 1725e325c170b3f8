# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from reduced recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.equations import EquationMaker
from dynamics_ros.identification.identify import Identified, identify_equations
from dynamics_ros.identification.joint_states.noise import Noises
from dynamics_ros.identification.normal_equations import Layout
from dynamics_ros.robot import Robot

from .reduction import Reduction, equations_of, evaluation_of

Array = NDArray[np.float64]


def identify_reduced(
    robot: Robot,
    reductions: Sequence[Reduction],
    solver: str = 'auto',
    scale: Array | None = None,
) -> Identified:
    """Identify a robot from reduced recordings.

    Args:
        robot: described robot, the same as for the reduction of the recordings.
        reductions: reduced recordings.
        solver, scale: as in ``identify``.

    Raises:
        UnusableRecordingError: a recording was reduced for another robot, or no joint moves.
        NotThisRobotError: no masses explain the recordings.
    """
    base = BaseParameters.of(robot)
    equations = equations_of(base, reductions)
    longest = max(reductions, key=lambda one: one.count)
    layout = Layout(base, robot.nv)
    extremes = Reduction.combined(reductions).extremes
    return identify_equations(
        EquationMaker(robot, base, longest.filtering, np.ones(robot.nv)),
        equations,
        extremes[1] - extremes[0],
        extremes,
        solver,
        scale,
        lambda maker, fit: evaluation_of(layout, equations.scaled(maker.scale), fit),
        lambda equations, fit: [],
        # Reductions do not contain the filter of the driver.
        lambda scale: Noises(
            longest.effort_noise * np.abs(scale),
            longest.velocity_noise,
            longest.velocity_differenced,
            np.zeros(robot.nv),
        ),
    )
