# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is given for an argument: an answer of finite numbers, or an error that names it."""

from __future__ import annotations

import copy
import decimal
import inspect
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot, constraints, control, errors
from dynamics_ros.errors import (
    DynamicsRosError,
    FixedAttributeError,
    InvalidArgumentError,
    UnknownFrameError,
    UnknownJointError,
    UnknownNameError,
)
from dynamics_ros.multibody import end_effector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

ARM_TEXT = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
ARM = Robot.from_urdf(ARM_TEXT)
Q = np.random.default_rng(0).uniform(-1.0, 1.0, 7)
TARGET = ARM.forward_kinematics(Q, 'tool0')


class Unhelpful:
    def __len__(self):
        return 7

    def __getitem__(self, index):
        raise KeyError(index)


def hostile():
    """Values that are wrong for most arguments, by a name."""
    return {
        'complex': Q + 1j,
        'objects': np.array([object()] * 7, object),
        'decimals': [decimal.Decimal(1)] * 7,
        'texts': ['a'] * 7,
        'text': 'abc',
        'bytes': b'abcdefg',
        'none': None,
        'no array': Unhelpful(),
        'function': len,
        'dict': {'tool0': 1},
        'set': {1, 2},
        'number': 1.0,
        'beyond float': [10**400] + [0] * 6,
        'dates': np.array(['2020'] * 7, 'datetime64'),
        'records': np.zeros(7, [('a', 'f8')]),
        'column': Q[:, None],
        'too long': np.ones(8),
        'too short': np.ones(6),
        'empty': [],
        'no rows': np.zeros((0, 7)),
        'ragged': [[1, 2], [3]],
        'nan': np.full(7, np.nan),
        'infinite': np.r_[Q[:6], np.inf],
        'masked': np.ma.masked_array(Q, [0, 1, 0, 0, 0, 0, 0]),
        'memory': memoryview(bytearray(56)),
        'large': np.full(7, 1e200),
        'largest': np.full(7, 1.7e308),
        'a nan in a batch': np.r_[np.ones((40, 7)), np.full((1, 7), np.nan)],
    }


FITTING = {
    'robot': ARM,
    'q': Q,
    'v': np.zeros(7),
    'a': np.zeros(7),
    'tau': Q,
    'q0': Q,
    'q1': -Q,
    't': 0.5,
    'rate': Q,
    'frame': 'tool0',
    'name': 'camera',
    'parent': 'tool0',
    'pose': TARGET,
    'target': TARGET,
    'reference': 'local',
    'rows': [0, 1, 2],
    'contacts': ['tool0'],
    'constraints': [constraints.ClosedLoop('tool0', 'base_link')],
    'external_wrenches': {'tool0': np.ones(6)},
    'prescribed': [True] * 3 + [False] * 4,
    'restitution': 0.5,
    'mass': 1.0,
    'center_of_mass': (0.0, 0.0, 0.1),
    'inertia': np.eye(3),
    'gravity': (0.0, 0.0, -9.81),
    'positions': {'elbow_pitch': 0.3},
    'seed': Q,
    'rng': 3,
}


def functions():
    """Every public function and method all of whose arguments without default are above."""
    found = {}
    for room in (constraints, control, end_effector):
        found |= dict(inspect.getmembers(room, inspect.isfunction))
    for name in ('quaternion_to_matrix', 'transform_of_rows'):
        found.pop(name)  # imported by the last one
    # Of another robot: the methods of one that was called are builtins.
    found |= dict(inspect.getmembers(Robot.from_urdf(ARM_TEXT), inspect.ismethod))
    for name, function in sorted(found.items()):
        parameters = inspect.signature(function).parameters.values()
        required = [
            x.name for x in parameters if x.default is x.empty and x.kind is not x.VAR_KEYWORD
        ]
        if name.startswith('_') or not set(required) <= set(FITTING):
            continue
        optional = [x.name for x in parameters if x.default is not x.empty and x.name in FITTING]
        yield name, function, required, optional


