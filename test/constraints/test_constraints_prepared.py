# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is gathered of contacts once is never that of other contacts."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from laws import assert_close
from random_robots import random_robot, random_state
from tolerances import LAW

from dynamics_ros.constraints import Contact, constraint_jacobian, jacobian


@pytest.fixture(scope='module')
def standing():
    robot = random_robot(3, 3, 'floating')
    return robot, random_state(robot, 3)


def rows_of(robot, s, contacts):
    """Accelerations of the rows of contacts under torques from rest: zero where they hold."""
    v = np.zeros(robot.nv)
    a, _ = robot.constrained_forward_dynamics(s.q, v, s.a, contacts)
    return constraint_jacobian(robot, s.q, contacts) @ a


def test_contacts_made_anew_are_not_taken_for_those_that_are_gone(standing, monkeypatch):
    monkeypatch.setattr(jacobian, 'MAX_CACHED', 4)
    robot, s = standing
    frame = robot.body_names[-1]
    for k in range(20):  # the memory of one is the next one's
        held = rows_of(robot, s, [Contact(frame, point=(0.1 * k, 0.0, -0.05 * k))])
        assert_close(held, np.zeros(3), LAW)
        assert len(jacobian._prepared) <= 4


@pytest.mark.parametrize('kind', [list, deque])
def test_a_list_of_contacts_may_change(standing, kind):
    robot, s = standing
    frame = robot.body_names[-1]
    contacts = kind([Contact(frame)])
    assert rows_of(robot, s, contacts).shape == (3,)
    contacts[0] = Contact(frame, point=(0.3, 0.0, 0.0))
    assert_close(rows_of(robot, s, contacts), np.zeros(3), LAW)
    contacts[0] = Contact(frame, 'normal')
    assert_close(rows_of(robot, s, contacts), np.zeros(1), LAW)
