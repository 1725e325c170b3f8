# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a commanded arm: their timing, stalls of the process, and reasons to brake."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control.compliance.motion_check import LASTING
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.reasons import Explanation, Names, Reason

from .arm import PreparedArm

HELD_UP = 0.05
"""Interval between two calls from which the process counts as stalled [s]; usual is a few ms."""

SETTLING = 0.1
"""Time after a stall in which queued messages are still being read [s]."""


class StallDetector:
    """Detects stalls of the process from the interval between calls of `check`."""

    def __init__(self) -> None:
        self._checked = time.monotonic()
        self._since = self._until = 0.0

    def check(self) -> None:
        """Record that the process is running."""
        now = time.monotonic()
        if now - self._checked > HELD_UP:
            if self._checked > self._until:
                self._since = self._checked
            self._until = now + SETTLING
        self._checked = now

    def waited(self) -> float:
        """Longest time that a message read now may have been queued [s]; 0.0 without a stall."""
        self.check()
        return self._checked - self._since if self._checked < self._until else 0.0


LOST = 2
"""Number of missing joint states after which the arm brakes without them."""

NOMINAL_CYCLE, MAX_CYCLE = 0.002, 0.02
"""Cycle time assumed before it is measured, and the longest plausible one [s]."""

IN_A_ROW = 5
"""Number of intervals in a row of which the shortest counts as usual: a single long one is a lost
message."""

MAX_WAIT = 0.1
"""Longest wait for a joint state that counts as usual [s]."""

BURST = 2.0
"""Cycles that step times may be ahead of the machine's clock, since states arrive unevenly."""

LEAST = 1e-6
"""Shortest interval of a step [s]."""

HELD_MEMORY = 0.5
"""Time constant with which a long time between two commands is forgotten [s]."""

MAX_HELD = 0.2
"""Longest time between two commands that gains are reduced for [s]; then they are almost zero."""

SHARE = 0.02
"""Weight of a new measurement in the running average of the cycle."""


class StateTiming:
    """Tracks the times of states by stamp, and of answers by the machine's clock.

    The motors follow the machine's clock: when a process was held up, it processes the queued
    states at once, and the sum of their intervals must not exceed the time that passed. With
    simulated time the motors follow the stamps.

    Attributes:
        cycle: usual time between two stamps [s].
        answered: when the last state was processed, by the monotonic clock [s].
        sent: when the last command was sent, by the monotonic clock [s].
        gap: time between the last two stamps, without limits [s].
        held: time for which a command may be held [s]: the usual one, or lately a longer one. A
            process that is held up answers several states at once, then none for a while.
    """

    def __init__(self) -> None:
        self.cycle = NOMINAL_CYCLE
        self.start(0)

    def start(self, stamp: int, simulated: bool = False) -> None:
        """Start at a stamp [ns]; `simulated`: whether the time is simulated."""
        self._simulated = simulated
        self._stamp, self.gap = stamp - round(self.cycle * 1e9), 0.0
        self.answered = self.sent = time.monotonic() - self.cycle
        self._heard, self._wait, self._gaps = 0, self.cycle, [0.0] * IN_A_ROW
        self._counted, self._ahead = self.answered, 0.0
        self.held = self.cycle

    def interval(self, stamp: int) -> float:
        """Step interval [s] at a state with this stamp [ns]."""
        now = time.monotonic()
        self.gap, self._stamp = (stamp - self._stamp) * 1e-9, stamp
        self._gaps = [*self._gaps[1:], self.gap]
        # Uses the machine's clock, since simulated time may run slower.
        self._heard += 1
        wait = min(now - self.answered, MAX_WAIT)
        self._wait += max(SHARE, 1.0 / self._heard) * (wait - self._wait)
        between = now - self.sent
        usual = between <= LOST * max(self._wait, self.cycle) or self._simulated
        longest = self.held + min(between / HELD_MEMORY, 1.0) * (self.cycle - self.held)
        self.held = max(longest, self.cycle if usual else min(between, MAX_HELD))
        if 0.0 < self.gap < MAX_CYCLE:
            self.cycle += SHARE * (self.gap - self.cycle)
            return self.passed(self.gap)
        return self.passed(min(max(now - self.sent, self.cycle), MAX_CYCLE))

    def passed(self, interval: float) -> float:
        """Limit a step interval [s] to the time that passed by the machine's clock."""
        if self._simulated:
            return interval
        now = time.monotonic()
        ahead, self._counted = self._ahead - (now - self._counted), now
        interval = max(min(interval, BURST * self.cycle - ahead), LEAST)
        self._ahead = max(ahead + interval, 0.0)
        return interval

    @property
    def shortest(self) -> float:
        """Shortest of the last ``IN_A_ROW`` intervals between stamps [s]."""
        return min(self._gaps)

    @property
    def missing(self) -> float:
        """Time since a state was last processed [s]."""
        return time.monotonic() - self.answered

    @property
    def late(self) -> bool:
        """Whether more than ``LOST`` states are missing."""
        return self.missing > LOST * self._wait


