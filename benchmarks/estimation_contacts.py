# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes on every link of panda and xarm7: identified link, and error of the contact point.

MuJoCo provides the true values: the arm stands under joint control, and a force of 10 N acts at a
random surface point that can be reached from outside, inclined to the normal by friction of up to
0.3. The reported torques pass the observer of contact_node with default parameters.

Whether a push is observable follows from the model and the push only: three joints or more have to
move the link, and the last of them must have a torque above its contact threshold. Otherwise a push
on an adjacent link has the same torques. A point counts if the estimate states a deviation below 3
cm; other rows give the share of such points, and the median error of all points.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.estimation_arms import CENTRES, NOISE, NONE, Noise, Setting, state_of
from benchmarks.estimation_world import Faults, Motion, PushedArm
from benchmarks.reach import is_reachable
from benchmarks.records import Goal, Record
from benchmarks.robots import robots_folder, urdf_path
from dynamics_ros.estimation import ContactLocation, ContactLocator, Surface, sample_surfaces
from dynamics_ros.estimation.contact_estimators import SIGMAS
from dynamics_ros.model.collision_geometry import read_collision_geometry

Array = NDArray[np.float64]

PUSH, FRICTION = 10.0, 0.3

MIN_JOINTS = 3
MAX_DEVIATION = 0.03
"""Deviation below which a point counts as known [m]."""

BEGIN, HOLD = 0.1, 0.35
"""Start of a push, and time of its evaluation, more than ten time constants later [s]."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the contacts."""
    for name in CENTRES:
        if options.robot in name:
            for noise, words in ((NONE, 'without noise'), (NOISE, 'with noise')):
                yield from on_links(name, noise, words, 2 if options.quick else 25)


class _PushedArm(PushedArm):
    """A simulated arm that is pushed at any point of any link."""

    body_name = ''
    point: Array = np.zeros(3)

    def _apply(self, force: Array) -> None:
        """Apply the force (in link axes) at the point of the link."""
        if force.any():
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            body = self.model.body(self.body_name).id
            R, p = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
            mujoco.mj_applyFT(
                self.model,
                self.data,
                R @ force,
                np.zeros(3),
                p + R @ self.point,
                body,
                self.data.qfrc_applied,
            )


@dataclass(frozen=True)
class _Outcome:
    """Result of a push.

    Attributes:
        link: pushed link.
        observable: whether the push is observable according to the model.
        right: whether the estimated link is right.
        error: error of the point [m]; NaN on a wrong link.
        known: whether the estimate states that the point is known.
    """

    link: str
    observable: bool
    right: bool
    error: float
    known: bool


def on_links(name: str, noise: Noise, words: str, pushes: int) -> Iterator[Record]:
    """Records of pushes at random points of each link; ``words`` name the case."""
    # The meshes of example-robot-data are found as an ament package by package:// URLs.
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(
        filter(None, [str(robots_folder().parents[2]), os.environ.get('AMENT_PREFIX_PATH', '')])
    )
    setting = Setting(name)
    setting.arm = arm = _PushedArm(setting.subject, Faults())
    geometry = read_collision_geometry(urdf_path(name))
    if geometry.problems:
        raise RuntimeError(geometry.problems[0])
    robot = arm.robot
    moved = {
        link: triangles
        for link, triangles in geometry.triangles.items()
        if len(robot.model.ancestors(robot.model.frame(link).body)) > 0
    }
    surfaces = sample_surfaces(moved)
    rng = np.random.default_rng(4)
    outcomes = []
    for link in moved:
        for _ in range(pushes):
            outcomes.append(_push(setting, link, geometry.triangles, surfaces, noise, rng))
    observable = [x for x in outcomes if x.observable]
    right = [x for x in observable if x.right]
    known = [x.error for x in right if x.known]
    case = f'contact, {words}'

    def record(what: str, value: float, unit: str, goal: Goal | None = None) -> Record:
        return Record('estimation', f'{case}: {what}', name, value, unit, goal=goal)

    yield record('observable pushes', 100.0 * len(observable) / len(outcomes), '%')
    share = 100.0 * len(right) / len(observable)
    yield record('right link', share, '%', Goal(95.0, of='value', at_least=True))
    every = 100.0 * float(np.mean([x.right for x in outcomes]))
    yield record('right link, of all pushes', every, '%')
    yield record('points known', 100.0 * len(known) / len(right), '%')
    yield record('point off, median', 1e3 * float(np.median(known)), 'mm', Goal(30.0, of='value'))
    anywhere = float(np.median([x.error for x in right]))
    yield record('point off, known or not', 1e3 * anywhere, 'mm')


def _push(
    setting: Setting,
    link: str,
    triangles: dict[str, Array],
    surfaces: dict[str, Surface],
    noise: Noise,
    rng: np.random.Generator,
) -> _Outcome:
    """One push at a random point in a random posture."""
    arm = setting.arm
    assert isinstance(arm, _PushedArm)
    robot = arm.robot
    while True:
        low, high = np.maximum(robot.lower_limits, -3.0), np.minimum(robot.upper_limits, 3.0)
        q = rng.uniform(low, high)
        point, normal = _random_point(triangles[link], rng)
        tangent = np.cross(normal, rng.normal(size=3))
        tangent *= rng.uniform(0.0, FRICTION) / np.linalg.norm(tangent)
        force = PUSH * (tangent - normal) / np.linalg.norm(tangent - normal)
        if is_reachable(robot, q, link, point, -force / PUSH, triangles):
            break
    arm.body_name, arm.point = link, point
    still = Motion(q, np.zeros(robot.nv), np.ones(robot.nv))
    pipeline = setting.pipeline(noise)
    for sample in arm.run(HOLD, still, lambda t: force if t >= BEGIN else np.zeros(3)):
        state = state_of(sample, noise.of(sample, rng))
        external = pipeline.update(state)
    assert external is not None
    thresholds = pipeline.detector.thresholds[0]
    deviations = thresholds / SIGMAS
    locator = ContactLocator(robot, surfaces, noise=deviations)
    found = locator.locate(state.q, external.values)
    assert found is not None
    # True torques of the push, by the model.
    body = robot.model.frame(link).body
    own = robot.model.joints[body].v_indices[0]
    truth = robot.jacobian(q, link, 'local').T @ np.concatenate([force, np.cross(point, force)])
    enough = len(robot.model.ancestors(body)) >= MIN_JOINTS
    return _Outcome(
        link=link,
        observable=enough and bool(abs(truth[own]) >= thresholds[own]),
        right=found.link == link,
        error=_error(found, link, point),
        known=found.deviation < MAX_DEVIATION,
    )


def _error(found: ContactLocation, link: str, point: Array) -> float:
    return float(np.linalg.norm(found.point - point)) if found.link == link else np.nan


def _random_point(triangles: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A random surface point, uniform by area, and the outward normal there."""
    doubled = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(doubled, axis=1)
    index = rng.choice(len(areas), p=areas / areas.sum())
    a, b = rng.uniform(size=2)
    if a + b > 1.0:
        a, b = 1.0 - a, 1.0 - b
    corner, first, second = triangles[index]
    return corner + a * (first - corner) + b * (second - corner), doubled[index] / areas[index]
