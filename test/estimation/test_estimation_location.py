# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Link and point of a contact: from torques of pushes on surfaces."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from arm import ARM, ROBOT
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

from benchmarks.robots import robots_folder, urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation import ContactLocator, links_without_surface, sample_surfaces
from dynamics_ros.estimation.contact.location import REACH, SensorWrench, occluded
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.model.collision_geometry import read_collision_geometry

LINKS = 7
SIZE = np.array([0.08, 0.1, 0.3])


def arm(joints=LINKS):
    """Boxes one on another, turned about x, y and z by turns; the last one turns about z too."""
    text = '<robot name="boxes"><link name="base"/>'
    for k in range(1, joints + 1):
        axis = ('0 0 1', '0 1 0', '1 0 0')[(k - 1) % 3]
        text += f"""
        <link name="link_{k}">
          <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
            iyz="0"/></inertial>
          <collision><origin xyz="0.02 0 0.16"/>
            <geometry><box size="{SIZE[0]} {SIZE[1]} {SIZE[2]}"/></geometry></collision>
        </link>
        <joint name="joint_{k}" type="revolute">
          <parent link="{f'link_{k - 1}' if k > 1 else 'base'}"/><child link="link_{k}"/>
          <origin xyz="0 0 {0.32 if k > 1 else 0}"/><axis xyz="{axis}"/>
          <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/>
        </joint>"""
    return text + '</robot>'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(arm())


@pytest.fixture(scope='module')
def locator(robot):
    return ContactLocator(robot, surfaces(), noise=0.01)


def surfaces():
    return sample_surfaces(read_collision_geometry(arm()).triangles)


def push(rng, tilt=0.0, most=10.0):
    """A point on one of the four long sides of a box, and a force into it, in the link's frame."""
    side, sign = rng.integers(2), rng.choice([-1.0, 1.0])
    point = rng.uniform(-0.45, 0.45, 3) * SIZE
    point[side] = sign * 0.5 * SIZE[side]
    point += (0.02, 0.0, 0.16)
    normal = np.zeros(3)
    normal[side] = sign
    tangent = np.cross(normal, rng.normal(size=3))
    force = -normal + tilt * tangent / np.linalg.norm(tangent)
    return point, most * force / np.linalg.norm(force), normal


def torque(robot, q, link, point, force):
    return robot.jacobian(q, link, 'local').T @ np.concatenate([force, np.cross(point, force)])


def felt(robot, link, tau):
    """Whether the joint that moves the link feels the push well."""
    return abs(tau[robot.body_names.index(link)]) > 0.2


@pytest.mark.parametrize('seed', range(5))
def test_behind_six_joints_the_point_is_found_where_the_line_of_action_enters(robot, locator, seed):
    rng = np.random.default_rng(seed)
    found = 0
    while found < 8:
        q = robot.random_configuration(rng)
        link = f'link_{rng.integers(6, 8)}'
        # As oblique as friction allows: nothing here relies on the push being normal.
        point, force, normal = push(rng, tilt=0.3)
        tau = torque(robot, q, link, point, force)
        if not felt(robot, link, tau):
            continue
        found += 1
        location = locator.locate(q, tau)
        assert location.link == link
        assert location.probability > 0.5
        assert sum(location.probabilities.values()) == pytest.approx(1.0)
        if location.deviation < 0.02:
            # A few times the edge of a piece, 8 mm.
            assert np.linalg.norm(location.point - point) < 0.02
            np.testing.assert_allclose(location.normal, normal, atol=1e-9)
            # Torques decide on the force to their noise over a lever of some 0.1 m.
            np.testing.assert_allclose(location.force, force, atol=0.8)


