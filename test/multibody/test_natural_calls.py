# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls as a user writes them at first, and inside functions that users compile."""

from __future__ import annotations

import inspect
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from laws import assert_close
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation
from tolerances import LAW
from urdf_texts import pendulum

import dynamics_ros
from dynamics_ros import Robot, kernels
from dynamics_ros.algorithms.quantity import DEFINITIONS, Options
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from dynamics_ros.multibody.end_effector import pose_error, pose_numbers

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
ROBOT = Robot(ARM)
TOOL = 'tool0'
Q = np.linspace(0.1, 0.7, ROBOT.nq)
X = ROBOT.forward_kinematics(Q, TOOL)
NUMBERS = pose_numbers(X)
POSITION, QUATERNION = NUMBERS[:3], NUMBERS[3:]

MJCF = '<mujoco><worldbody><body><joint name="hinge"/><geom size="1"/></body></worldbody></mujoco>'


class TestADescription:
    @pytest.mark.parametrize('source', [ARM, str(ARM), ARM.read_text(), ROBOT.model])
    def test_of_any_kind_makes_the_same_robot(self, source):
        robot = Robot(source)
        assert robot.joint_names == ROBOT.joint_names and robot.tool_frame == TOOL
        assert_array_equal(robot.gravity(Q), Robot.from_urdf(ARM).gravity(Q))

    def test_has_a_name_where_robot_descriptions_is_installed(self, tmp_path, monkeypatch):
        package = tmp_path / 'robot_descriptions'
        package.mkdir()
        (package / '__init__.py').touch()
        (package / 'arm_description.py').write_text(f'URDF_PATH = {str(ARM)!r}')
        (package / 'hinge_mj_description.py').write_text(
            f'MJCF_PATH = {str(tmp_path / "hinge.xml")!r}'
        )
        (tmp_path / 'hinge.xml').write_text(MJCF)
        monkeypatch.syspath_prepend(tmp_path)
        for module in [x for x in sys.modules if x.startswith('robot_descriptions')]:
            monkeypatch.delitem(sys.modules, module)
        assert Robot.from_name('arm', gravity=(0, 0, 0)).joint_names == ROBOT.joint_names
        with pytest.raises(DynamicsRosError, match=r"'arn'.*was 'arm' meant"):
            Robot.from_name('arn')
        pytest.importorskip('mujoco')
        assert Robot.from_name('hinge').joint_names == ('hinge',)


class TestTheDefaultFrame:
    @pytest.mark.parametrize(
        ('name', 'arrays'),
        [
            *(('forward_kinematics', 1), ('jacobian', 1), ('frame_velocity', 2)),
            *(('jacobian_derivative', 2), ('frame_acceleration', 3), ('manipulability', 1)),
        ],
    )
    def test_is_the_tool(self, name, arrays):
        method = getattr(ROBOT, name)
        for given in (Q, np.array([Q, 2.0 * Q])):
            for _ in range(2):
                assert_array_equal(method(*[given] * arrays), method(*[given] * arrays, TOOL))

    def test_follows_a_tool_that_is_mounted(self):
        assert ROBOT.with_tool(ROBOT, TOOL, prefix='b_').tool_frame == f'b_{TOOL}'
        assert ROBOT.with_tool(ROBOT, 'base_link', prefix='b_').tool_frame == TOOL
        assert ROBOT.with_locked({ROBOT.joint_names[-1]: 0.1}).tool_frame == TOOL


@pytest.mark.parametrize('pose', [X.tolist(), NUMBERS, NUMBERS.tolist(), (POSITION, QUATERNION)])
def test_a_pose_is_a_matrix_or_a_position_and_a_quaternion(pose):
    wanted = ROBOT.inverse_kinematics(X, TOOL, 0.9 * Q).q
    assert_allclose(ROBOT.inverse_kinematics(pose, TOOL, 0.9 * Q).q, wanted, atol=1e-6)
    assert_allclose(ROBOT.all_inverse_kinematics(pose, TOOL, 0.9 * Q)[0].q, wanted, atol=1e-6)
    assert_allclose(pose_error(pose, X), 0.0, atol=1e-14)
    framed = ROBOT.with_frame('tip', TOOL, pose)
    assert_allclose(framed.forward_kinematics(Q, 'tip'), X @ X, atol=1e-14)


def test_a_quaternion_of_three_digits_is_scaled():
    assert_allclose(pose_error((POSITION, 1.0004 * QUATERNION), X), 0.0, atol=1e-14)


