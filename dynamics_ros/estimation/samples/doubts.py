# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Warnings about positions far beyond the limits and names of unknown joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from numpy.typing import ArrayLike

from dynamics_ros.errors import printable
from dynamics_ros.multibody.arguments import finite_vector
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot

from .robot_state import RobotState
from .state_buffer import ODOMETRY, StateBuffer

MAX_NAMED = 8


class InputCheck:
    """Detects positions far beyond the limits, and names of unknown joints.

    Attributes:
        positions: a sentence about implausible positions; '' if there are none. It contains the
            first values, so that the text does not change with every message.
    """

    def __init__(self, warn: Callable[[str], object]) -> None:
        """Creates a check without findings; ``warn`` receives each finding once."""
        self._warn = warn
        self.forget()

    def forget(self) -> None:
        """Clears all findings for another robot."""
        self.positions = ''
        self._joints: Set[str] = frozenset()
        self._names: tuple[str, ...] = ()
        self._warned: set[str] = set()

    def update(self, robot: Robot, buffer: StateBuffer, state: RobotState | None) -> None:
        """Checks the messages received so far, once per second.

        Args:
            robot: the robot.
            buffer: the buffer of the messages.
            state: the latest state; None if there is none.
        """
        problems = {} if state is None else joints_far_beyond_limits(robot, state.q)
        if state is not None and problems.keys() != self._joints:
            self._joints = problems.keys()
            text = 'far beyond the joint limits: ' if problems else ''
            text += _listed([*problems.values()], '; ')
            self.positions = Explanation(Reason.POSITIONS_BEYOND_LIMITS, text)
            self._warn_once(problems, self.positions)
        # New names wait for the next call: another publisher may still add missing joints.
        names, before = tuple(buffer.unknown_names), self._names
        self._names = names
        if names and names == before:
            missing = [printable(name, 100) for name in buffer.missing() if name != ODOMETRY]
            more = f'; they do not name {_listed(missing)}' if missing else ''
            self._warn_once(names, unknown_joints(robot, buffer) + more)

    def _warn_once(self, names: Iterable[str], text: str) -> None:
        """Warns if one of the names, of joints of the robot or unknown ones, is new."""
        if not self._warned.issuperset(names):
            self._warned.update(names)
            self._warn(text)


def joints_far_beyond_limits(robot: Robot, q: ArrayLike) -> dict[str, str]:
    """Returns the joints with implausible positions, each with a description of the problem.

    Joints without limits, such as continuous ones, are not checked.

    Args:
        robot: the robot.
        q: (nq) configuration.
    """
    values = finite_vector('q', q, robot.nq)
    beyond = (
        (joint.name, joint.limits.far_beyond(float(values[i]), unit))
        for joint in robot.model.actuated
        for i, unit in zip(joint.q_indices, joint.kind.units, strict=True)
    )
    return {name: f'{printable(name)} is {where}' for name, where in beyond if where}


def unknown_joints(robot: Robot, buffer: StateBuffer) -> str:
    """Returns a sentence about names in joint states that the robot does not have; '' if none."""
    listed = _listed([printable(name, 100) for name in buffer.unknown_names])
    text = f'joint_states name joints that robot {printable(robot.name)!r} does not have: {listed}'
    return text if listed else ''


def _listed(texts: Sequence[str], separator: str = ', ') -> str:
    more = f' and {len(texts) - MAX_NAMED} more' if len(texts) > MAX_NAMED else ''
    return separator.join(texts[:MAX_NAMED]) + more
