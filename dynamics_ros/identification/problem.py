# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The record that the stages of an identification fill one after another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.robot import Robot

from .equations import EquationMaker, Equations
from .evaluation import Evaluation
from .fit import Fit, weighed
from .joint_states.clock import Stretch
from .joint_states.samples import JointSamples

Array = NDArray[np.float64]

OPTIONAL = ('units', 'mounting', 'velocities', 'weights', 'curve', 'load')
"""Mechanisms that can be left out, as by ``scripts/bench identification --part ablation``."""


@dataclass(eq=False)
class Problem:
    """An identification. Stages add to the fields below ``without``.

    Attributes:
        robot: described robot with a fixed base and joints of one coordinate.
        recordings: recordings of its joints in its order.
        held: whether bodies are fixed to the description.
        scale: (nv) torque per unit of reported effort; None: it is estimated.
        without: names of ``OPTIONAL`` mechanisms that are left out.
        stretches: the recordings at equal time steps, divided at gaps.
        span: (nv) largest range of positions of a stretch [rad or m].
        moved: (nv) whether joints move.
        maker: source of the equations, with filters, effort scale, friction curve and load.
        equations: equations of all recordings.
        fit: the fitted unknowns.
        train: residuals on the recordings.
        findings: one sentence for each fact that a user should know.
    """

    robot: Robot
    recordings: Sequence[JointSamples]
    held: bool = False
    scale: Array | None = None
    without: Collection[str] = ()
    stretches: list[Stretch] = field(default_factory=list, init=False)
    span: Array = field(init=False)
    moved: NDArray[np.bool_] = field(init=False)
    maker: EquationMaker = field(init=False)
    equations: Equations = field(init=False)
    fit: Fit = field(init=False)
    train: Evaluation = field(init=False)
    findings: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.without) - set(OPTIONAL))
        if unknown:
            raise InvalidArgumentError('without', ', '.join(unknown), ', '.join(OPTIONAL))

    def uses(self, mechanism: str) -> bool:
        """Whether an optional mechanism is used."""
        return mechanism not in self.without

    def equations_of(self, maker: EquationMaker) -> Equations:
        """Equations of all recordings, made by another maker."""
        return Equations.joined([maker.equations(samples) for samples in self.recordings])

    def refit(self, loads: Array | None = None) -> None:
        """Weigh and fit the equations, with loads (nv) of joints that have such friction."""
        self.fit = weighed(
            self.maker, self.equations, self.moved, self.held, loads, self.uses('weights')
        )


Stage = Callable[[Problem], None]