def test_poses_of_several_frames_have_any_form():
    frames = [TOOL, 'hand_link']
    poses = ROBOT.forward_kinematics(Q, frames)
    wanted = ROBOT.inverse_kinematics(poses, frames, 0.9 * Q)
    mixed = [pose_numbers(poses[0]), (poses[1][:3, 3], pose_numbers(poses[1])[3:])]
    assert wanted.success
    assert_allclose(ROBOT.inverse_kinematics(mixed, frames, 0.9 * Q).q, wanted.q, atol=1e-6)


def test_integrate_takes_a_time():
    v = np.linspace(-1.0, 1.0, ROBOT.nv)
    for _ in range(2):
        assert_allclose(ROBOT.integrate(Q, v, 0.1), Q + 0.1 * v)
        assert_allclose(ROBOT.integrate(Q, v, dt=2), Q + 2.0 * v)
        assert_allclose(ROBOT.integrate(Q, v, [0.1, 0.2])[1], Q + 0.2 * v)
    base = Robot(ARM, 'floating')
    q, twist = base.neutral(), np.linspace(0.1, 1.0, base.nv)
    assert_allclose(base.integrate(q, twist, 0.5), base.integrate(q, 0.5 * twist))
    traced = kernels.compile(ROBOT.integrate, {'q': ROBOT.nq, 'v': ROBOT.nv, 'dt': ()})
    assert_allclose(traced(Q, v, 0.1), Q + 0.1 * v)


NEWCOMER = {
    'a wrong path': (
        lambda: Robot(ARM.with_name('seven_joint.urdf')),
        r"cannot be read: No such file .* was 'seven_joint_arm.urdf' meant\?",
    ),
    'the home folder of nobody': (
        lambda: Robot('~no-such-user/arm.urdf'),
        r"^file '~no-such-user/arm.urdf': cannot be read: No such file",
    ),
    'a text for an array': (
        lambda: ROBOT.gravity('0 0 0 0 0 0 0'),
        r'^q: text; expected real numbers',
    ),
    'a wrong frame': (
        lambda: ROBOT.forward_kinematics(Q, 'tool'),
        r"^frame: unknown frame 'tool'; expected one of \d+ names: tool0",
    ),
    'the frame before the configuration': (
        lambda: ROBOT.jacobian(TOOL, Q),
        r"^q: the name 'tool0'; expected arrays before the frame: jacobian\(q, 'tool0'\)",
    ),
    'the frame before the target': (
        lambda: ROBOT.inverse_kinematics(TOOL, X),
        r"^target: the text 'tool0'; expected the pose before the name of the frame",
    ),
    'rows of different lengths': (
        lambda: ROBOT.gravity([[0.0] * 7, [0.0]]),
        r'^q: rows of different lengths; expected shape \(..., 7\)',
    ),
    'a wrong joint': (
        lambda: Robot.from_urdf(ARM, locked_joints={'elbow': 0.0}),
        r"unknown joint 'elbow'.*elbow_pitch",
    ),
    'the name of a robot as its file': (
        lambda: Robot('ur5e'),
        r"^file 'ur5e': there is no such file; .*from_name\('ur5e'\)",
    ),
    'an address': (
        lambda: Robot('file:///arm.urdf'),
        r"^file 'file:///arm.urdf': addresses are for meshes: give the path of the file",
    ),
    'arguments of xacro beside a text': (
        lambda: Robot(ARM.read_text(), xacro_arguments={'prefix': 'left_'}),
        r'^xacro_arguments: given with text; expected the path of a xacro file',
    ),
    'a mapping for an array': (
        lambda: ROBOT.gravity(dict.fromkeys(ROBOT.joint_names, 0.0)),
        r'^q: a dict; expected shape \(..., 7\)',
    ),
    'an object of another library as the target': (
        lambda: ROBOT.inverse_kinematics(Rotation.identity()),
        r'^target: a Rotation; expected shape \(4, 4\), \(position, quaternion x y z w\)',
    ),
    'a reference for the frame': (
        lambda: ROBOT.jacobian(Q, 'local'),
        r"^frame: the reference 'local'; expected the frame before .* reference='local'",
    ),
    'a kernel that there is not': (
        lambda: ROBOT.kernel('mass_matrx'),
        r"unknown name 'mass_matrx'.*mass_matrix",
    ),
    'a column': (
        lambda: ROBOT.gravity(Q[:, None]),
        r'^q: shape \(7, 1\); expected shape \(..., 7\)',
    ),
    'a position as the target': (
        lambda: ROBOT.inverse_kinematics([0.3, 0.0, 0.5]),
        r'^target: shape \(3,\); expected shape \(4, 4\), \(position, quaternion x y z w\)',
    ),
    'one pose for two frames': (
        lambda: ROBOT.inverse_kinematics(X, [TOOL, 'hand_link']),
        r'^target: shape \(4, 4\); expected ',
    ),
    'a missing extra': (
        lambda: Robot.from_name('ur5e'),
        r"^robot 'ur5e': .*pip install robot_descriptions",
    ),
    'a quaternion before its position': (
        lambda: ROBOT.inverse_kinematics((QUATERNION, POSITION)),
        r'^target: a quaternion before its position; expected .*quaternion x y z w',
    ),
    'a quaternion that is not of unit length': (
        lambda: ROBOT.inverse_kinematics((POSITION, 2.0 * QUATERNION)),
        r'^target: a quaternion of length 2; expected a unit quaternion \(x, y, z, w\)',
    ),
    'a NaN': (
        lambda: ROBOT.gravity(np.r_[Q[:-1], np.nan]),
        r'^q: nan at \[6\]; expected finite numbers',
    ),
    'a NaN in the target': (
        lambda: ROBOT.inverse_kinematics(np.full((4, 4), np.nan)),
        r'^target: NaN or infinite entries; expected finite numbers',
    ),
    'a NaN as the time': (
        lambda: ROBOT.integrate(Q, Q, np.nan),
        r'^dt: NaN or infinite; expected a finite time in seconds',
    ),
    'options beside a model': (
        lambda: Robot(ROBOT.model, 'floating'),
        r'^source: a Model; expected a description',
    ),
}


