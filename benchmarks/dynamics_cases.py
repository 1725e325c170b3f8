# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cases of the suite `dynamics`: the statements that are timed.

In each statement, ``robot`` is our robot at the state q, v, a; ``pin``, ``model`` and ``data`` are
Pinocchio's with its own q_p, v_p, a_p; ``mj`` is MuJoCo's with q_m, v_m, a_m.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.records import Goal

DYNAMICS = Goal(0.4, 0.28)
KINEMATICS = Goal(0.6, 0.45)
DERIVATIVES = Goal(0.6, 0.4)
BATCH = Goal(0.05, 0.02)
PLAIN_PYTHON = Goal(50.0, 20.0, of='value')


@dataclass(frozen=True)
class Case:
    """One quantity.

    Attributes:
        name: name in the tables.
        goal: goal of the ratio to Pinocchio.
        ours: our statement.
        pin: equivalent statements for Pinocchio, of which the fastest is the peer.
        unread: statement without reading the result from Pinocchio's data, if that is a separate
            step; a harder comparison.
        mujoco: statement of MuJoCo, if it has the quantity.
    """

    name: str
    goal: Goal
    ours: str
    pin: tuple[str, ...]
    unread: str | None = None
    mujoco: str | None = None


CASES = (
    Case(
        'RNEA',
        DYNAMICS,
        'robot.inverse_dynamics(q, v, a)',
        ('pin.rnea(model, data, q_p, v_p, a_p)',),
        mujoco='mj.inverse_dynamics(q_m, v_m, a_m)',
    ),
    Case(
        'gravity',
        DYNAMICS,
        'robot.gravity(q)',
        ('pin.computeGeneralizedGravity(model, data, q_p)',),
    ),
    Case(
        'nonlinear effects',
        DYNAMICS,
        'robot.nonlinear_effects(q, v)',
        ('pin.nonLinearEffects(model, data, q_p, v_p)',),
        mujoco='mj.nonlinear_effects(q_m, v_m)',
    ),
    Case(
        'CRBA',
        DYNAMICS,
        'robot.mass_matrix(q)',
        ('pin.crba(model, data, q_p, WORLD)', 'pin.crba(model, data, q_p, LOCAL)'),
        mujoco='mj.mass_matrix(q_m)',
    ),
    Case(
        'ABA',
        DYNAMICS,
        'robot.forward_dynamics(q, v, a)',
        (
            'pin.aba(model, data, q_p, v_p, a_p, WORLD)',
            'pin.aba(model, data, q_p, v_p, a_p, LOCAL)',
        ),
        mujoco='mj.forward_dynamics(q_m, v_m, a_m)',
    ),
    Case(
        'FK of one frame',
        KINEMATICS,
        'robot.forward_kinematics(q, frame)',
        (
            'pin.forwardKinematics(model, data, q_p);'
            ' pin.updateFramePlacement(model, data, frame_id).homogeneous',
            'pin.framesForwardKinematics(model, data, q_p); data.oMf[frame_id].homogeneous',
        ),
        unread='pin.forwardKinematics(model, data, q_p);'
        ' pin.updateFramePlacement(model, data, frame_id)',
        mujoco='mj.forward_kinematics(q_m)',
    ),
    Case(
        'FK of all frames',
        KINEMATICS,
        'robot.all_frames(q)',
        (
            'pin.framesForwardKinematics(model, data, q_p);'
            ' [data.oMf[i].homogeneous for i in frame_ids]',
            'pin.framesForwardKinematics(model, data, q_p); [X.homogeneous for X in data.oMf]',
        ),
        unread='pin.framesForwardKinematics(model, data, q_p)',
        mujoco='mj.all_frames(q_m)',
    ),
    Case(
        'frame Jacobian',
        KINEMATICS,
        'robot.jacobian(q, frame)',
        ('pin.computeFrameJacobian(model, data, q_p, frame_id, ALIGNED)',),
        mujoco='mj.jacobian(q_m)',
    ),
    Case(
        'derivatives of RNEA',
        DERIVATIVES,
        'robot.inverse_dynamics_derivatives(q, v, a)',
        ('pin.computeRNEADerivatives(model, data, q_p, v_p, a_p)',),
    ),
    Case(
        'derivatives of ABA',
        DERIVATIVES,
        'robot.forward_dynamics_derivatives(q, v, a)',
        ('pin.computeABADerivatives(model, data, q_p, v_p, a_p)',),
    ),
    Case(
        'M inverse',
        DERIVATIVES,
        'robot.mass_matrix_inverse(q)',
        ('pin.computeMinverse(model, data, q_p)',),
    ),
    Case(
        'centroidal map',
        DERIVATIVES,
        'robot.centroidal_map(q)',
        ('pin.computeCentroidalMap(model, data, q_p)', 'pin.ccrba(model, data, q_p, v_p)'),
    ),
    Case(
        'Coriolis matrix',
        DERIVATIVES,
        'robot.coriolis(q, v)',
        ('pin.computeCoriolisMatrix(model, data, q_p, v_p)',),
    ),
    Case(
        'regressor',
        DERIVATIVES,
        'robot.regressor(q, v, a)',
        ('pin.computeJointTorqueRegressor(model, data, q_p, v_p, a_p)',),
    ),
)


@dataclass(frozen=True)
class BatchCase:
    """A quantity of many states; names in capitals are arrays of all states."""

    name: str
    ours: str
    pin: str


BATCH_CASES = (
    BatchCase(
        'RNEA',
        'robot.inverse_dynamics(Q, V, A)',
        '[pin.rnea(model, data, q, v, a) for q, v, a in zip(Q_p, V_p, A_p)]',
    ),
    BatchCase(
        'gravity',
        'robot.gravity(Q)',
        '[pin.computeGeneralizedGravity(model, data, q) for q in Q_p]',
    ),
    BatchCase(
        'nonlinear effects',
        'robot.nonlinear_effects(Q, V)',
        '[pin.nonLinearEffects(model, data, q, v) for q, v in zip(Q_p, V_p)]',
    ),
    BatchCase('CRBA', 'robot.mass_matrix(Q)', '[pin.crba(model, data, q, WORLD) for q in Q_p]'),
    BatchCase(
        'ABA',
        'robot.forward_dynamics(Q, V, A)',
        '[pin.aba(model, data, q, v, a, WORLD) for q, v, a in zip(Q_p, V_p, A_p)]',
    ),
    BatchCase(
        'FK of one frame',
        'robot.forward_kinematics(Q, frame)',
        '[(pin.forwardKinematics(model, data, q), pin.updateFramePlacement(model, data, frame_id))'
        ' for q in Q_p]',
    ),
    BatchCase(
        'frame Jacobian',
        'robot.jacobian(Q, frame)',
        '[pin.computeFrameJacobian(model, data, q, frame_id, ALIGNED) for q in Q_p]',
    ),
)
