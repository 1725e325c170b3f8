# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Links that are pushed apart from obstacles: the motion of a simulated arm without friction."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('coal')

from test_control_compliant_arm import CONTROLLER, HOME, ROBOT, TOOL, settings

from dynamics_ros.collision import Collisions, Obstacle, Repulsion
from dynamics_ros.control import CompliantArm
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.simulation import Actuators, SimulatedRobot

LINKS = Collisions(ROBOT, 'urdf/seven_joint_arm.urdf')
START = ROBOT.forward_kinematics(HOME, TOOL)
DISTANCE, RADIUS = 0.05, 0.1


def ball(ahead):
    """The links beside a ball whose centre lies so far ahead of the tool [m]."""
    pose = np.eye(4)
    pose[:3, 3] = START[:3, 3] + ahead * START[:3, 2]
    return LINKS.with_obstacles({'ball': Obstacle('sphere', RADIUS, pose)})


class Play:
    """An arm that holds its tool, in simulated time."""

    def __init__(self, scene, stiffness, dt, guided=False):
        rest = np.zeros(ROBOT.nv)
        self.scene, self.dt, self.guided = scene, dt, guided
        self.simulated = SimulatedRobot(ROBOT, Actuators.ideal(ROBOT, HOME, TOOL), None, HOME)
        self.arm = CompliantArm(CONTROLLER, settings())
        self.repulsion = Repulsion(scene, stiffness, DISTANCE)
        self.arm.repulsion = self.repulsion.torques
        self.arm.start(HOME, rest)
        self.q, self.v = HOME, rest

    def live(self, seconds, goal=None):
        """Smallest distances from the ball [m] and speeds of the tool [m/s] in a time."""
        found = []
        for step in range(round(seconds / self.dt)):
            sample = self.simulated.sample()
            self.q, self.v = sample.q, sample.v
            state = self.q, self.v, self.dt
            tau = self.arm.guide(*state) if self.guided else self.arm.approach(*state, goal)
            self.simulated.follow_efforts(tau)
            for _ in range(round(self.dt / 1e-3)):
                self.simulated.step()
            if step % 5:
                continue
            near = self.scene.distances(self.q)
            d = [x for x, pair in zip(near.distance, near.pairs, strict=True) if 'ball' in pair]
            speed = np.linalg.norm(ROBOT.frame_velocity(self.q, self.v, TOOL)[:3])
            found.append((min(d, default=np.inf), speed))
        return np.array(found).T


@pytest.mark.parametrize('dt', [1e-3, 4e-3])
def test_a_tool_that_is_sent_into_an_obstacle_rests_before_it(dt):
    goal = START.copy()
    goal[:3, 3] += 0.12 * START[:3, 2]
    scene = ball(0.07 + RADIUS + 0.03)
    distances, _ = Play(scene, 0.0, dt).live(1.5, goal)
    assert distances.min() < -0.01, 'nothing pushes it'
    play = Play(scene, 1500.0, dt)
    distances, speeds = play.live(2.0, goal)
    assert distances.min() > 0.0
    assert distances[-1] < DISTANCE
    assert speeds[-round(0.04 / dt) :].max() < 0.01, 'it rests'
    # A hand has to work against it, which comes back as motion: not more than was done.
    assert speeds.max() < 0.3


@pytest.mark.parametrize('guided', [False, True])
def test_what_is_near_from_the_start_or_appears_does_not_move_the_arm(guided):
    play = Play(LINKS, 1500.0, 2e-3, guided)
    for scene in (LINKS, ball(0.1)):
        play.scene = play.repulsion.collisions = scene
        _, speeds = play.live(0.3)
        assert speeds.max() < 0.01
    # An obstacle that jumps is one that has moved: slower than what hurts.
    play.scene = play.repulsion.collisions = ball(0.05)
    _, speeds = play.live(0.3)
    assert 0.05 < speeds.max() < 0.5


def test_a_guiding_hand_feels_an_obstacle_and_is_not_pulled_to_it():
    play = Play(ball(0.25), 1500.0, 2e-3, guided=True)
    play.simulated.push(TOOL, np.append(10.0 * START[:3, 2], np.zeros(3)), 1.5)
    pressed, fastest = play.live(1.5)
    assert 0.0 < pressed.min() < DISTANCE
    released, speeds = play.live(1.0)
    assert released[-1] > pressed[-1]
    assert speeds.max() < max(0.2, fastest.max())
    assert speeds[-1] < 0.5 * speeds.max()


@pytest.mark.parametrize(
    ('stiffness', 'distance', 'message'),
    [(-1.0, 0.05, 'stiffness'), (1e3, 0.0, 'distance'), (1e4, 0.05, 'up to 2 J')],
)
def test_values_that_are_none_or_store_too_much_are_refused(stiffness, distance, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Repulsion(LINKS, stiffness, distance)


def test_many_springs_together_store_no_more_than_one_may():
    def pressed(count):
        def scene(ahead):
            balls = dict(ball(ahead).obstacles)
            return LINKS.with_obstacles({f'ball {k}': balls['ball'] for k in range(count)})

        rest = np.zeros(ROBOT.nv)
        repulsion = Repulsion(scene(0.4), 1500.0, DISTANCE)
        assert not repulsion.torques(HOME, rest, 1e-3).any()
        repulsion.collisions = scene(0.11)
        return np.linalg.norm(repulsion.torques(HOME, rest, 1e-3))

    assert pressed(1) > 1.0
    assert pressed(10) < 1.3 * pressed(1)
