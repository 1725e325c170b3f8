# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reasons to brake an arm instead of controlling it by a joint state."""

from __future__ import annotations

from dynamics_ros.estimation.samples.robot_state import RobotState

from .pace import RAREST, Pace
from .prepared_arm import PreparedArm

NO_NEWS = 'no news'


def doubt_of(
    prepared: PreparedArm,
    state: RobotState,
    pace: Pace,
    missing: float,
    interval: float,
    timeout: float,
) -> str:
    """Reason why the arm must not be controlled by this state; '' if there is none.

    Args:
        prepared, state: the arm and its last state.
        pace: timing of the states.
        missing: time without a processed state [s].
        interval: time since the last step [s].
        timeout: longest time that joint states may be missing [s].
    """
    if state.ages is not None:
        old = state.ages > 1e9 * timeout
        names = [name for name, i in prepared.robot.joint_v_indices.items() if old[i]]
        if names:
            return f'{NO_NEWS} of {", ".join(names)}'
    # Predictions since the last state use the machine's clock, not the stamps.
    wrong = prepared.check.judge(state.q, state.v, max(pace.gap, interval))
    if wrong:
        return wrong
    if missing > timeout:
        # If instead this process was held up, the target is outdated in any case.
        return f'joint states failed to come for {missing:.1f} s'
    if pace.rare:
        return f'fewer than {1.0 / RAREST:.0f} joint states a second'
    return ''
