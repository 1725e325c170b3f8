# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state with which an arm is braked when the reported one cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynamics_ros import Robot
from dynamics_ros.commanding.arm import PreparedArm
from dynamics_ros.commanding.joint_states import StateTiming, reason_to_brake, state_to_use
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.reasons import Reason
from dynamics_ros.simulation import comfortable_posture

ROBOT = Robot.from_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf')
HOME = comfortable_posture(ROBOT, 'tool0')
DT = 1e-3


def test_a_position_that_is_no_number_is_not_answered_by_the_prediction_for_an_earlier_state():
    parameters = ImpedanceParameters(command_joints=ROBOT.joint_names, frame='tool0')
    prepared = PreparedArm.of(ROBOT, parameters, 'tool0')
    check, pace = prepared.check, StateTiming()
    v = np.full(ROBOT.nv, 0.3)
    still = RobotState(0, HOME, v, 0.0 * v, (), (), (), np.zeros(ROBOT.nv, dtype=bool))
    prepared.arm.start(HOME, v)
    check.begin(HOME, v, prepared.arm.tau)
    pace.start(0)
    for _ in range(50):
        reason = reason_to_brake(prepared, still, pace, 0.0, DT, 0.1)
        used = state_to_use(prepared, still, reason)
    assert reason.reason is Reason.STATES_FROZEN
    assert np.abs(used.q - HOME).max() > 1e-3

    new = still._replace(q=HOME + 0.02, v=0.5 * v, not_finite=ROBOT.joint_names[:1])
    reason = reason_to_brake(prepared, new, pace, 0.0, DT, 0.1)
    used = state_to_use(prepared, new, reason)
    assert reason.reason is Reason.POSITION_NOT_FINITE
    assert not check.blind
    np.testing.assert_array_equal(used.q, new.q)
    np.testing.assert_array_equal(used.v, new.v)
