# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collisions of links and obstacles: distances, pairs, what is refused, and IK that avoids them."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.collision import Collisions, Obstacle
from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.inverse_kinematics.differential import (
    CartesianServo,
    DifferentialInverseKinematics,
    Limits,
    PostureTask,
)

DEFAULT_ROBOT = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

# Balls of radius 0.1 on a slider along x and on a carried slider along z; their bases are apart.
SLIDERS = """
<robot name="sliders">
  <link name="base"/>
  <link name="left"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="right"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="x" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="z" type="prismatic"><parent link="base"/><child link="right"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>"""

ARM = Robot.from_urdf(DEFAULT_ROBOT)


def at(x, y, z):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


@pytest.fixture(scope='module')
def sliders():
    return Collisions(Robot.from_urdf(SLIDERS), SLIDERS)


@pytest.fixture(scope='module')
def arm():
    obstacles = {
        'post': Obstacle('cylinder', [0.06, 1.0], at(0.45, 0.0, 0.5)),
        'shelf': Obstacle('box', [0.4, 0.4, 0.05], at(0.0, 0.55, 0.6)),
        'ball': Obstacle('sphere', 0.1, at(0.0, -0.5, 0.9)),
    }
    return Collisions(ARM, DEFAULT_ROBOT, obstacles=obstacles)


def test_distance_points_and_normal_of_two_balls(sliders):
    found = sliders.distances([0.2, 0.4])
    assert found.pairs == (('left', 'right'),)
    apart = np.array([0.3, 0.0, 0.4])  # of length 0.5
    # Closed form of two spheres; coal's are exact to rounding.
    np.testing.assert_allclose(found.distance, [0.3], atol=1e-12)
    np.testing.assert_allclose(found.normals, [apart / 0.5], atol=1e-12)
    np.testing.assert_allclose(found.points[0, 0], [0.2 + 0.06, 0.0, 0.08], atol=1e-12)
    np.testing.assert_allclose(found.points[0, 1], [0.5 - 0.06, 0.0, 0.32], atol=1e-12)