def test_the_deviation_covers_the_error(robot, locator):
    rng = np.random.default_rng(6)
    ratios = []
    while len(ratios) < 60:
        q = robot.random_configuration(rng)
        point, force, _ = push(rng, tilt=0.2)
        tau = torque(robot, q, 'link_5', point, force) + 0.01 * rng.normal(size=robot.nv)
        location = locator.locate(q, tau)
        if location.link == 'link_5':
            ratios.append(np.linalg.norm(location.point - point) / location.deviation)
    # Of a Gaussian in a plane 86 % are within two deviations of one axis.
    assert np.mean(np.array(ratios) < 2.0) > 0.8


def test_a_push_is_never_taken_for_a_pull(robot, locator):
    """The line of action enters a box on one side and leaves it on the other."""
    q = robot.neutral() + 0.5
    # At the side: a height above the axes of the joints that a push along y turns.
    for sign in (-1.0, 1.0):
        point = np.array([0.03, sign * 0.5 * SIZE[1], 0.25])
        force = np.array([0.0, -10.0 * sign, 0.0])
        location = locator.locate(q, torque(robot, q, 'link_7', point, force))
        assert location.point[1] * sign > 0.0
        assert location.normal @ location.force < 0.0


def test_a_sure_link_is_right_for_pushes_anywhere_on_the_surface(robot, locator):
    rng, rows, pieces = np.random.default_rng(5), [], surfaces()
    for _ in range(120):
        q, link = robot.random_configuration(rng), f'link_{rng.integers(4, LINKS + 1)}'
        fine = pieces[link]
        piece = rng.choice(len(fine.areas), p=fine.areas / fine.areas.sum())
        tau = torque(robot, q, link, fine.points[piece], -10.0 * fine.normals[piece])
        place = locator.locate(q, tau + 0.01 * rng.normal(size=LINKS))
        rows.append((place.probability, place.link == link))
    probability, right = np.array(rows).T
    sure = probability >= 0.9
    assert sure.sum() >= 20
    assert right[sure].mean() >= 0.9


def test_a_torque_that_no_single_push_gives_has_a_large_misfit(robot, locator):
    q = robot.neutral() + 0.3
    point, force, _ = push(np.random.default_rng(1))
    good = locator.locate(q, torque(robot, q, 'link_7', point, force))
    two = torque(robot, q, 'link_7', point, force) + torque(
        robot, q, 'link_3', *push(np.random.default_rng(2))[:2]
    )
    assert good.misfit < 1.0
    assert locator.locate(q, two).misfit > 3.0 * good.misfit


def test_what_is_ignored_has_no_say_and_nothing_felt_is_no_contact(robot, locator):
    q = robot.neutral() + 0.4
    point, force, _ = push(np.random.default_rng(3))
    tau = torque(robot, q, 'link_7', point, force)
    spoilt = tau.copy()
    spoilt[1] = 1e3
    mask = np.arange(robot.nv) == 1
    given, without = locator.locate(q, spoilt, mask), locator.locate(q, tau, mask)
    np.testing.assert_array_equal(given.point, without.point)
    assert locator.locate(q, np.zeros(robot.nv)) is None
    assert locator.locate(q, tau, np.ones(robot.nv, dtype=bool)) is None


def test_a_push_where_no_surface_is_known_is_not_put_where_one_is(robot):
    """As of a robot most of whose meshes cannot be read."""
    known = {link: surface for link, surface in surfaces().items() if link in ('link_2', 'link_5')}
    unseen = links_without_surface(robot, known, ())
    assert unseen == ('link_1', 'link_3', 'link_4', 'link_6', 'link_7')
    locator = ContactLocator(robot, known, without_surface=unseen, noise=0.01)
    assert set(locator.links) == set(robot.body_names)
    rng = np.random.default_rng(8)
    right = {True: [], False: []}
    for _ in range(150):
        q = robot.random_configuration(rng)
        link = f'link_{rng.integers(3, LINKS + 1)}'
        point, force, _ = push(rng, tilt=rng.uniform(0.0, 0.3))
        tau = torque(robot, q, link, point, force) + 0.01 * rng.normal(size=robot.nv)
        if not felt(robot, link, tau):
            continue
        place = locator.locate(q, tau)
        right[link in known].append(place.link == link)
        if place.link in unseen:
            assert place.point_frame == ''
            assert not place.force.any()
            assert place.deviation == np.inf
        else:
            assert place.point_frame == place.link
    assert np.mean(right[False]) > 0.9
    assert np.mean(right[True]) > 0.9


