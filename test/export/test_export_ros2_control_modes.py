# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stop, guiding and floating of a generated package are those of the library."""

from __future__ import annotations

import numpy as np
import pytest
from test_export_ros2_control import (
    call,
    compiled,  # noqa: F401
    gains_of,
    memory_of,
    package,  # noqa: F401
    pointer,
    structure,
)
from tolerances import LAW

from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    Reaction,
    ReactionSettings,
)
from dynamics_ros.control.compliance.compliant_arm import AT_REST
from dynamics_ros.control.compliance.motion_check import velocity_limits
from dynamics_ros.export.ros2_control import numbers

DT = 0.001


class Both:
    """The arm of the library and the functions of C, with the same settings and samples."""

    def __init__(self, compiled, blending_time=1e-6):  # noqa: F811
        robot, tool, self.c = compiled.robot, compiled.tool, compiled.c
        self.robot, self.rng = robot, np.random.default_rng(7)
        self.q = numbers.start(robot, tool)
        self.v = 0.2 * self.rng.normal(size=robot.nv)
        self.gains, self.memory = gains_of(robot.nv), memory_of(robot.nv)
        call(self.c.my_arm_default_gains, self.gains)
        self.c.my_arm_impedance_start(pointer(self.memory), pointer(self.q), None)
        n = robot.nv
        joints = {
            'posture_stiffness': numbers.POSTURE_STIFFNESS,
            'posture_damping': numbers.POSTURE_DAMPING,
            'margin': numbers.MARGIN,
            'limit_stiffness': numbers.LIMIT_STIFFNESS,
        }
        self.guiding = Guiding(np.repeat(numbers.GUIDING_DAMPING, 3), *numbers.GUIDING_SPEEDS)
        stiffness = np.diag(numbers.STIFFNESS)
        self.gains.blending_time = blending_time
        settings = ArmSettings(
            Compliance(stiffness), self.guiding, joints=joints, blending_time=blending_time
        )
        self.arm = CompliantArm(ImpedanceController(robot, tool), settings)
        self.arm.start(self.q, np.zeros(n))
        self.tau, self.flags = np.empty(n), np.empty(8)

    def compare(self, count, by_library, by_c):
        for _ in range(count):
            self.q = self.robot.integrate(self.q, DT * self.v)
            self.v = 0.98 * self.v + 0.01 * self.rng.normal(size=self.robot.nv)
            wanted = by_library(self.q, self.v, DT)
            by_c(self.q, self.v)
            scale = max(1.0, np.abs(wanted).max())
            assert np.abs(self.tau - wanted).max() <= 1e3 * LAW * scale

    def results(self, q, v):
        return q, v, DT, self.tau, self.flags


def test_a_stop_is_that_of_the_library(compiled):  # noqa: F811
    both = Both(compiled)

    def brake(q, v):
        call(both.c.my_arm_brake_step, both.memory, both.gains, *both.results(q, v))

    both.compare(100, both.arm.brake, brake)


def test_guiding_is_that_of_the_library(compiled):  # noqa: F811
    both = Both(compiled)
    guiding = structure(damping=6, speeds=2)
    call(both.c.my_arm_default_guiding, guiding)
    assert np.array_equal(guiding.damping, both.guiding.damping)

    def guide(q, v):
        call(both.c.my_arm_guide_step, both.memory, both.gains, guiding, *both.results(q, v))

    both.compare(60, both.arm.guide, guide)


def test_floating_is_that_of_the_library(compiled):  # noqa: F811
    both = Both(compiled)
    settings = ReactionSettings('float', duration=5.0)
    reaction = Reaction(settings, both.arm)

    def floating(q, v):
        call(
            both.c.my_arm_float_step,
            *(both.memory, both.gains, settings.damping, *both.results(q, v)),
        )

    both.compare(60, reaction.step, floating)


def test_an_arm_without_states_brakes_as_that_of_the_library(compiled):  # noqa: F811
    both = Both(compiled)
    none = np.full(both.robot.nv, np.nan)
    steps = []

    def by_library(q, v, dt):
        steps.append(len(steps) % 7 < 4)
        return both.arm.brake(q, v, dt) if steps[-1] else both.arm.reckon(dt)

    def brake(q, v):
        q, v = (q, v) if steps[-1] else (none, none)
        call(both.c.my_arm_brake_step, both.memory, both.gains, *both.results(q, v))
        assert both.flags[0] == (not steps[-1])

    both.compare(100, by_library, brake)


def test_a_motion_that_runs_away_is_told_until_it_is_caught(compiled):  # noqa: F811
    both = Both(compiled)
    limits = velocity_limits(both.robot)
    assert np.array_equal(both.gains.velocity_limits, limits)
    runs_away = both.c.my_arm_runs_away

    def told(share):
        v = share * limits
        return runs_away(pointer(both.memory), pointer(both.gains), pointer(v))

    assert [told(x) for x in (1.4, -1.6, 0.5, 0.11, 0.09, 1.4)] == [0, 1, 1, 1, 0, 0]
    for share, rests in ((0.5, 1), (2.0, 0), (np.nan, 0)):
        v = np.full(both.robot.nv, share * AT_REST)
        assert both.c.my_arm_at_rest(pointer(v)) == rests


@pytest.mark.parametrize('step', ['brake', 'guide', 'float'])
@pytest.mark.parametrize('where', ['q', 'v', 'interval'])
@pytest.mark.parametrize('number', [np.nan, np.inf, 1e300])
@pytest.mark.few(12)
def test_numbers_that_are_none_leave_torques_within_limits(compiled, step, where, number):  # noqa: F811
    both = Both(compiled)
    n = both.robot.nv
    guiding = structure(damping=6, speeds=2)
    call(both.c.my_arm_default_guiding, guiding)
    more = {
        'brake': (),
        'guide': (guiding,),
        'float': (5.0,),
    }[step]
    function = getattr(both.c, f'my_arm_{step}_step')

    def run(broken):
        inputs = {'q': both.q.copy(), 'v': np.zeros(n), 'interval': DT}
        if broken and where == 'interval':
            inputs['interval'] = float(number)
        elif broken:
            inputs[where][0] = number
        before = np.array(both.memory.memory)[n : 2 * n]
        call(function, both.memory, both.gains, *more, *inputs.values(), both.tau, both.flags)
        assert np.isfinite(both.tau).all()
        assert (np.abs(both.tau) <= both.robot.effort_limits + 1e-9).all()
        assert np.abs(both.tau - before).max() <= 1000.0 * 0.05 + 1e-9
        return both.tau.copy()

    run(False)
    run(True)
    for _ in range(200):
        after = run(False)
    if step == 'brake':
        assert np.abs(after - both.robot.gravity(both.q)).max() < 0.5
