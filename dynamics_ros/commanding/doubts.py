# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Why an arm is not led by a joint state, but braked."""

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
    """Why the arm cannot be where, or be moved as, the state says; '' when it can.

    Args:
        prepared, state: as they are.
        pace: of the states.
        missing: s for which no state was answered.
        interval: s since the last step.
        timeout: s for which joint states may be missing.
    """
    if state.ages is not None:
        old = state.ages > 1e9 * timeout
        names = [name for name, i in prepared.robot.joint_v_indices.items() if old[i]]
        if names:
            return f'{NO_NEWS} of {", ".join(names)}'
    # What was reckoned since goes by the machine's time, not by that of the stamps.
    wrong = prepared.check.judge(state.q, state.v, max(pace.gap, interval))
    if wrong:
        return wrong
    if missing > timeout:
        # Or this process was held up: the target is of long ago in any case.
        return f'joint states failed to come for {missing:.1f} s'
    if pace.rare:
        return f'fewer than {1.0 / RAREST:.0f} joint states a second'
    return ''
