# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options of inverse kinematics: tolerances, preferences, and bounds of the search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypedDict

from numpy.typing import ArrayLike

from dynamics_ros.collision import Collisions
from dynamics_ros.errors import UnknownOptionError
from dynamics_ros.multibody.arguments import check_count, check_positive
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


class SearchOptions(TypedDict, total=False):
    """Keyword arguments of ``solve`` and ``solve_all``; see ``Options``."""

    position_tolerance: float
    rotation_tolerance: float
    position_only: bool
    slack: ArrayLike | None
    joint_weights: Mapping[str, float] | None
    locked_joints: Collection[str]
    posture: ArrayLike | str | None
    collisions: Collisions | None
    timeout: float
    max_restarts: int
    random_seed: int


class SolveOptions(SearchOptions, total=False):
    """Keyword arguments of ``solve``; see ``Options``."""

    supports: Mapping[str, str] | None


class SolveAllOptions(SearchOptions, total=False):
    """Keyword arguments of ``solve_all``; see ``Options``."""

    max_solutions: int
    min_separation: float | None


class Options(NamedTuple):
    """Options of ``solve`` and ``solve_all`` with their defaults.

    Attributes:
        position_tolerance: accepted distance from the target [m].
        rotation_tolerance: accepted angle from the target [rad].
        position_only: leave the rotation free.
        slack: (6) accepted deviation along and about the axes of the target [m, rad]; inf leaves
            a direction free. None is zero.
        joint_weights: motion cost by joint name; 1 for other joints, inf locks a joint.
        locked_joints: names of joints that keep their seed values, also somewhat beyond limits.
        posture: (nq) preferred configuration, approached as far as the target allows; 'seed'
            minimizes the motion, 'centre' is the middle of the limits, None is no preference.
        collisions: links and obstacles that a solution keeps apart; None: not checked.
        timeout: s, wall clock, without the setup of a robot's first problem. A tenth of it is
            guaranteed as processor time, even if other processes delay the search. The default of
            ``solve_all`` is 0.2 s.
        max_restarts: number of starts after the seed.
        random_seed: selects the sequence of starts.
        supports: of ``solve``: frames that keep their seed pose while the root moves
            ([RD] 2.10.5), each with 'point' for its position or 'surface' for its pose. They have
            priority over the targets, also if there is no solution.
        max_solutions: of ``solve_all``: maximum number of solutions.
        min_separation: of ``solve_all``: minimum difference in at least one joint [rad or m]. None
            is 0.1 for a search; a closed form only merges solutions that are equal up to rounding.
    """

    position_tolerance: float = 1e-5
    rotation_tolerance: float = 1e-5
    position_only: bool = False
    slack: ArrayLike | None = None
    joint_weights: Mapping[str, float] | None = None
    locked_joints: Collection[str] = ()
    posture: ArrayLike | str | None = None
    collisions: Collisions | None = None
    timeout: float = 0.05
    max_restarts: int = 200
    random_seed: int = 0
    supports: Mapping[str, str] | None = None
    max_solutions: int = 16
    min_separation: float | None = None

    def check(self, robot: RigidBodySystem) -> None:
        """Check the bounds of the search.

        Raises:
            InvalidArgumentError: a value is out of range, or collisions are of another robot.
        """
        check_positive('timeout', self.timeout)
        check_count('max_restarts', self.max_restarts, least=0)
        check_count('random_seed', self.random_seed, least=0)
        check_count('max_solutions', self.max_solutions, least=1)
        if self.min_separation is not None:
            check_positive('min_separation', self.min_separation)
        if self.collisions is not None:
            Collisions.check_robot(self.collisions, robot)


def check_known(kind: type, options: Mapping[str, object]) -> None:
    """Refuse keyword arguments that are not in a TypedDict.

    Raises:
        UnknownOptionError: names the first unknown option, and the valid ones.
    """
    for name in options:
        if name not in kind.__annotations__:
            raise UnknownOptionError(name, ('seed', *kind.__annotations__))
