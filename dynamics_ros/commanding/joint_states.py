# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a commanded arm: their timing, stalls of the process, and reasons to brake."""

from __future__ import annotations

import time

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.reasons import Explanation, Reason

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


UNSEEN = frozenset({Reason.POSITION_NOT_FINITE, Reason.JOINTS_STALE})
"""Reasons for which the check of the motion has not seen a state."""

SURELY_STABLE = 0.008
"""Interval of joint states up to which stability is not examined, for lack of time [s]."""


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
    names = [name for name in state.not_finite if name in prepared.joints]
    if names:
        text = f'no news of {", ".join(names)}: position not finite'
        return Explanation(Reason.POSITION_NOT_FINITE, text)
    if state.ages is not None:
        old = state.ages > 1e9 * timeout
        names = [name for name, i in prepared.robot.joint_v_indices.items() if old[i]]
        if names:
            return Explanation(Reason.JOINTS_STALE, f'no news of {", ".join(names)}')
    # Predictions since the last state use the machine's clock, not the stamps.
    gap = max(timing.gap, interval)
    wrong = prepared.check.judge(state.q, state.v, gap, state.effort, prepared.arm.tau)
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


def state_to_use(prepared: PreparedArm, state: RobotState, reason: Explanation) -> RobotState:
    """State to control or brake the arm with: predicted where the reported one hides its motion.

    Args:
        prepared, state: the arm and its last state.
        reason: of ``reason_to_brake`` for this state.
    """
    arm, check = prepared.arm, prepared.check
    if reason.reason in UNSEEN:
        # The check has not seen this state: what it said of the one before does not apply.
        if state.ages is not None:
            q, v = arm.reckoned(state.q, state.v, 1e-9 * state.ages)
            state = state._replace(q=q, v=v)
        # A joint that has jumped is waited for.
        if check.reason.reason is not Reason.POSITION_JUMPED:
            check.begin(state.q, state.v, arm.tau)
        check.unseen = 0.0 if state.ages is None else 1e-9 * float(state.ages.max())
    elif check.blind:
        state = state._replace(q=check.q, v=check.v)
    return state