class UnseenTime:
    """Time for which joint states were missing, or without commanded joints [s].

    Only time in which the process looks for joint states counts, so that the machine may pause.
    A joint state that can be used takes back the time since the one before.
    """

    def __init__(self) -> None:
        self._seconds = 0.0

    def lasts(self, timeout: float, dt: float, known: float | None) -> bool:
        """Add a step; return whether the robot must be handed over, ``LASTING`` after the timeout.

        Args:
            timeout: longest time that joint states may be missing [s].
            dt: length of the step [s].
            known: time for which they certainly were missing before it [s]; None: they are not.
        """
        if known is None:
            self._seconds = max(self._seconds - dt, 0.0)
        else:
            self._seconds = max(self._seconds, known) + dt
        return known is not None and self._seconds > timeout + LASTING


UNSEEN = frozenset({Reason.POSITION_NOT_FINITE, Reason.JOINTS_STALE})
"""Reasons for which the check of the motion has not seen a state."""

SURELY_STABLE = 0.008
"""Interval of joint states up to which stability is not examined, for lack of time [s]."""


def describe_old(state: RobotState, places: Mapping[str, int], timeout: float) -> Explanation:
    """Return which joints of these indices have not been reported for a time [s]; '' for none."""
    names: list[str] = []
    if state.ages is not None:
        old = state.ages > 1e9 * timeout
        names = [name for name, i in places.items() if old[i]]
    if not names:
        return Explanation(Reason.OK, '')
    return Explanation(Reason.JOINTS_STALE, 'no news of ', Names(tuple(names), ', '.join(names)))


def describe_no_velocity(names: Sequence[str]) -> Explanation:
    """Return which joints come without a velocity; '' for none."""
    if not names:
        return Explanation(Reason.OK, '')
    return Explanation(Reason.VELOCITY_MISSING, f'no velocity of {", ".join(names)}')


def _unreported(
    state: RobotState, places: Mapping[str, int], timeout: float
) -> NDArray[np.bool_] | None:
    """Mask (nv) of joints whose report is missing, with arguments of ``describe_old``.

    A joint that another publisher reports at a lower rate is not missing between its reports.
    """
    if state.ages is None and not state.not_finite:
        return None
    found = np.zeros(len(state.v), dtype=bool)
    if state.ages is not None:
        found |= state.ages > 1e9 * timeout
    if state.overdue is not None:
        found |= state.overdue
    found[[places[name] for name in state.not_finite if name in places]] = True
    return found


def reason_to_brake(
    prepared: PreparedArm,
    state: RobotState,
    timing: StateTiming,
    missing: float,
    interval: float,
    timeout: float,
) -> Explanation:
    """Reason why the arm must not be controlled by this state; '' if there is none.

    Args:
        prepared, state: the arm and its last state.
        timing: timing of the states.
        missing: time without a processed state [s].
        interval: time since the last step [s].
        timeout: longest time that joint states may be missing [s].
    """
    # Predictions since the last state use the machine's clock, not the stamps.
    gap = max(timing.gap, interval)
    unreported = _unreported(state, prepared.robot.joint_v_indices, timeout)
    sample = state.q, state.v, gap, state.effort, prepared.arm.tau
    wrong = prepared.check.judge(*sample, unreported)
    names = [name for name in state.not_finite if name in prepared.joints]
    if names:
        listed = Names(tuple(names), ', '.join(names))
        return Explanation(
            Reason.POSITION_NOT_FINITE, 'no news of ', listed, ': position not finite'
        )
    if old := describe_old(state, prepared.robot.joint_v_indices, timeout):
        return old
    if state.velocity_missing:
        return describe_no_velocity(state.velocity_missing)
    if wrong:
        return wrong
    if missing > timeout:
        # If instead this process was held up, the target is outdated in any case.
        text = f'joint states failed to come for {missing:.1f} s'
        return Explanation(Reason.STATES_STOPPED, text)
    usual = timing.shortest
    if usual > SURELY_STABLE and not prepared.arm.is_stable_at(usual):
        text = f'joint states every {1e3 * usual:.0f} ms are too rare for the gains of this arm'
        return Explanation(Reason.STATES_RARE, text)
    return Explanation(Reason.OK, '')


def unseen_before(prepared: PreparedArm, reason: Explanation, timeout: float) -> float | None:
    """Time for which the state with a reason to brake lacked commanded joints [s]; None if not.

    Feedback of the others holds an arm whose other joints are not reported.
    """
    if reason.reason not in UNSEEN:
        return None
    named = {name for part in reason.parts if isinstance(part, Names) for name in part.names}
    if named.isdisjoint(prepared.joints):
        return None
    return timeout if reason.reason is Reason.JOINTS_STALE else 0.0


def state_to_use(prepared: PreparedArm, state: RobotState, reason: Explanation) -> RobotState:
    """State to control or brake the arm with: predicted where the reported one hides its motion.

    Args:
        prepared, state: the arm and its last state.
        reason: of ``reason_to_brake`` for this state.
    """
    arm, check = prepared.arm, prepared.check
    if check.blind:
        state = state._replace(q=check.q, v=check.v)
    elif reason.reason in UNSEEN and state.ages is not None:
        q, v = arm.reckoned(state.q, state.v, 1e-9 * state.ages)
        state = state._replace(q=q, v=v)
    return state