@pytest.mark.parametrize(
    ('call', 'error', 'argument'),
    [
        (lambda r: ContactLocator(r, {'nose': None}), UnknownFrameError, 'surfaces'),
        (
            lambda r: ContactLocator(r, {}, without_surface=['nose']),
            UnknownFrameError,
            'without_surface',
        ),
        (lambda r: ContactLocator(r, {}, friction=0.0), InvalidArgumentError, 'friction'),
        (lambda r: ContactLocator(r, {}, noise=[1.0]), InvalidArgumentError, 'noise'),
        (lambda _: sample_surfaces({'a': np.zeros((2, 3))}), InvalidArgumentError, 'geometry'),
        (lambda _: sample_surfaces({'a': np.zeros((1, 3, 3))}), InvalidArgumentError, 'geometry'),
        (lambda _: sample_surfaces({}, -1.0), InvalidArgumentError, 'resolution'),
    ],
)
def test_a_bad_setting_is_named(robot, call, error, argument):
    with pytest.raises(error, match=argument):
        call(robot)


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_the_evidence_is_the_density_of_the_torques_and_the_probability_of_a_push(backend):
    arm = ROBOT if backend == 'auto' else Robot.from_urdf(ARM, backend=backend)
    rng = np.random.default_rng(5)
    kernel = arm.kernel('location_evidence')
    for _ in range(20):
        # More torques than a wrench has numbers: the rest is the same for all pieces.
        J, torque = rng.normal(size=(6, 9)), rng.normal(size=9) * 5.0
        noise, units = rng.uniform(0.3, 2.0, 9), rng.uniform(0.1, 10.0, 5)
        noise[rng.integers(9)] = np.inf
        Q, R = np.linalg.qr(J.T / noise[:, None])
        seen, wrenches, weight = Q.T @ (torque / noise), rng.normal(size=(3, 6, 5)), 0.25
        evidence, mean, residuals = kernel(R, seen, weight, units, wrenches)
        rest = weight * (torque / noise - Q @ seen)
        for i, wrench in enumerate(wrenches):
            A = weight / noise[:, None] * (J.T @ wrench) * units
            y, C = weight / noise * torque, np.eye(5) + A.T @ A
            density = multivariate_normal(cov=np.eye(9) + A @ A.T).logpdf(y)
            density += 0.5 * (9 * np.log(2.0 * np.pi) + rest @ rest)
            x = np.linalg.solve(C, A.T @ y)
            pushes = norm.logcdf(x[0] / np.sqrt(np.linalg.inv(C)[0, 0]))
            assert_allclose(evidence[i], density + pushes, rtol=1e-9)
            assert_allclose(mean[i], x, rtol=1e-8, atol=1e-12)
            assert_allclose(Q @ residuals[i] + rest, y - A @ x, rtol=1e-8, atol=1e-10)


BESIDE = """
    <link name="sensor"/><joint name="to_sensor" type="fixed">
      <parent link="link_5"/><child link="sensor"/><origin xyz="0 0 0.31" rpy="0.3 0 1"/></joint>
    <link name="tool"><collision><origin xyz="0 0 0.2"/>
      <geometry><box size="0.05 0.05 0.2"/></geometry></collision></link>
    <joint name="to_tool" type="fixed">
      <parent link="link_5"/><child link="tool"/><origin xyz="0 0 0.31"/></joint></robot>"""
"""A sensor at the end of an arm of five joints, and a tool beside its frame."""