def test_jacobian_is_the_derivative_of_the_distances(arm):
    """Normals of coal are exact to about 3e-5; at parallel faces the closest points jump."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        q, v = ARM.random_configuration(rng), rng.normal(size=ARM.nv)
        found, J = arm.distance_jacobian(q)
        ends = [arm.distances(ARM.integrate(q, h * v)).distance for h in (1e-5, -1e-5)]
        assert found.distance.shape == (len(J),)
        errors.append(np.abs((ends[0] - ends[1]) / 2e-5 - J @ v))
    assert np.quantile(np.concatenate(errors), 0.95) < 1e-4


def test_a_pair_that_a_motion_brings_near_is_measured_again(arm):
    """A scene that remembers distances finds the pairs of one that does not, steps and jumps."""
    one = arm.with_obstacles(arm.obstacles)
    rng, ways = np.random.default_rng(2), np.full(ARM.nv, 0.05)
    q, v, found_pairs = ARM.random_configuration(rng), np.zeros(ARM.nv), set()
    for step in range(75):
        v = rng.normal(size=ARM.nv) if step % 15 == 0 else v
        q = ARM.random_configuration(rng) if step % 25 == 24 else ARM.integrate(q, 0.02 * v)
        found, _ = arm.distance_jacobian(q, 0.02, ways)
        new, _ = arm.with_obstacles(arm.obstacles).distance_jacobian(q, 0.02, ways)
        assert found.pairs == new.pairs
        # Depths of penetration depend on where coal's search begins.
        apart = new.distance > 0.0
        np.testing.assert_allclose(found.distance[apart], new.distance[apart], atol=1e-6)
        new = arm.with_obstacles(arm.obstacles)
        assert one.collision(q) == new.collision(q)
        assert one.distances(q, 0.02).pairs == new.distances(q, 0.02).pairs
        found_pairs |= set(found.pairs)
    assert len(found_pairs) > 5


def test_a_distance_with_points_on_neither_body_is_measured_again(sliders, monkeypatch):
    q, ways = np.array([0.28, 0.0]), np.full(2, 0.01)
    scene = sliders.with_obstacles({})
    with monkeypatch.context() as wrong:
        wrong.setattr(scene, '_calls', [lambda *_: 5.0])  # no points
        assert not scene.distance_jacobian(q, 0.1, ways)[0].pairs
    assert scene.distance_jacobian(q, 0.1, ways)[0].distance == pytest.approx([0.02], abs=1e-6)


@pytest.mark.parametrize('obstacles', [0, 10])
@pytest.mark.parametrize('far', [1e16, 1e150, 1e300])
def test_pairs_are_found_again_after_an_absurd_configuration(sliders, obstacles, far):
    near = {f'ball{k}': Obstacle('sphere', 0.1, at(0.2, 0.3, 0.01 * k)) for k in range(obstacles)}
    scene, q = sliders.with_obstacles(near), np.array([0.25, 0.0])
    found = scene.distances(q, 0.2).pairs
    assert len(found) == 1 + obstacles
    for absurd in ([far, 0.0], [0.0, far], [far, far]):
        with np.errstate(all='ignore'), suppress(InvalidArgumentError):
            scene.distances(absurd, 0.2)
        assert scene.distances(q, 0.2).pairs == found


def test_a_pair_whose_distance_was_no_number_is_measured_again(sliders, monkeypatch):
    scene, q = sliders.with_obstacles({}), np.array([0.28, 0.0])
    with monkeypatch.context() as wrong:
        wrong.setattr(scene, '_calls', [lambda *_: np.nan])
        with pytest.raises(InvalidArgumentError):
            scene.distances(q, 0.1)
        scene._known[:] = np.nan  # as of the bounding spheres of many pairs
    assert scene.distances(q, 0.1).distance == pytest.approx([0.02], abs=1e-6)


@pytest.mark.parametrize('root', ['fixed', 'planar'])
def test_pairs_far_apart_are_never_measured(root, monkeypatch):
    robot = Robot.from_urdf(DEFAULT_ROBOT, root_joint=root)
    boxes = {f'box{k}': Obstacle('box', [0.1] * 3, at(5.0, 0.1 * k, 0.0)) for k in range(20)}
    scene = Collisions(robot, DEFAULT_ROBOT).with_obstacles(boxes)
    measure, measured = scene._measure, []
    monkeypatch.setattr(scene, '_measure', lambda pair: measured.append(pair) or measure(pair))
    q, ways = robot.nominal(), np.full(robot.nv, 1e-3)
    ways[: robot.model.root_joint_nv] = 0.0  # a servo on a base that rests
    for _ in range(3):
        scene.distance_jacobian(q, 0.05, ways)
        q = robot.integrate(q, 0.5 * ways)
    assert not any('box' in name for pair in measured for name in scene._names[pair])


def test_pairs_within_a_distance_are_all_that_are_so_near(arm):
    q = ARM.nominal()
    near, everything = arm.distances(q, within=0.15), arm.distances(q)
    expected = np.sort(everything.distance[everything.distance <= 0.15])
    # A search that begins at the last result ends within its tolerance.
    np.testing.assert_allclose(np.sort(near.distance), expected, atol=1e-7)
    assert 0 < len(near.distance) < len(everything.distance)


def test_adjacent_links_and_links_of_one_body_are_not_checked(arm):
    assert set(arm.allowed.values()) == {'fixed to each other', 'adjacent'}
    assert not set(arm.allowed) & set(arm.pairs)


def test_an_srdf_disables_pairs():
    srdf = """<robot name="sliders"><disable_collisions link1="right" link2="left" reason="Never"/>
      <disable_collisions link1="right" link2="rihgt"/></robot>"""
    scene = Collisions(Robot.from_urdf(SLIDERS), SLIDERS, srdf)
    assert scene.pairs == ()
    assert scene.allowed['left', 'right'] == 'disabled by the SRDF'
    assert scene.problems == ("SRDF: 'rihgt' is not a link with a shape",)
    assert scene.distances([0.4, 0.0]).smallest == np.inf
    assert not scene.in_collision([0.4, 0.0])
    with pytest.raises(ModelError, match='expected <robot>'):
        Collisions(Robot.from_urdf(SLIDERS), SLIDERS, '<semantic/>')


@pytest.mark.parametrize(
    ('obstacle', 'distance'),
    [
        (Obstacle('box', [0.2, 0.4, 0.6], at(0.0, 0.5, 0.0)), 0.5 - 0.1 - 0.2),
        (Obstacle('sphere', 0.3, at(0.0, 0.5, 0.0)), 0.5 - 0.1 - 0.3),
        (Obstacle('cylinder', [0.1, 2.0], at(0.0, 0.5, 0.0)), 0.5 - 0.1 - 0.1),
        (Obstacle('capsule', [0.1, 0.4], at(0.0, 0.0, 0.6)), 0.6 - 0.1 - 0.1 - 0.2),
        (Obstacle('box', [0.2] * 3, ((0, 0.5, 0), (0, 0, np.sqrt(0.5), np.sqrt(0.5)))), 0.3),
        # A flat square and a tetrahedron.
        (
            Obstacle('mesh', mesh=[[[-1, 0.5, -1], [1, 0.5, -1], [1, 0.5, 1]]]),
            0.5 - 0.1,
        ),
        (
            Obstacle('mesh', pose=at(0, 0.4, 0), mesh=[
                [[-1, 0, -1], [1, 0, -1], [0, 0, 1]], [[-1, 0, -1], [1, 0, -1], [0, 1, 0]],
            ]),
            0.4 - 0.1,
        ),
    ],
)  # fmt: skip
def test_distances_of_obstacles(sliders, obstacle, distance):
    scene = sliders.with_obstacles({'thing': obstacle})
    found = scene.distances([0.0, 1.0])
    (k,) = [k for k, pair in enumerate(found.pairs) if pair == ('left', 'thing')]
    # A flat mesh is 0.1 mm thick; the tolerance of coal's iteration is 1e-6 m.
    assert found.distance[k] == pytest.approx(distance, abs=6e-5)
    assert sliders.pairs == (('left', 'right'),), 'the first scene is unchanged'


def test_an_obstacle_that_a_link_carries_moves_with_it(sliders):
    load = Obstacle('sphere', 0.1, at(0.0, 0.0, 0.3), frame='left')
    wall = Obstacle('box', [0.2, 2.0, 2.0], at(-1.0, 0.0, 0.0))
    scene = sliders.with_obstacles({'load': load, 'wall': wall})
    assert set(scene.pairs) == {
        ('left', 'right'), ('right', 'load'), ('left', 'wall'), ('right', 'wall'), ('load', 'wall'),
    }  # fmt: skip
    found = scene.distances([-0.5, 0.0])
    by_pair = dict(zip(found.pairs, found.distance, strict=True))
    assert by_pair['load', 'wall'] == pytest.approx(0.3, abs=1e-6)
    held = Obstacle('sphere', 0.1, at(0.0, 0.0, 0.3), frame='left', touching=['right'])
    assert ('right', 'load') not in sliders.with_obstacles({'load': held}).pairs


@pytest.mark.parametrize(
    ('obstacle', 'said'),
    [
        (Obstacle('cone', [1.0]), "kind 'cone'; expected one of"),
        (Obstacle('box', [1.0, 2.0]), 'three edges'),
        (Obstacle('box', [1.0, 2.0, np.nan]), 'three edges'),
        (Obstacle('sphere', [-1.0]), 'a radius'),
        (Obstacle('sphere', [1e9]), 'at most'),
        (Obstacle('sphere', [1.0], np.full((4, 4), np.nan)), 'obstacle'),
        (Obstacle('sphere', [1.0], at(1e9, 0, 0)), 'too far'),
        (Obstacle('mesh'), 'a file, or finite triangles'),
        (Obstacle('mesh', mesh=np.full((1, 3, 3), np.inf)), 'a file, or finite triangles'),
        ('a box', 'an Obstacle by name'),
    ],
)
def test_wrong_obstacles_are_refused(sliders, obstacle, said):
    with pytest.raises(InvalidArgumentError, match=said):
        sliders.with_obstacles({'thing': obstacle})


def test_wrong_names_are_refused(sliders):
    with pytest.raises(UnknownFrameError, match="unknown frame 'lfet'"):
        sliders.with_obstacles({'thing': Obstacle('sphere', 0.1, frame='lfet')})
    with pytest.raises(InvalidArgumentError, match="'left' is a link"):
        sliders.with_obstacles({'left': Obstacle('sphere', 0.1)})


def test_wrong_configurations_are_refused(sliders):
    for q in ([0.0], [0.0, np.nan]):
        with pytest.raises(InvalidArgumentError):
            sliders.in_collision(q)


def test_shapes_that_cannot_be_read_are_not_ignored_silently():
    text = SLIDERS.replace('<sphere radius="0.1"/>', '<mesh filename="none.stl"/>', 1)
    robot = Robot.from_urdf(text)
    with pytest.raises(ModelError, match=r"shapes of 'left'.*ignore_unreadable"):
        Collisions(robot, text)
    assert Collisions(robot, text, ignore_unreadable=True).pairs == ()
    with pytest.raises(ModelError, match='no collision shape'):
        Collisions(robot, '<robot name="a"><link name="left"/></robot>')


def test_without_coal_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    with pytest.raises(ModelError, match='pip install coal'):
        Collisions(Robot.from_urdf(SLIDERS), SLIDERS)


def free_targets(scene, count):
    rng = np.random.default_rng(1)
    targets = []
    while len(targets) < count:
        q = ARM.random_configuration(rng)
        if not scene.in_collision(q):
            targets.append(ARM.forward_kinematics(q, 'tool0'))
    return targets


def test_inverse_kinematics_avoids_collisions(arm):
    """A ball at the elbow of the usual solution, around which the elbow can turn in most poses."""
    alone = arm.with_obstacles({})
    solved, count = 0, 20
    rng = np.random.default_rng(1)
    for _ in range(count):
        q = ARM.random_configuration(rng)
        while alone.in_collision(q):
            q = ARM.random_configuration(rng)
        target = ARM.forward_kinematics(q, 'tool0')
        plain = ARM.inverse_kinematics(target, 'tool0', q).q
        elbow = ARM.forward_kinematics(plain, 'forearm_link')
        scene = alone.with_obstacles({'ball': Obstacle('sphere', 0.05, elbow)})
        assert scene.in_collision(plain)
        # Ended by its restarts, whatever time a busy machine takes for them.
        limits = {'timeout': 60.0, 'max_restarts': 30}
        found = ARM.inverse_kinematics(target, 'tool0', q, collisions=scene, **limits)
        assert found.success != scene.in_collision(found.q)
        assert found.reason in ('converged', 'colliding')
        if found.success:
            reached = ARM.forward_kinematics(found.q, 'tool0')
            np.testing.assert_allclose(reached, target, atol=2e-5)
            solved += 1
    assert solved >= 0.6 * count


def test_all_solutions_are_free(arm):
    target = ARM.forward_kinematics(ARM.random_configuration(6), 'tool0')
    first, *_ = plain = ARM.all_inverse_kinematics(target, 'tool0', max_solutions=32)
    elbow = ARM.forward_kinematics(first.q, 'forearm_link')
    scene = arm.with_obstacles({'ball': Obstacle('sphere', 0.05, elbow)})
    free = ARM.all_inverse_kinematics(target, 'tool0', collisions=scene, max_solutions=32)
    assert any(scene.in_collision(one.q) for one in plain)
    assert len(free)
    assert not any(scene.in_collision(one.q) for one in free)


def test_a_target_inside_an_obstacle_is_colliding(arm):
    target = free_targets(arm, 1)[0]
    around = arm.with_obstacles({'block': Obstacle('box', [0.3] * 3, at(*target[:3, 3]))})
    found = ARM.inverse_kinematics(target, 'tool0', collisions=around)
    assert (found.success, found.reason) == (False, 'colliding')
    assert found.position_error < 1e-5


def test_the_posture_of_a_solution_is_free(arm):
    for target in free_targets(arm, 10):
        found = ARM.inverse_kinematics(target, 'tool0', collisions=arm, posture='centre')
        assert not (found.success and arm.in_collision(found.q))


@pytest.mark.parametrize('solver', ['daqp', 'SciPy'])
def test_random_twists_end_in_no_collision(arm, solver, monkeypatch):
    if solver == 'SciPy':
        monkeypatch.setattr('dynamics_ros.inverse_kinematics.differential.bounded.daqp', None)
    scene = Collisions(ARM, DEFAULT_ROBOT, obstacles=arm.obstacles, margin=0.02)
    servo = CartesianServo(ARM, 'tool0', collisions=scene)
    rng, limited, least = np.random.default_rng(3), 0, np.inf
    for _ in range(3 if solver == 'daqp' else 2):
        q = ARM.random_configuration(rng)
        while scene.in_collision(q):
            q = ARM.random_configuration(rng)
        servo.reset()
        for _ in range(4):
            twist = rng.normal(size=6)
            for _ in range(100):
                step = servo.follow_twist(q, twist, 0.005)
                q = ARM.integrate(q, 0.005 * step.v)
                limited += bool(step.kept_apart)
                least = min(least, arm.distances(q).smallest)
    assert least > 0.01  # levers change while the arm brakes
    assert limited > 20


def test_margin_counts_as_collision():
    near = Collisions(Robot.from_urdf(SLIDERS), SLIDERS, margin=0.31)
    assert near.in_collision([0.2, 0.4])
    assert not near.in_collision([0.15, 0.4])


def test_a_search_among_collisions_alone_ends_in_time():
    """The tool is in a ball wherever the arm stands: ten thousand restarts take a minute."""
    q = np.full(7, 0.4)
    target = ARM.forward_kinematics(q, 'tool0')
    around = Obstacle('sphere', 0.3, target)
    scene = Collisions(ARM, DEFAULT_ROBOT, obstacles={'around': around})
    found = ARM.inverse_kinematics(
        target, 'tool0', q, collisions=scene, timeout=0.1, max_restarts=10_000
    )
    assert found.reason == 'colliding'
    assert found.elapsed < 10.0  # beside busy processes


def test_a_pair_approaches_as_it_can_stop_and_no_further(sliders):
    """The left ball is sent into the right one; it brakes at 2 m/s^2 at most."""
    robot = sliders.robot
    scene = Collisions(robot, SLIDERS, margin=0.01)
    limits = Limits(robot, acceleration=2.0)
    task = PostureTask(gain=100.0)
    solver = DifferentialInverseKinematics(robot, [task], limits, collisions=scene)
    task.target = np.array([0.9, 0.0])
    q, v, last_limit = np.array([-0.9, 0.0]), np.zeros(2), ()
    for _ in range(4000):
        motion = solver.velocity(q, 0.001, v)
        assert np.abs(motion.v - v).max() <= 2.0 * 0.001 * (1.0 + 1e-6)
        q, v, last_limit = q + 0.001 * motion.v, motion.v, motion.kept_apart
        assert sliders.distances(q).smallest > 0.01 - 1e-6
    assert last_limit == (('left', 'right'),)
    assert sliders.distances(q).smallest < 0.015
    # An obstacle that appears where the ball is: it stays, and may leave.
    solver.collisions = scene.with_obstacles({'ball': Obstacle('sphere', 0.1, at(*q[:1], 0.05, 0))})
    assert abs(solver.velocity(q, 0.001, np.zeros(2)).v[0]) < 1e-6
    with pytest.raises(InvalidArgumentError, match='with other joints'):
        DifferentialInverseKinematics(ARM, [PostureTask()], collisions=scene)


def test_a_scene_is_that_of_a_robot_with_other_masses(arm):
    loaded = ARM.with_payload('tool0', 2.0)
    scene = arm.with_masses_of(loaded)
    assert scene.robot is loaded
    assert scene.obstacles == arm.obstacles
    q = ARM.nominal()
    found, known = scene.distances(q), arm.distances(q)
    assert found.pairs == known.pairs
    np.testing.assert_allclose(found.distance, known.distance, atol=1e-6)
