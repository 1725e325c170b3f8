# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mutated descriptions: each is refused with a reason or becomes the robot that it describes.

`--thorough` takes many more of them than a run of the whole suite does.
"""

from __future__ import annotations

import math
import random
import re
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from mutations import mutated_text
from patience import times
from random_robots import random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError

HANG = 1.0
"""Seconds of processor time after which a description counts as one that hangs."""

DESCRIPTIONS, FUZZED_DESCRIPTIONS = 300, 20_000

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

COMPARED = 10
"""One in so many of the accepted descriptions becomes a robot whose dynamics are computed."""


def outcome(text: str) -> Robot | DynamicsRosError:
    try:
        # With a root that moves, all links count.
        return Robot.from_urdf(text, 'floating', backend='python')
    except DynamicsRosError as refusal:
        return refusal


def elements(text: str) -> ET.Element:
    # What the text says of its encoding was about bytes, which it is no more; as for blanks before.
    # Comments with -- in them are understood, which this parser refuses.
    text = re.sub('<!--.*?-->', '', text, flags=re.DOTALL).strip()
    return ET.fromstring(text.encode(), ET.XMLParser(encoding='utf-8'))


def described_mass(text: str) -> float:
    """The mass of all links, read by other means."""
    robot = elements(text)
    masses = [link.find('inertial/mass') for link in robot.findall('link')]
    return math.fsum(float(mass.get('value', 'nan')) for mass in masses if mass is not None)


def described_motions(text: str) -> int:
    """Degrees of freedom of all joints that follow no other, read by other means."""
    freedoms = {'fixed': 0, 'floating': 6, 'planar': 3}
    robot = elements(text)
    return sum(
        freedoms.get(joint.get('type', ''), 1)
        for joint in robot.findall('joint')
        if joint.find('mimic') is None
    )


@pytest.fixture
def sources() -> list[str]:
    """What is mutated: the packaged arm and trees with joints of every kind."""
    return [ARM.read_text(), *(random_urdf(seed, joints=3) for seed in range(6))]


def test_a_description_is_refused_with_a_reason_or_understood(sources: list[str]) -> None:
    count = times(DESCRIPTIONS, FUZZED_DESCRIPTIONS)
    accepted = 0
    for seed in range(count):
        chance = random.Random(seed)
        text = mutated_text(chance.choice(sources), chance)
        began = time.thread_time()
        result = outcome(text)
        elapsed = time.thread_time() - began
        assert elapsed < HANG, f'seed {seed}: {elapsed:.2f} s'
        if isinstance(result, DynamicsRosError):
            assert len(str(result)) > 10, f'seed {seed}: refused without a reason'
            assert str(result).isprintable(), f'seed {seed}: {str(result)!r}'
            continue
        accepted += 1
        assert result.total_mass == pytest.approx(described_mass(text)), f'seed {seed}'
        assert result.nv == 6 + described_motions(text), f'seed {seed}'
        if accepted % COMPARED == 0:
            check_dynamics(result, seed)
    # Both ways have to be tried: most mutations break a description, some do not.
    assert 0.05 * count < accepted < 0.95 * count


def check_dynamics(robot: Robot, seed: int) -> None:
    """Torques are finite and the work of gravity is the loss of potential energy."""
    rng = np.random.default_rng(seed)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    try:
        tau = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
        gravity = robot.gravity(q)
    except DynamicsRosError:
        return
    assert np.isfinite(tau).all(), f'seed {seed}'
    step = 1e-6
    ahead, behind = robot.integrate(q, step * v), robot.integrate(q, -step * v)
    gain = (robot.potential_energy(ahead) - robot.potential_energy(behind)) / (2.0 * step)
    # Central differences lose half of the digits to cancellation, of the largest term.
    scale = max(1.0, abs(robot.potential_energy(q)), float(np.abs(gravity).max(initial=0.0)))
    assert gain == pytest.approx(float(gravity @ v), rel=1e-4, abs=1e-5 * scale), f'seed {seed}'