def test_a_wrist_sensor_finds_light_touches_behind_it_and_places_others_before_it():
    description = arm(5).replace('</robot>', BESIDE)
    robot = Robot.from_urdf(description)
    pieces = sample_surfaces(read_collision_geometry(description).triangles)
    locator = ContactLocator(robot, pieces, noise=0.2)
    rng, errors, links = np.random.default_rng(8), [], []
    for k in range(60):
        q, link = robot.random_configuration(rng), ('tool', 'link_5', 'link_4')[k % 3]
        piece = rng.integers(len(pieces[link].areas))
        point, force = pieces[link].points[piece], -5.0 * pieces[link].normals[piece]
        tau = torque(robot, q, link, point, force) + 0.2 * rng.normal(size=robot.nv)
        wrench = np.zeros(6)
        if link == 'tool':
            X = np.linalg.solve(*(robot.forward_kinematics(q, x) for x in ('sensor', link)))
            wrench[:3] = X[:3, :3] @ force
            wrench[3:] = np.cross(X[:3, :3] @ point + X[:3, 3], wrench[:3])
            tool_wrench = wrench.copy()
        deviation = np.array([0.3] * 3 + [0.03] * 3)
        read = wrench + deviation * rng.normal(size=6)
        sensor = SensorWrench('sensor', read, deviation, link == 'tool')
        for shown in (None, sensor):
            place = locator.locate(q, tau, sensor=shown)
            links.append((place.link, link, shown is None))
            if link == 'tool' and place.link == link:
                errors.append((np.linalg.norm(place.point - point), shown is None))
    behind = {
        alone: np.mean([(x == 'tool') == (y == 'tool') for x, y, z in links if z == alone])
        for alone in (True, False)
    }
    without_tool = ContactLocator(robot, {x: pieces[x] for x in pieces if x != 'tool'}, noise=0.2)
    place = without_tool.locate(q, tau, sensor=sensor._replace(wrench=tool_wrench, touched=True))
    assert (place.link, place.point_frame, place.known) == ('link_5', '', False)
    with_sensor = np.array([error for error, alone in errors if not alone])
    assert behind[False] > 0.95 > 0.9 > behind[True]
    assert len(with_sensor) >= 19
    assert np.median(with_sensor) < 0.02


def test_links_of_a_large_robot_have_larger_pieces():
    corners = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 1.2, 0.0], [0.5, 1.2, 0.0]])
    sides = [np.add(corners, (0.0, 0.0, z)) for z in (0.0, 0.4)]
    triangles = [[s[0], s[1], s[3]] for s in sides] + [[s[0], s[3], s[2]] for s in sides]
    large, small = sample_surfaces({'a': triangles, 'b': 0.1 * np.array(triangles)}).values()
    assert len(large.areas) < 6000
    assert large.size > small.size == pytest.approx(0.012 / np.sqrt(12.0))


def test_parts_within_reach_along_the_line_of_action_occlude_a_point():
    rng, seen = np.random.default_rng(3), set()
    pieces = rng.uniform(-0.4, 0.4, (1200, 3))
    for spread in (0.02, 0.5, 3.0):
        points = rng.uniform(-0.05, 0.05, (50, 3)) + rng.uniform(-0.3, 0.3, 3)
        away = rng.normal(size=3) + spread * rng.normal(size=(50, 3))
        away[7] = 0.0
        expected = []
        for point, direction in zip(points, away):
            direction = direction / max(np.linalg.norm(direction), 1e-9)
            ahead = (pieces - point) @ direction
            apart = np.linalg.norm(pieces - point - ahead[:, None] * direction, axis=1)
            hits = (apart < np.sqrt(3e-4 / np.pi)) & (REACH[0] < ahead) & (ahead < REACH[1])
            expected.append(bool(hits.any()))
        hidden = occluded(points, away, pieces, np.full(1200, 3e-4))
        assert hidden.tolist() == expected
        assert not hidden[7]
        seen |= set(expected)
    assert seen == {True, False}


