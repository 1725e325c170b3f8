# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reasons to brake an arm instead of controlling it by a joint state, and the state to use then."""

from __future__ import annotations

import numpy as np

from dynamics_ros.control import CompliantArm
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.reasons import Explanation, Reason

from .pace import Pace
from .prepared_arm import PreparedArm

NO_NEWS = 'no news'

UNSEEN = frozenset({Reason.POSITION_NOT_FINITE, Reason.JOINTS_STALE})
"""Reasons for which the check of the motion has not seen a state."""

SOFTER = 0.9
"""Share of its stiffness from which a tool counts as softer than its settings say."""

SURELY_STABLE = 0.008
"""Interval of joint states up to which stability is not examined, for lack of time [s]."""


def doubt_of(
    prepared: PreparedArm,
    state: RobotState,
    pace: Pace,
    missing: float,
    interval: float,
    timeout: float,
) -> Explanation:
    """Reason why the arm must not be controlled by this state; '' if there is none.

    Args:
        prepared, state: the arm and its last state.
        pace: timing of the states.
        missing: time without a processed state [s].
        interval: time since the last step [s].
        timeout: longest time that joint states may be missing [s].
    """
    names = [name for name in state.not_finite if name in prepared.joints]
    if names:
        text = f'{NO_NEWS} of {", ".join(names)}: position not finite'
        return Explanation(Reason.POSITION_NOT_FINITE, text)
    if state.ages is not None:
        old = state.ages > 1e9 * timeout
        names = [name for name, i in prepared.robot.joint_v_indices.items() if old[i]]
        if names:
            return Explanation(Reason.JOINTS_STALE, f'{NO_NEWS} of {", ".join(names)}')
    # Predictions since the last state use the machine's clock, not the stamps.
    gap = max(pace.gap, interval)
    wrong = prepared.check.judge(state.q, state.v, gap, state.effort, prepared.arm.tau)
    if wrong:
        return wrong
    if missing > timeout:
        # If instead this process was held up, the target is outdated in any case.
        text = f'joint states failed to come for {missing:.1f} s'
        return Explanation(Reason.STATES_STOPPED, text)
    usual = pace.shortest
    if usual > SURELY_STABLE and not prepared.arm.is_stable_at(usual):
        text = f'joint states every {1e3 * usual:.0f} ms are too rare for the gains of this arm'
        return Explanation(Reason.STATES_RARE, text)
    return Explanation(Reason.OK, '')


def softened(arm: CompliantArm, interval: float) -> Explanation:
    """Warning that the tool is softer than its settings say; '' if it is not, by ``SOFTER``.

    Args:
        arm: that is controlled.
        interval: usual time between joint states [s].
    """
    wanted, held = np.diag(arm.settings.compliance.stiffness), arm.held_stiffness(interval)
    shares = held / np.maximum(wanted, 1e-9)
    k = int(np.where(wanted > 0.0, shares, 1.0).argmin())
    if wanted[k] <= 0.0 or shares[k] > SOFTER:
        return Explanation(Reason.OK, '')
    return Explanation(
        Reason.STIFFNESS_REDUCED,
        f'joint states every {1e3 * interval:.2g} ms allow a stiffness of {held[k]:.3g} '
        f'{"N/m along" if k < 3 else "Nm/rad about"} {"xyz"[k % 3]}, instead of {wanted[k]:.3g}: '
        'the tool is light there. More inertia in the description, if it lacks that of rotors, or '
        'a higher rate allow more',
    )


def state_to_use(prepared: PreparedArm, state: RobotState, reason: Explanation) -> RobotState:
    """State to control or brake the arm with: predicted where the reported one hides its motion.

    Args:
        prepared, state: the arm and its last state.
        reason: of ``doubt_of`` for this state.
    """
    arm, check = prepared.arm, prepared.check
    if reason.reason in UNSEEN:
        # The check has not seen this state: what it said of the one before does not apply.
        if state.ages is not None:
            q, v = arm.reckoned(state.q, state.v, 1e-9 * state.ages)
            state = state._replace(q=q, v=v)
        check.begin(state.q, state.v, arm.tau)
    elif check.blind:
        state = state._replace(q=check.q, v=check.v)
    return state
