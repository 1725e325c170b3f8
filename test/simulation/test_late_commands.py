# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm whose commands come late in bursts is not felt as touched, whatever is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros.estimation import (
    ContactPipeline,
    ContactState,
    EffortModel,
    MomentumObserver,
)
from dynamics_ros.estimation.contact_settings import (
    ContactEffortSettings,
    ContactSettings,
    ThresholdSettings,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.simulation import Assembly

URDF = (Path(__file__).parents[2] / 'examples' / 'ur5e.urdf').read_text(encoding='utf-8')
TOOL = 'tool0'

EVERY = 2
"""Steps of 1 ms between two joint states."""

MAX_ALLOWANCE, TICK, QUEUE = 50, 5, 5
"""Steps of the simulator in one go after a stall; ms between two commands; commands that wait."""

STALL = 200
"""ms that the simulator's process stands still while commands are sent."""

BEGIN, SPEED = 300, np.array([0.0, -0.1, 0.2, -0.1, 0.0, 0.0])
"""ms, rad/s: a tool that is led upward."""

SETTINGS = ContactSettings(
    frames=(TOOL,),
    effort=ContactEffortSettings(sampling='interval'),
    thresholds=ThresholdSettings(contact=(8.0, 8.0, 6.0, 3.0, 3.0, 3.0)),
)
"""Of config/ur5e.yaml and config/simulated_robot.yaml."""


def arm():
    simulated, _, _ = Assembly(moving=False).of(URDF)
    return simulated


def led(simulated, stalled=(), push=None):
    """Samples, every 2 ms, of an arm that is led by commands, a simulator that stalls at times."""
    names, target = simulated.robot.joint_names, None
    waiting = []
    for now in range(1200):
        if now >= BEGIN and now % TICK == 0:
            target = (simulated.joints if target is None else target) + TICK * 1e-3 * SPEED
            waiting = [*waiting, target][-QUEUE:]
        if any(begin <= now < begin + STALL for begin in stalled):
            continue
        while simulated.time < (now + 1) * 10**6:
            if push is not None and simulated.time == push * 10**6:
                simulated.push(TOOL, (0.0, 60.0, 0.0, 0.0, 0.0, 0.0), 1.0)
            simulated.step()
            if simulated.time % (EVERY * 10**6) == 0:
                yield simulated.sample()
            if simulated.time % (MAX_ALLOWANCE * 10**6) == 0 or simulated.time == (now + 1) * 10**6:
                for q in waiting:
                    simulated.follow_positions(dict(zip(names, q, strict=True)), TICK * 1e-3)
                waiting = []


def touched(simulated, samples, lacking=()):
    """Times at which a contact is reported [ns]."""
    pipeline = ContactPipeline(simulated.robot, SETTINGS, TOOL)
    pipeline.compile(wait=True)
    nothing = np.zeros(simulated.robot.nv, dtype=bool)
    found = []
    for one in samples:
        state = RobotState(10**9 + one.time, one.q, one.v, one.effort, lacking, (), (), nothing)
        external = pipeline.update(state)
        if external is not None and external.report.state is not ContactState.NONE:
            found.append(one.time)
    return found


def test_efforts_of_all_steps_between_two_samples_are_in_the_momentum():
    simulated = arm()
    model = EffortModel.from_robot(simulated.robot)
    observer = MomentumObserver(simulated.robot, effort_model=model, effort_sampling='interval')
    felt, pulled = [], []
    for one in led(simulated, stalled=(600,)):
        felt.append(np.abs(observer.update(one.time, one.q, one.v, one.effort)).max())
        pulled.append(np.abs(one.effort - simulated.robot.gravity(one.q)).max())
    # The controllers pull by hundreds of Nm to where the commands of the stall lead.
    assert max(pulled) > 100.0
    assert max(felt) < 0.01 * max(pulled)


@pytest.mark.parametrize('lacking', [(), ('wrist_3_joint',)])
def test_commands_that_come_late_are_no_contact(lacking):
    simulated = arm()
    assert touched(simulated, led(simulated, stalled=(600, 900)), lacking) == []


def test_a_push_that_begins_while_states_are_lost_is_felt_after():
    simulated = arm()
    came = (one for one in led(simulated, push=700) if not 690 * 10**6 <= one.time < 740 * 10**6)
    assert 740 * 10**6 <= touched(simulated, came)[0] < 760 * 10**6