SAMPLE = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
REAL = {
    'ur5': (urdf_path('ur5'), {}),
    'panda': (urdf_path('panda'), {'panda_finger_joint1': 0.0}),
    'sample': (SAMPLE, {}),
}
PUSHES = 16


@pytest.fixture(scope='module')
def real_arms():
    """Robots, their surfaces and what locates contacts on them, with meshes of package://."""
    with pytest.MonkeyPatch.context() as patched:
        folder = str(robots_folder().parents[2])
        paths = filter(None, [folder, os.environ.get('AMENT_PREFIX_PATH', '')])
        patched.setenv('AMENT_PREFIX_PATH', os.pathsep.join(paths))
        found = []
        for path, locked in REAL.values():
            robot = Robot.from_urdf(path, locked_joints=locked)
            geometry = read_collision_geometry(str(path))
            known = sample_surfaces(geometry.triangles)
            noise = np.hypot(by_effort_limit(robot, 0.001), 0.01)
            unseen = links_without_surface(robot, known, geometry.unread)
            locator = ContactLocator(robot, known, without_surface=unseen, noise=noise)
            found.append((robot, known, locator))
        yield found


def places(robot, known, locator, coulomb):
    """(n, 3) probability, whether the link is right, misfit: pushes of 5 to 60 N from outside."""
    links = [link for link in locator.links if link in known]
    rng, rows = np.random.default_rng(1), []
    while len(rows) < PUSHES:
        q, link = robot.random_configuration(rng), links[int(rng.integers(len(links)))]
        pieces = known[link]
        piece = rng.choice(len(pieces.areas), p=pieces.areas / pieces.areas.sum())
        point, normal = pieces.points[piece], pieces.normals[piece]
        tangent = np.cross(normal, rng.normal(size=3))
        force = 0.3 * rng.uniform() * tangent / np.linalg.norm(tangent) - normal
        force *= np.exp(rng.uniform(*np.log([5.0, 60.0])))
        X = {name: robot.forward_kinematics(q, name) for name in links}
        others = [known[x].points @ X[x][:3, :3].T + X[x][:3, 3] for x in links]
        away, at = -X[link][:3, :3] @ force, X[link][:3, :3] @ point + X[link][:3, 3]
        areas = np.concatenate([known[x].areas for x in links])
        if occluded(at[np.newaxis], away[np.newaxis], np.concatenate(others), areas)[0]:
            continue
        v = rng.uniform(-0.7, 0.7, robot.nv) * (rng.random(robot.nv) < 0.7)
        dry = coulomb and rng.uniform(*coulomb, robot.nv)
        viscous = coulomb and rng.uniform(0.0, 2.0, robot.nv)
        # At rest dry friction has any size up to that; sensors behind the gear feel none of it.
        still = rng.uniform(-1.0, 1.0, robot.nv) * (rng.random() < 0.5)
        felt = torque(robot, q, link, point, force)
        felt -= dry * np.where(v == 0.0, still, np.sign(v)) + viscous * v
        place = locator.locate(q, felt + 0.01 * rng.normal(size=robot.nv))
        rows.append((place.probability, place.link == link, place.misfit))
    return np.array(rows)


@pytest.mark.slow
def test_unknown_friction_makes_places_uncertain_and_the_misfit_large(real_arms):
    rows = np.concatenate([places(*arm, (1.0, 3.0)) for arm in real_arms])
    probability, right, misfit = rows.T
    sure = probability >= 0.9
    # Friction may look like a push elsewhere by chance.
    assert np.count_nonzero(right[sure] == 0.0) <= max(1.0, 0.1 * sure.sum())
    # Nor are the others claimed more often than they are true.
    assert probability.mean() < right.mean() + 0.15
    assert np.median(misfit) > 5.0
    probability, right, misfit = np.concatenate([places(*arm, 0.0) for arm in real_arms]).T
    sure = probability >= 0.9
    assert sure.mean() > 0.25
    assert right[sure].mean() >= 0.9
    assert np.median(misfit) < 1.0
