# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How sure the place of a contact is where the joints have friction that nobody has stated."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.robots import robots_folder, urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import ContactLocator, links_without_surface, sample_surfaces
from dynamics_ros.estimation.contact.occlusion import PosedSurfaces
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.model.collision_geometry import read_collision_geometry

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
ARMS = {
    'ur5': (urdf_path('ur5'), {}),
    'panda': (urdf_path('panda'), {'panda_finger_joint1': 0.0}),
    'sample': (SAMPLE, {}),
}
PUSHES = 16


@functools.cache
def arm(name):
    """The robot, its surfaces and what locates contacts on them."""
    path, locked = ARMS[name]
    robot = Robot.from_urdf(path, locked_joints=locked)
    geometry = read_collision_geometry(str(path))
    surfaces = sample_surfaces(geometry.triangles)
    noise = np.hypot(by_effort_limit(robot, 0.001), 0.01)
    unseen = links_without_surface(robot, surfaces, geometry.unread)
    locator = ContactLocator(robot, surfaces, without_surface=unseen, noise=noise)
    return robot, surfaces, locator


def places(name, coulomb):
    """(n, 3) probability, whether the link is right, misfit: pushes of 5 to 60 N from outside."""
    robot, surfaces, locator = arm(name)
    links = [link for link in locator.links if link in surfaces]
    rng, rows = np.random.default_rng(1), []
    while len(rows) < PUSHES:
        q, link = robot.random_configuration(rng), int(rng.integers(len(links)))
        pieces = surfaces[links[link]].fine
        piece = rng.choice(len(pieces.areas), p=pieces.areas / pieces.areas.sum())
        point, normal = pieces.points[piece], pieces.normals[piece]
        tangent = np.cross(normal, rng.normal(size=3))
        force = 0.3 * rng.uniform() * tangent / np.linalg.norm(tangent) - normal
        force *= np.exp(rng.uniform(*np.log([5.0, 60.0])))
        posed = PosedSurfaces(robot, {x.name: x.surface.fine for x in locator._links}, q)
        if posed.hide(link, point[np.newaxis], force[np.newaxis])[0]:
            continue
        wrench = np.concatenate([force, np.cross(point, force)])
        torque = robot.jacobian(q, links[link], 'local').T @ wrench
        v = rng.uniform(-0.7, 0.7, robot.nv) * (rng.random(robot.nv) < 0.7)
        dry = coulomb and rng.uniform(*coulomb, robot.nv)
        viscous = coulomb and rng.uniform(0.0, 2.0, robot.nv)
        # At rest dry friction has any size up to that; sensors behind the gear feel none of it.
        still = rng.uniform(-1.0, 1.0, robot.nv) * (rng.random() < 0.5)
        felt = torque - dry * np.where(v == 0.0, still, np.sign(v)) - viscous * v
        felt += 0.01 * rng.normal(size=robot.nv)
        place = locator.locate(q, felt, None, v)
        rows.append((place.probability, place.link == links[link], place.misfit))
    return np.array(rows)


@pytest.fixture(scope='module', autouse=True)
def meshes():
    """The meshes of example-robot-data are a package in the sense of package://."""
    with pytest.MonkeyPatch.context() as patched:
        folder = str(robots_folder().parents[2])
        paths = filter(None, [folder, os.environ.get('AMENT_PREFIX_PATH', '')])
        patched.setenv('AMENT_PREFIX_PATH', os.pathsep.join(paths))
        yield


def test_unknown_friction_makes_places_uncertain_and_the_misfit_large():
    rows = np.concatenate([places(name, (1.0, 3.0)) for name in ARMS])
    probability, right, misfit = rows.T
    sure = probability >= 0.9
    assert not sure.any() or right[sure].mean() >= 0.9
    # Nor are the others claimed more often than they are true.
    assert probability.mean() < right.mean() + 0.15
    assert np.median(misfit) > 5.0


def test_without_friction_what_is_sure_is_right_and_much_is_sure():
    probability, right, misfit = np.concatenate([places(name, 0.0) for name in ARMS]).T
    sure = probability >= 0.9
    assert sure.mean() > 0.25
    assert right[sure].mean() >= 0.9
    assert np.median(misfit) < 1.0
