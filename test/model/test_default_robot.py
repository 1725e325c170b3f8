# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The default robot, urdf/seven_joint_arm.urdf."""

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros.model.urdf import read_urdf, rotation_of_rpy

DEFAULT_ROBOT = Path(__file__).resolve().parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def arm():
    return read_urdf(DEFAULT_ROBOT)


@pytest.fixture(scope='module')
def shapes():
    """The collision shapes of each link: (mass, centre, inertia about it) at 850 kg/m^3."""
    return {
        element.get('name'): [solid(shape) for shape in element.iter('collision')]
        for element in ElementTree.parse(DEFAULT_ROBOT).getroot().iter('link')
    }


class TestDefaultRobot:
    def test_alternates_roll_and_pitch_joints_with_all_limits_and_friction(self, arm):
        moving = [found for found in arm.joints if found.type == 'revolute']
        roll, pitch = (0, 0, 1), (0, 1, 0)
        assert [found.axis for found in moving] == [roll, pitch, roll, pitch, roll, pitch, roll]
        for found in moving:
            limits = found.limits
            assert -math.pi < limits.lower < 0 < limits.upper < math.pi
            assert max(limits.velocity, limits.effort) < math.inf
            assert min(found.damping, found.friction) > 0

    def test_reaches_850_mm_from_shoulder_to_flange_and_weighs_20_kg(self, arm):
        heights = [found.origin.translation[2] for found in arm.joints[3:9]]
        assert sum(heights) == pytest.approx(0.85)
        assert sum(found.inertial.mass for found in arm.links) == pytest.approx(20, abs=0.5)

    def test_gives_a_mass_and_an_inertia_that_can_exist_to_every_moving_body(self, arm, caplog):
        read_urdf(DEFAULT_ROBOT)
        assert not caplog.records
        massless = [found.name for found in arm.links if found.inertial.mass == 0]
        assert massless == ['base_link', 'tool0']

    def test_has_the_inertials_of_its_shapes(self, arm, shapes):
        for found in arm.links[1:-1]:
            parts = shapes[found.name]
            mass = sum(m for m, _, _ in parts)
            center = sum(m * c for m, c, _ in parts) / mass
            inertia = sum(
                i + m * ((c - center) @ (c - center) * np.eye(3) - np.outer(c - center, c - center))
                for m, c, i in parts
            )
            given = found.inertial
            # The file says so: a gram, a tenth of a millimetre, four digits.
            assert given.mass == pytest.approx(mass, abs=0.5e-3)
            assert np.allclose(given.center_of_mass, center, rtol=0, atol=0.5e-4)
            assert np.allclose(given.inertia, inertia, rtol=5e-4, atol=1e-12)


def solid(collision):
    """Mass, centre and inertia about it of a shape, solid at the density that the file states."""
    origin, (shape,) = collision.find('origin'), collision.find('geometry')
    if shape.tag == 'box':
        x, y, z = size = [float(word) for word in shape.get('size').split()]
        volume = math.prod(size)
        moments = np.array([y * y + z * z, z * z + x * x, x * x + y * y]) / 12
    elif shape.tag == 'sphere':
        r = float(shape.get('radius'))
        volume = 4 / 3 * math.pi * r**3
        moments = np.full(3, 0.4 * r * r)
    else:
        r, length = float(shape.get('radius')), float(shape.get('length'))
        volume = math.pi * r * r * length
        across = (3 * r * r + length * length) / 12
        moments = np.array([across, across, r * r / 2])
    mass = 850 * volume
    rotation = np.array(rotation_of_rpy(*map(float, origin.get('rpy', '0 0 0').split())))
    center = np.array([float(word) for word in origin.get('xyz').split()])
    return mass, center, mass * rotation @ np.diag(moments) @ rotation.T
