# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The laws of control are kernels: what they compute, and that exported C computes the same."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from laws import assert_close
from patience import PATIENCE, examples
from random_robots import SEEDS, random_robot
from tolerances import LAW

from dynamics_ros import Robot, export_kernels
from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    inverse_dynamics_control,
    joint_impedance,
    operational_space_torques,
    selection_matrices,
)

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
C = shutil.which('gcc') or shutil.which('cc')

LAWS = (
    *('joint_impedance', 'inverse_dynamics_control', 'operational_space:tool0'),
    *('motion_torques:tool0:012', 'operational_space_torques:tool0'),
    *('constrained_forward_dynamics:point:tool0', 'impedance_step:tool0'),
)


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM)


@pytest.fixture(scope='module')
def library(arm, tmp_path_factory):
    if C is None:
        pytest.skip('no C compiler here')
    code, _ = export_kernels(arm, LAWS, tmp_path_factory.mktemp('laws'), 'arm')
    made = code.with_suffix('.so')
    flags = ['-std=c99', '-O1', '-Wall', '-Wextra', '-pedantic', '-Werror', '-shared', '-fPIC']
    subprocess.run([C, *flags, '-o', made, code, '-lm'], check=True, timeout=PATIENCE)
    return ctypes.CDLL(str(made))


def called(library, name, arguments, outputs):
    results = [np.full(x.shape, np.nan) for x in outputs]
    passed = [
        x.ctypes.data_as(ctypes.c_void_p) if np.ndim(x) else ctypes.c_double(float(x))
        for x in (*arguments, *results)
    ]
    getattr(library, name)(*passed)
    return results


@pytest.mark.parametrize('law', LAWS[:-1])
@pytest.mark.few(3)
def test_exported_c_computes_what_the_kernel_computes(arm, library, law):
    rng = np.random.default_rng(1)
    kernel = arm.kernel(*law.split(':'))
    arguments = [np.ascontiguousarray(rng.normal(size=x.shape)) for x in kernel.trace.inputs]
    arguments[0] = arm.random_configuration(rng)
    found = called(library, 'arm_' + law.replace(':', '_'), arguments, kernel.trace.outputs)
    wanted = kernel(*arguments)
    for x, y in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert_close(x, y, LAW)


def step_arguments(arm, rng):
    controller = ImpedanceController(arm, 'tool0')
    q = arm.random_configuration(rng)
    target = controller.target_at(q + 0.05 * rng.normal(size=7))
    joints = {'posture_stiffness': 5.0, 'max_torque': 30.0, 'viscous': 0.5}
    gains = ImpedanceGains(arm, np.full(6, 200.0), np.full(6, 10.0), joints=joints)
    return [
        *(q, 0.2 * rng.normal(size=7), rng.normal(size=6), target.pose, target.twist),
        *(target.acceleration, target.wrench, target.posture, *gains.arrays),
        *(controller.start(q, energy=3.0), 1e-3),
    ]


def test_the_exported_step_computes_what_the_kernel_computes(arm, library):
    kernel = arm.kernel('impedance_step', 'tool0')
    for seed in range(5):
        arguments = step_arguments(arm, np.random.default_rng(seed))
        found = called(library, 'arm_impedance_step_tool0', arguments, kernel.trace.outputs)
        for x, y in zip(found, kernel(*arguments), strict=True):
            assert_close(x, y, LAW)


@pytest.mark.parametrize('number', [np.nan, np.inf, -np.inf, 1e300])
def test_exported_c_answers_numbers_that_are_none_with_bounded_torques(arm, library, number):
    """Where the kernel in Python refuses NaN, C takes it: nothing of it may reach a motor."""
    kernel = arm.kernel('impedance_step', 'tool0')
    sizes = [np.size(x) for x in step_arguments(arm, np.random.default_rng(0))]
    for which, size in enumerate(sizes):
        for place in {0, size // 2, size - 1}:
            arguments = step_arguments(arm, np.random.default_rng(0))
            arguments[which] = np.array(arguments[which], dtype=float)
            arguments[which].ravel()[place] = number
            before = arm.gravity(arguments[0]) if which > 0 else None
            tau, memory, flags = called(
                library, 'arm_impedance_step_tool0', arguments, kernel.trace.outputs
            )
            assert np.isfinite(tau).all() and np.isfinite(memory).all()
            assert (np.abs(tau) <= np.minimum(arm.effort_limits, np.inf)).all()
            limits_known = which != 12
            assert not limits_known or (np.abs(tau) <= 30.0).all()
            if before is not None and limits_known and which < 14:
                assert np.abs(tau - np.clip(before, -30.0, 30.0)).max() <= 1.0 + 1e-9
            said = {name for name, flag in zip(FLAGS, flags, strict=True) if flag}
            assert said & {'state', 'input', 'memory'}, (which, place, said)


# Each against the quantities that define it.


@examples(15)
@given(SEEDS, SEEDS)
def test_joint_laws_are_their_equations_on_any_tree(tree, seed):
    robot, rng = random_robot(tree % 40, 4), np.random.default_rng(seed)
    q, target = robot.random_configuration(rng), robot.random_configuration(rng)
    v, w, a = rng.normal(size=(3, robot.nv))
    k, d = rng.uniform(0.0, 50.0, (2, robot.nv))
    springs = k * robot.difference(q, target) + d * (w - v)
    tau = joint_impedance(robot, q, v, target, w, k, d)
    assert_close(tau, springs + robot.gravity(q), LAW)
    free = joint_impedance(robot, q, v, target, w, k, d, compensate_gravity=False)
    assert_close(free, springs, LAW)
    tau = inverse_dynamics_control(robot, q, v, target, w, k, d, a)
    assert_close(tau, robot.inverse_dynamics(q, v, a + springs), LAW)


@examples(15)
@given(SEEDS)
def test_hybrid_control_is_its_equation(arm, seed):
    rng = np.random.default_rng(seed)
    q, v = arm.random_configuration(rng), rng.normal(size=7)
    J, M = arm.jacobian(q, 'tool0'), arm.mass_matrix(q)
    if np.linalg.svd(J)[1].min() < 0.02:
        return
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation[:, 0] *= np.linalg.det(rotation)
    free = rng.uniform(size=6) < 0.5
    acceleration, wrench = rng.normal(size=(2, 6))
    Lambda = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    bias = arm.frame_acceleration(q, v, np.zeros(7), 'tool0')
    felt = Lambda @ J @ np.linalg.solve(M, arm.nonlinear_effects(q, v))
    S_M, S_F = selection_matrices(free, rotation)
    expected = J.T @ (Lambda @ (S_M @ acceleration - bias) - S_F @ wrench + felt)
    found = operational_space_torques(arm, q, v, 'tool0', acceleration, wrench, free, rotation)
    assert_close(found, expected, 1e-6)
