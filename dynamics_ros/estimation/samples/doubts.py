# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks for implausible joint states and odometry, to be called once per second."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import printable
from dynamics_ros.multibody.arguments import finite_vector
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot

from .moving_base import TwistCheck
from .reports import NANOSECONDS, Array
from .robot_state import RobotState
from .state_buffer import ODOMETRY, StateBuffer

MAX_NAMED = 8

MAX_SAMPLES = 64
"""Number of consecutive states that are compared with each other, once per second."""

MAX_CALLS = 10
"""Number of calls after which a return to the position before a jump is forgotten."""

MIN_RETURNS = 3
"""Number of such returns that are a contradiction; one alone may be an outlier."""

MIN_JUMP, MIN_JUMP_OF_SLIDE = 0.01, 0.01
"""Smallest step that is a jump, for two states at the same time [rad]; of a sliding joint [m]."""

UNLIMITED_VELOCITY, UNLIMITED_VELOCITY_OF_SLIDE = 10.0, 10.0
"""Velocity that joints without a limit are assumed to reach [rad/s]; sliding joints [m/s]."""


class InputCheck:
    """Detects positions far beyond the limits, contradictions, and names of unknown joints.

    Attributes:
        positions: a sentence about implausible positions; '' if there are none. It contains the
            first values, so that the text does not change with every message.
        jumps: positions that jump back and forth.
        twists: twists of odometry that contradict its poses.
    """

    def __init__(self, warn: Callable[[str], object], publishers: Callable[[], str]) -> None:
        """Creates a check without findings.

        Args:
            warn: receives each finding once.
            publishers: returns how many publishers the topic has, as a clause.
        """
        self._publishers = publishers
        self.positions = ''
        self.jumps = JumpCheck()
        self.twists = TwistCheck()
        self._warn = warn
        self._joints: frozenset[str] = frozenset()
        self._seen: tuple[str, ...] = ()
        self._warned: set[str] = set()
        self._warned_far: set[str] = set()

    def forget(self) -> None:
        """Clears all findings for another robot."""
        self.positions, self._joints, self._seen = '', frozenset(), ()
        self.jumps, self.twists = JumpCheck(), TwistCheck()
        self._warned.clear()
        self._warned_far.clear()

    @property
    def contradiction(self) -> str:
        """A sentence about inputs that contradict each other, so that forces are wrong, or ''."""
        return self.jumps.problem or self.twists.problem

    @property
    def problems(self) -> tuple[str, ...]:
        """All findings about values; '' for each that there is not."""
        return self.positions, self.jumps.problem, self.twists.problem, self.twists.missing

    def update(self, robot: Robot, buffer: StateBuffer, state: RobotState | None) -> None:
        """Checks the messages received so far.

        Args:
            robot: the robot.
            buffer: the buffer of the messages.
            state: the latest state; None if there is none.
        """
        if state is not None:
            found = joints_far_beyond_limits(robot, state.q)
            if found.keys() != self._joints:
                self._joints = frozenset(found)
                listed = _listed(tuple(found.values()), '; ')
                text = f'far beyond the joint limits: {listed}' if found else ''
                self.positions = Explanation(Reason.POSITIONS_BEYOND_LIMITS, text)
                if not self._warned_far.issuperset(found):
                    self._warned_far.update(found)
                    self._warn(self.positions)
        before = self.problems
        self.jumps.update(robot, self._publishers)
        self.twists.update(buffer.base_frame_id)
        for problem in self.problems:
            if problem and problem not in before:
                self._warn(problem)
        # New names wait for the next call: another publisher may still add missing joints.
        names = tuple(buffer.unknown_names)
        if names == self._seen and not self._warned.issuperset(names):
            self._warned.update(names)
            missing = [name for name in buffer.missing() if name != ODOMETRY]
            missing_text = (
                f'; they do not name {_listed([printable(name, 100) for name in missing])}'
                if missing
                else ''
            )
            self._warn(unknown_joints(robot, buffer) + missing_text)
        self._seen = names


