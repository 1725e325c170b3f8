# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A type checker refuses options and references that there are not, in code of a user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('mypy')

ROOT = Path(__file__).parents[2]

USER = """\
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
solve(arm, target, 'tool').limit_margin
arm.inverse_kinematics(target, 'tool').limit_margin.hex()
arm.inverse_kinematics([target], 'tool').success.all()

arm.inverse_kinematics(target, 'tool', tolerance=1e-3)  # "tolerance"
arm.inverse_kinematics(target, 'tool', timeout='0.01')  # "timeout"
arm.inverse_kinematics(target, 'tool', max_solutions=4)  # "max_solutions"
arm.all_inverse_kinematics(target, 'tool', supports={})  # "supports"
arm.constrained_inverse_dynamics(q, v, v, 'tool', criterion='least')  # "criterion"
arm.jacobian(q, 'tool', 'body')  # Literal['body']
arm.jacobian_derivative(q, v, 'tool', 'LOCAL')  # Literal['LOCAL']
arm.jacobian_hessian(q, 'tool', 'base')  # Literal['base']
arm.frame_velocity(q, v, 'tool', reference='root')  # Literal['root']
arm.frame_acceleration(q, v, v, 'tool', 'aligned')  # Literal['aligned']
solve(arm, target, 'tool').sucess  # "sucess"
arm.inverse_kinematics(target, 'tool').sucess  # "sucess"
arm.inverse_kinematics([target], 'tool').positions  # "positions"
"""


@pytest.mark.slow
def test_mypy_refuses_what_there_is_not_and_nothing_else(tmp_path):
    file = tmp_path / 'user.py'
    file.write_text(USER)
    command = [sys.executable, '-m', 'mypy', '--config-file', str(ROOT / 'pyproject.toml')]
    done = subprocess.run(
        [*command, '--cache-dir', str(tmp_path / 'cache'), str(file)],
        cwd=tmp_path,
        env=os.environ | {'MYPYPATH': str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r'^.*user\.py:(\d+): error: (.*)$', done.stdout, re.MULTILINE)
    lines = USER.splitlines()
    wanted = {i for i, line in enumerate(lines, 1) if '  # ' in line}
    assert {int(i) for i, _ in found} == wanted, done.stdout + done.stderr
    for i, problem in found:
        assert lines[int(i) - 1].partition('  # ')[2] in problem