CASES = [
    pytest.param(function, required, argument, id=f'{name}-{argument}')
    for name, function, required, optional in functions()
    for argument in [*required, *optional]
    if argument != 'robot'
]


@pytest.mark.parametrize(('function', 'required', 'argument'), CASES)
@pytest.mark.few(60)
def test_a_wrong_argument_is_told(function, required, argument):
    for kind, value in hostile().items():
        given = {name: FITTING[name] for name in required} | {argument: value}
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', RuntimeWarning)  # of NumPy, before the error
            try:
                answer = function(**given)
            except DynamicsRosError:
                continue
            except BaseException as error:
                raise AssertionError(f'{kind}: {type(error).__name__}: {error}') from error
        for part in answer if isinstance(answer, tuple) else (answer,):
            if isinstance(part, (np.ndarray, float)):
                assert np.isfinite(part).all(), kind


def pose(**changes):
    """A pose with other numbers on its diagonal, or NaN."""
    X = np.diag([changes.get(name, 1.0) for name in 'xyzw'])
    X[:3, 3] = 0.3, changes.get('place', 0.2), 0.5
    return X


@pytest.mark.parametrize(
    ('option', 'values'),
    [
        ('target', ['home', np.eye(3), [[1.0, 0.0], [0.0]], np.eye(4) + 0.5j, pose(place=np.nan)]),
        ('target', [pose()[None] + 0.5j, pose(z=-1.0), pose(x=1.1), pose(w=2.0), 2.0 * np.eye(4)]),
        ('frame', ['tool1', 'base_link', []]),
        ('seed', [[[1.0, 0.0], [0.0]], Q + 0.5j, np.zeros(5), np.full(7, np.nan)]),
        ('locked_joints', ['elbow_pitch', 3, np.array(['elbow_pitch', 'wrist_pitch']), [3], len]),
        ('joint_weights', [[1.0], 3, np.ones(7), {'elbow_pitch': 'a'}, {'elbow_pitch': None}]),
        ('joint_weights', [{'elbow': 1.0}, {'elbow_pitch': 0.0}, {'elbow_pitch': np.nan}]),
        ('slack', ['a', np.ones(5), [np.nan] * 6, {}, -1.0, np.inf, np.nan]),
        ('posture', ['middle', np.ones(6), [np.nan] * 7, {}]),
        ('position_tolerance', [[1e-5], np.ones(3), 'a', 0.0, -1.0, np.nan, 10**400]),
        ('rotation_tolerance', [[1e-5], {}, 0.0, np.nan]),
        ('position_only', [[True], 'yes', np.ones(2), 1]),
        ('timeout', [0.0, -1.0, np.inf, 'a', [1.0]]),
        ('max_restarts', [-1, 1.5, 'a', None]),
        ('random_seed', [-1, 'a', 1.0]),
        ('supports', [['tool0'], 'tool0', {'tool0': 'glue'}]),
    ],
)
def test_a_wrong_option_of_inverse_kinematics_is_told(option, values):
    methods = [ARM.inverse_kinematics, ARM.all_inverse_kinematics]
    for value in values:
        for method in methods[: 1 if option in ('position_only', 'supports', 'posture') else 2]:
            with pytest.raises(InvalidArgumentError, match=f'^{option}') as refused:
                method(**{'target': TARGET, 'frame': 'tool0', option: value})
            assert refused.value.argument.startswith(option)


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        (('jacobian', 'tool0'), r"kernel: 'jacobian:tool0'; expected jacobian:FRAME\[:REFERENCE\]"),
        (('gravity', 'tool0'), "kernel: 'gravity:tool0'; expected gravity"),
        (('jacobian', ['tool0'], 'local'), 'unknown frame'),
        (('hybrid_dynamics', '-1'), 'indices of v, from 0 to 6'),
        (('hybrid_dynamics', '7'), 'indices of v, from 0 to 6'),
        (('operational_space', 'tool0', '06'), 'digits from 0 to 5'),
        (('operational_space', 'tool0', ''), 'digits from 0 to 5'),
        ((['gravity'],), 'unknown name'),
    ],
)
def test_a_kernel_that_there_is_not(key, message):
    with pytest.raises(InvalidArgumentError, match=message) as refused:
        ARM.kernel(*key)
    assert (
        isinstance(refused.value, UnknownNameError) == (not isinstance(key[0], str))
        or 'frame' in message
    )