@pytest.mark.parametrize('mistake', NEWCOMER)
def test_one_line_names_the_thing_and_the_cure(mistake, monkeypatch):
    monkeypatch.setitem(sys.modules, 'robot_descriptions', None)
    call, message = NEWCOMER[mistake]
    for _ in range(2):
        with pytest.raises(DynamicsRosError, match=message) as refused:
            call()
        assert '\n' not in str(refused.value) and len(str(refused.value)) < 300


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_degrees_are_named_once(backend, caplog):
    robot = Robot(ARM, backend=backend)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            robot.gravity(np.full(robot.nq, 30.0))
            robot.forward_kinematics(np.full((2, robot.nq), 30.0))
    (record,) = caplog.records
    assert record.getMessage().startswith(f"q: joint '{robot.joint_names[0]}' is at 30")
    assert record.getMessage().endswith('rad; degrees?)')


def test_degrees_of_a_seed_are_named(caplog):
    robot = Robot(ARM)
    target = robot.forward_kinematics(robot.neutral())
    with caplog.at_level(logging.WARNING):
        assert robot.inverse_kinematics(target, seed=np.full(robot.nq, 30.0)).success
    (record,) = caplog.records
    assert record.getMessage().startswith(f"seed: joint '{robot.joint_names[0]}' is at 30")


SIZES = {'q': 'nq', 'q0': 'nq', 'q1': 'nq', 'rate': 'nq'}
METHODS = [
    name
    for name, definition in DEFINITIONS.items()
    if not definition.internal and definition.options is not Options.PRESCRIBED
]


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, 'floating', backend='python')


def case_of(robot, name):
    """A method that has a kernel, arguments of one state, and a frame if it takes one."""
    method = getattr(robot, name)
    taken = [
        x
        for x in inspect.signature(method).parameters
        if x not in ('frame', 'reference', 'external_wrenches', 'out')
    ]
    rng = np.random.default_rng(0)
    values = {}
    for x in taken:
        size = robot.nq if SIZES.get(x) == 'nq' else robot.nv
        values[x] = robot.random_configuration(rng) if x.startswith('q') else rng.normal(size=size)
        if x in ('t', 'dt'):
            values[x] = np.float64(0.3)
    return values, (robot.frame_names[-1],) if DEFINITIONS[name].names_a_frame else ()


def of_symbols(robot, name, values, rest):
    """Result of a function that calls the method on traced values."""

    def scaled(*arguments):
        result = getattr(robot, name)(*arguments, *rest)
        if isinstance(result, tuple):
            return {f'part_{i}': 2.0 * x for i, x in enumerate(result)}
        return 2.0 * result

    shapes = {x: np.shape(value) for x, value in values.items()}
    return kernels.compile(scaled, shapes, 'scaled', backend='python')(*values.values())


def check_equal(found, wanted):
    parts = [x if isinstance(x, tuple) else (x,) for x in (found, wanted)]
    for one, other in zip(*parts, strict=True):
        assert_close(one, 2.0 * other, LAW)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('first', ['numbers', 'symbols'])
