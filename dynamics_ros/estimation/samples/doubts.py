# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check for implausible content of joint states, to be called once per second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dynamics_ros.errors import printable
from dynamics_ros.robot import Robot

from .position_check import joints_far_beyond_limits, limits_problem
from .robot_state import RobotState
from .state_buffer import ODOMETRY, StateBuffer

MAX_NAMED = 8


class JointStateCheck:
    """Detects positions far beyond the limits and names of unknown joints.

    Attributes:
        positions: a sentence about implausible positions; '' if there are none. It contains the
            first values, so that the text does not change with every message.
    """

    def __init__(self, warn: Callable[[str], object]) -> None:
        """Creates a check without findings.

        Args:
            warn: receives each finding once.
        """
        self.positions = ''
        self._warn = warn
        self._joints: frozenset[str] = frozenset()
        self._seen: tuple[str, ...] = ()
        self._warned: set[str] = set()
        self._warned_far: set[str] = set()

    def forget(self) -> None:
        """Clears all findings for another robot."""
        self.positions, self._joints, self._seen = '', frozenset(), ()
        self._warned.clear()
        self._warned_far.clear()

    def look(self, robot: Robot, buffer: StateBuffer, state: RobotState | None) -> None:
        """Checks the messages received so far.

        Args:
            robot: the robot.
            buffer: the buffer of the messages.
            state: the latest state; None if there is none.
        """
        if state is not None:
            found = joints_far_beyond_limits(robot, state.q)
            if found.keys() != self._joints:
                self._joints, self.positions = frozenset(found), limits_problem(found)
                if not self._warned_far.issuperset(found):
                    self._warned_far.update(found)
                    self._warn(self.positions)
        # New names wait for the next call: another publisher may still add missing joints.
        names = tuple(buffer.unknown_names)
        if names == self._seen and not self._warned.issuperset(names):
            self._warned.update(names)
            missing = [name for name in buffer.missing() if name != ODOMETRY]
            missing_text = f'; they do not name {_listed(missing)}' if missing else ''
            self._warn(unknown_joints(robot, buffer) + missing_text)
        self._seen = names


def unknown_joints(robot: Robot, buffer: StateBuffer) -> str:
    """Returns a sentence about names in joint states that the robot does not have; '' if none."""
    if not buffer.unknown_names:
        return ''
    return (
        f'joint_states name joints that robot {printable(robot.name)!r} does not have: '
        f'{_listed(tuple(buffer.unknown_names))}'
    )


def _listed(names: Sequence[str]) -> str:
    more = f' and {len(names) - MAX_NAMED} more' if len(names) > MAX_NAMED else ''
    return ', '.join(printable(name, 100) for name in names[:MAX_NAMED]) + more
