# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Code of a user for mypy, which refuses options and references that there are not.

It is never run: a line with an error that mypy does not find fails the check of types.
"""

from __future__ import annotations

import numpy as np

from dynamics_ros import Robot
from dynamics_ros.inverse_kinematics import solve

arm = Robot.from_urdf('arm.urdf')
q, v, target = arm.neutral(), np.zeros(arm.nv), np.eye(4)

arm.inverse_kinematics(target, 'tool', position_tolerance=1e-3, timeout=0.01)
arm.all_inverse_kinematics(target, 'tool', q, max_solutions=4)
arm.constrained_inverse_dynamics(q, v, v, 'tool', criterion='minimum_torque')
arm.jacobian(q, 'tool')
arm.jacobian(q, ['tool', 'elbow'], 'world')
arm.frame_velocity(q, v, 'tool', reference='local')
print(solve(arm, target, 'tool').limit_margin)
arm.inverse_kinematics(target, 'tool').limit_margin.hex()
arm.inverse_kinematics([target], 'tool').success.all()

arm.inverse_kinematics(target, 'tool', tolerance=1e-3)  # type: ignore[call-arg]
arm.inverse_kinematics(target, 'tool', timeout='0.01')  # type: ignore[arg-type]
arm.inverse_kinematics(target, 'tool', max_solutions=4)  # type: ignore[call-arg]
arm.all_inverse_kinematics(target, 'tool', supports={})  # type: ignore[call-arg]
arm.constrained_inverse_dynamics(q, v, v, 'tool', criterion='least')  # type: ignore[arg-type]
arm.jacobian(q, 'tool', 'body')  # type: ignore[arg-type]
arm.jacobian_derivative(q, v, 'tool', 'LOCAL')  # type: ignore[arg-type]
arm.jacobian_hessian(q, 'tool', 'base')  # type: ignore[arg-type]
arm.frame_velocity(q, v, 'tool', reference='root')  # type: ignore[arg-type]
arm.frame_acceleration(q, v, v, 'tool', 'aligned')  # type: ignore[arg-type]
print(solve(arm, target, 'tool').sucess)  # type: ignore[attr-defined]
print(arm.inverse_kinematics(target, 'tool').sucess)  # type: ignore[attr-defined]
print(arm.inverse_kinematics([target], 'tool').positions)  # type: ignore[attr-defined]