@pytest.mark.few(12)
def test_numbers_and_symbols_come_in_any_order(name, first):
    """Machine code replaces a method after its first call, for each frame and reference."""
    robot = Robot.from_urdf(pendulum('p'), 'planar', adjustable=True)
    values, frame = case_of(robot, name)
    rests = [frame]
    if frame:
        rests += [(['base', *frame],), ('base',)]
        if 'reference' in inspect.signature(getattr(robot, name)).parameters:
            rests += [(*frame, 'local'), (*frame, 'local_world_aligned')]
    for rest in rests:
        if first == 'symbols':
            before = of_symbols(robot, name, values, rest)
        for _ in range(2):
            wanted = getattr(robot, name)(*values.values(), *rest)
            check_equal(of_symbols(robot, name, values, rest), wanted)
        if first == 'symbols':
            check_equal(before, wanted)
    with pytest.raises(InvalidArgumentError, match='traced'):
        kernels.compile(
            lambda *x: getattr(robot, name)(*(y[:1] if np.ndim(y) else [y] for y in x), *frame),
            {x: np.shape(value) for x, value in values.items()},
        )


def test_wrenches_may_be_symbols(arm):
    q, v = arm.neutral(), np.zeros(arm.nv)
    kernel = kernels.compile(
        lambda wrench: arm.inverse_dynamics(q, v, v, {'tool0': wrench}), {'wrench': 6}
    )
    wrench = np.arange(6.0)
    assert_close(kernel(wrench), arm.inverse_dynamics(q, v, v, {'tool0': wrench}), LAW)
    J = arm.jacobian(q, 'tool0', 'local')
    assert_close(kernel.derivative('wrench')(wrench), -J.T, LAW)


@pytest.mark.parametrize(
    ('function', 'error', 'problem'),
    [
        (lambda r, q: r.gravity(q[:3]), InvalidArgumentError, r'q: traced values of shape \(3,\)'),
        (lambda r, q: r.forward_kinematics(q, 'nose'), UnknownFrameError, 'nose'),
        (lambda r, q: r.inverse_kinematics(np.eye(4), 'tool0', q), InvalidArgumentError, 'traced'),
        (
            lambda r, q: r.constrained_inverse_dynamics(q, q, q, 'tool0'),
            InvalidArgumentError,
            'may call methods that have a kernel',
        ),
    ],
)
def test_what_cannot_be_traced_is_told(arm, function, error, problem):
    with pytest.raises(error, match=problem):
        kernels.compile(lambda q: function(arm, q), {'q': arm.nq})


def test_dir_shows_what_is_public_and_nothing_else():
    robot = Robot(ARM)
    before = dir(robot)
    robot.gravity(Q), robot.jacobian(Q)
    assert dir(robot) == before
    assert not [name for name in before if name.startswith('_') or not hasattr(robot, name)]
    assert not {'has_kernels', 'shares_kernels_with', 'kept'} & set(before)
    assert {'gravity', 'inverse_kinematics', 'tool_frame', 'nq', 'from_name'} <= set(before)
    assert dir(dynamics_ros) == sorted(dynamics_ros.__all__)
    assert dir(kernels) == sorted(kernels.__all__) and {'compile', 'math'} <= {*dir(kernels)}
    assert not {'Program', 'Step'} & {*dir(kernels)}


def test_annotations_stay_after_the_first_call():
    robot = Robot(ARM)
    before = {name: inspect.signature(getattr(robot, name)) for name in ('gravity', 'jacobian')}
    robot.gravity(Q), robot.jacobian(Q)
    for name, signature in before.items():
        assert inspect.signature(getattr(robot, name)) == signature
        assert signature.return_annotation != signature.empty


@pytest.mark.parametrize(
    ('name', 'more'),
    [
        ('hybrid_dynamics', lambda x: (x, np.array([True, False, True, False]))),
        ('inverse_dynamics', lambda x: ({'rod': np.arange(6.0)},)),
        ('forward_dynamics_derivatives', lambda x: ({'rod': np.arange(6.0)},)),
    ],
)
def test_methods_with_other_arguments_are_traced_after_numbers(name, more):
    robot, x = Robot.from_urdf(pendulum('p'), 'planar'), np.linspace(0.1, 0.4, 4)

    def parts(x):
        result = getattr(robot, name)(x, x, x, *more(x))
        return result if isinstance(result, tuple) else (result,)

    for _ in range(2):
        for i, wanted in enumerate(parts(x)):
            kernel = kernels.compile(lambda x, i=i: parts(x)[i], {'x': 4}, 'f', backend='python')
            assert_close(kernel(x), wanted, LAW)


def test_threads_trace_and_compute_in_any_order():
    robot = Robot.from_urdf(pendulum('p'), 'planar')
    names = [name for name in METHODS if 'derivatives' not in name]

    def work(k):
        for name in names[k % 3 :: 3] + names:
            values, rest = case_of(robot, name)
            for _ in range(2):
                found = of_symbols(robot, name, values, rest)
                check_equal(found, getattr(robot, name)(*values.values(), *rest))

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(work, range(6))) == [None] * 6