@pytest.mark.parametrize('name', ['model', 'nq', 'joint_names', 'lower_limits', 'total_mass'])
def test_attributes_of_a_robot_are_fixed(name):
    robot = Robot.from_urdf(ARM_TEXT)
    before = getattr(robot, name)
    with pytest.raises(FixedAttributeError, match=f'^{name}: cannot be changed; with_payload'):
        setattr(robot, name, 5)
    with pytest.raises(FixedAttributeError):
        delattr(robot, name)
    assert getattr(robot, name) is before


@pytest.mark.parametrize('shape', [(0, 7), (0, 3, 7), (3, 0, 7)])
def test_no_states_have_results_of_their_shape(shape):
    none, leading = np.zeros(shape), shape[:-1]
    assert ARM.gravity(none).shape == shape
    assert ARM.jacobian(none, 'tool0').shape == (*leading, 6, 7)
    assert ARM.constrained_forward_dynamics(none, none, none, 'tool0')[1].shape == (*leading, 3)
    assert ARM.impact(none, none, 'tool0')[0].shape == shape
    assert ARM.inverse_kinematics(np.zeros((*leading, 4, 4)), 'tool0').q.shape == shape
    with pytest.raises(InvalidArgumentError, match=r'^v: nan'):
        ARM.inverse_dynamics(none, np.full(7, np.nan), Q)


@pytest.mark.parametrize('kind', [Robot, RigidBodySystem])
def test_attributes_that_no_class_declares_are_refused(kind):
    robot = kind.from_urdf(ARM_TEXT)
    for other in (robot, robot.with_gravity((0, 0, 0)), copy.copy(robot), copy.deepcopy(robot)):
        other.gravity(Q)
        for name in ('gravity_vector', 'payload', 'kept', '_mine'):
            with pytest.raises(FixedAttributeError, match=f'^{name}: no attribute .*with_gravity'):
                setattr(other, name, 0)
            assert not hasattr(other, name)
        with pytest.raises(FixedAttributeError, match=r'^gravity: is a method; .*with_gravity'):
            other.gravity = (0.0, 0.0, 0.0)
    robot.gravity = lambda q: 0.0 * q
    np.testing.assert_array_equal(robot.gravity(Q), 0.0)


def test_errors_reach_another_process():
    for error in (
        errors.TooLargeError('arm: mass_matrix', 5),
        errors.RankDeficientError('J', 1, 2, 'choose fewer rows'),
        errors.UnknownFrameError('frame', 'tol', ['tool']),
    ):
        same = pickle.loads(pickle.dumps(error))
        assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    ('error', 'call', 'nearest'),
    [
        (UnknownFrameError, lambda: ARM.inverse_kinematics(TARGET, 'tool'), 'tool0'),
        (UnknownFrameError, lambda: ARM.inverse_dynamics(Q, Q, Q, {'tool': [0.0] * 6}), 'tool0'),
        (UnknownFrameError, lambda: ARM.with_payload('tool', 1.0), 'tool0'),
        (UnknownJointError, lambda: ARM.with_locked({'elbow': 0.0}), 'elbow_pitch'),
        (
            UnknownJointError,
            lambda: ARM.inverse_kinematics(TARGET, 'tool0', locked_joints=['elbow']),
            'elbow_pitch',
        ),
    ],
)
def test_an_unknown_name_is_answered_with_those_nearest_to_it(error, call, nearest):
    with pytest.raises(error, match=nearest) as refused:
        call()
    assert refused.value.name in ('tool', 'elbow')
