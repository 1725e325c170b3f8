# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robots that tests of control share."""

from __future__ import annotations

import pytest
from planar_arms import planar_arm

from dynamics_ros import Robot
from dynamics_ros.control import ImpedanceController


@pytest.fixture(scope='module')
def panda():
    from benchmarks.robots import urdf_path  # files that need its peers are left out without them

    return Robot.from_urdf(urdf_path('panda'), locked_joints={'panda_finger_joint1': 0.02})


@pytest.fixture(scope='module')
def controller(panda):
    panda.kernel('impedance_step', 'panda_hand').wait()
    return ImpedanceController(panda, 'panda_hand')


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(planar_arm((0.5, 0.4, 0.3)), backend='python')


@pytest.fixture(scope='module')
def anymal():
    from benchmarks.robots import urdf_path

    return Robot.from_urdf(urdf_path('anymal'), 'floating', backend='python')