class JumpCheck:
    """Detects joints whose positions jump back and forth between the values of two publishers.

    A step is a jump if it needs more than twice the velocity limit of the joint, and a return if
    the next jump of the joint in the same samples is as large, within a factor of two, and in the
    opposite direction.

    Attributes:
        problem: a sentence with the first values found and the present publishers; '' if there are
            too few returns.
    """

    def __init__(self) -> None:
        """Creates a check without findings."""
        self.problem = self._described = ''
        self._samples: list[RobotState] = []
        self._returns: deque[Array] = deque(maxlen=MAX_CALLS)

    def record(self, state: RobotState) -> None:
        """Keeps a state for the next call of ``update``, if there are not enough of them yet."""
        if len(self._samples) < MAX_SAMPLES:
            self._samples.append(state)

    def update(self, robot: Robot, publishers: Callable[[], str]) -> None:
        """Updates ``problem`` from the states recorded since the last call.

        Args:
            robot: the robot.
            publishers: returns how many publishers the topic has, as a clause.
        """
        # States of the robot before may have another size.
        samples = [state for state in self._samples if len(state.q) == robot.nq]
        self._samples = []
        joints = [joint for joint in robot.model.actuated if len(joint.q_indices) == 1]
        if len(samples) < 2 or not joints:
            return
        angular = np.array([joint.kind.units[0] == 'rad' for joint in joints])
        limits = np.array([joint.limits.velocity for joint in joints])
        assumed = np.where(angular, UNLIMITED_VELOCITY, UNLIMITED_VELOCITY_OF_SLIDE)
        fastest = 2.0 * np.where(np.isfinite(limits), limits, assumed)
        q = np.array([state.q for state in samples])[:, [joint.q_indices[0] for joint in joints]]
        duration = np.abs(np.diff([state.time for state in samples])) / NANOSECONDS
        steps = np.diff(q, axis=0)
        # A driver may wrap angles at any multiple of half a turn.
        steps -= np.where(angular, 2.0 * math.pi * np.round(steps / (2.0 * math.pi)), 0.0)
        least = np.where(angular, MIN_JUMP, MIN_JUMP_OF_SLIDE)
        jumps = np.abs(steps) > least + fastest * duration[:, None]
        self._returns.append(np.array([_returns(x[y]) for x, y in zip(steps.T, jumps.T)]))
        total = np.sum(self._returns, axis=0)
        contradictory = total >= MIN_RETURNS
        if not contradictory.any():
            self.problem = self._described = ''
        found = np.flatnonzero(contradictory & jumps.any(axis=0))
        if found.size and not self._described:
            described = []
            for i in found.tolist():
                first = int(np.argmax(jumps[:, i]))
                low, high = sorted((q[first, i], q[first + 1, i]))
                unit = joints[i].kind.units[0]
                name = printable(joints[i].name)
                described.append(f'{name} between {low:.3g} and {high:.3g} {unit}')
            self._described = _listed(described)
        if self._described:
            # A publisher may become known later than its messages.
            self.problem = Explanation(
                Reason.POSITIONS_CONTRADICTORY,
                f'positions jump back and forth: {self._described}; {publishers()}, of which only '
                'one may report a joint',
            )


def _returns(jumps: Array) -> int:
    """Returns the number of jumps (n) that take back the jump before them."""
    before, after = jumps[:-1], jumps[1:]
    ratio = -after / before
    return int(np.count_nonzero((ratio > 0.5) & (ratio < 2.0)))


def joints_far_beyond_limits(robot: Robot, q: ArrayLike) -> dict[str, str]:
    """Returns the joints with implausible positions, each with a description of the problem.

    Joints without limits, such as continuous ones, are not checked.

    Args:
        robot: the robot.
        q: (nq) configuration.
    """
    values = finite_vector('q', q, robot.nq)
    found: dict[str, str] = {}
    for joint in robot.model.actuated:
        for i, unit in zip(joint.q_indices, joint.kind.units, strict=True):
            beyond = joint.limits.far_beyond(float(values[i]), unit)
            if beyond:
                found[joint.name] = f'{printable(joint.name)} is {beyond}'
    return found


def unknown_joints(robot: Robot, buffer: StateBuffer) -> str:
    """Returns a sentence about names in joint states that the robot does not have; '' if none."""
    if not buffer.unknown_names:
        return ''
    names = [printable(name, 100) for name in buffer.unknown_names]
    return (
        f'joint_states name joints that robot {printable(robot.name)!r} does not have: '
        f'{_listed(names)}'
    )


def _listed(texts: Sequence[str], separator: str = ', ') -> str:
    more = f' and {len(texts) - MAX_NAMED} more' if len(texts) > MAX_NAMED else ''
    return separator.join(texts[:MAX_NAMED]) + more
