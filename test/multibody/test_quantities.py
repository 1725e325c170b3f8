# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A quantity is declared once: its method, kernel, stub, export and documents follow from that."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from arm import ARM

from dynamics_ros import Robot
from dynamics_ros.algorithms.quantity import DEFAULT_REFERENCE, DEFINITIONS, Options, define
from dynamics_ros.export import export_kernels
from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.autodiff import derivative
from dynamics_ros.multibody import quantity_methods
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

METHODS = {name: x for name, x in DEFINITIONS.items() if not x.internal}

AFTER_INPUTS = {
    Options.NONE: {},
    Options.FRAME: {'frame': None},
    Options.FRAME_AND_REFERENCE: {'frame': None, 'reference': DEFAULT_REFERENCE},
    Options.WRENCHES: {'external_wrenches': None},
    Options.PRESCRIBED: {'prescribed': inspect.Parameter.empty, 'external_wrenches': None},
}
"""Of a method the parameters after the inputs of its kernel, with their defaults."""

OPTIONS = {
    Options.FRAME: ('tool0',),
    Options.FRAME_AND_REFERENCE: ('tool0', 'local'),
}

INTERNAL = {
    'pose': ('tool0',),
    'of_frames': ('jacobian', 'world', 'tool0', 'base_link'),
    'link_transforms': ('',),
    'gravity_of': ('shoulder_yaw', 'shoulder_pitch'),
    'observer_step': ('midpoint',),
    'contact_excess': (),
    'torque_on_bodies': (),
    'sample_departure': (),
    'location_evidence': (),
    'motion_check': (),
    'contact_wrenches': ('3', 'tool0', '', 'tool0', ''),
    'foot_contacts': ('tool0',),
    'damped_inverse': (),
    'joint_friction': (),
    'setpoint_step': (),
    'operational_space': ('tool0',),
    'motion_torques': ('tool0', '012'),
    'operational_space_torques': ('tool0', '012'),
    'constraint_rows': ('point', 'tool0'),
    'constraint_slopes': ('point', 'tool0'),
    'constrained_forward_dynamics': ('point', 'tool0'),
    'dynamics_in_contact': ('point', 'tool0'),
    'constrained_dynamics_derivatives': ('normal', 'tool0'),
    'impedance_step': ('tool0',),
    'torque_step': (),
    'stop_step': ('tool0',),
    'blind_stop_step': (),
    'holding_back': ('tool0',),
    'floating_torques': (),
    'runaway_step': (),
    'inverse_kinematics_search': ('tool0',),
    'inverse_kinematics_check': ('tool0',),
}
"""Options with which the internal quantities of the arm can be traced."""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(ARM, backend='python')


@pytest.mark.parametrize('name', METHODS)
class TestMethods:
    def test_take_the_inputs_of_the_kernel_then_its_options(self, robot, name):
        options = OPTIONS.get(METHODS[name].options, ())
        inputs = list(define(robot.model, (name, *options)).inputs)
        wrenches = 'external_wrenches' in AFTER_INPUTS[METHODS[name].options]
        assert wrenches or set(inputs) <= set(METHODS[name].meanings)
        _, *parameters = inspect.signature(getattr(RigidBodySystem, name)).parameters.values()
        time = {'dt': 1.0} if name == 'integrate' else {}
        after = {**time, **AFTER_INPUTS[METHODS[name].options], 'out': None}
        assert [x.name for x in parameters] == [*inputs, *after]
        assert {x.name: x.default for x in parameters[len(inputs) :]} == after


@pytest.mark.parametrize('name', [*METHODS, *INTERNAL])
def test_every_output_of_a_kernel_is_explained(robot, name):
    options = INTERNAL.get(name, OPTIONS.get(DEFINITIONS[name].options, ()))
    outputs = [x.name for x in robot.kernel(name, *options).trace.outputs]
    if name == 'link_transforms':
        assert DEFINITIONS[name].outputs == {}
    else:
        assert list(DEFINITIONS[name].outputs) == outputs
        assert all(DEFINITIONS[name].outputs.values())


@pytest.mark.parametrize('name', [x for x in INTERNAL if DEFINITIONS[x].exported])
def test_every_input_of_a_law_is_explained(robot, name):
    inputs = define(robot.model, (name, *INTERNAL[name])).inputs
    assert set(DEFINITIONS[name].meanings) >= set(inputs)


MODULE = """
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.quantity import Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar


@quantity('power against gravity', '[W]', may_overflow=True)
def power_against_gravity(model: Model, q: Q, v: V) -> Scalar:
    return dot(gravity_torques(model, q), v)
"""


@pytest.fixture
def power(tmp_path, monkeypatch):
    (tmp_path / 'quantity_of_a_user.py').write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module('quantity_of_a_user').power_against_gravity
    del DEFINITIONS['power_against_gravity']
    del quantity_methods.QuantityMethods.power_against_gravity


def test_one_declaration_adds_a_quantity_everywhere(power, robot, tmp_path):
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1.0, 1.0, (2, 5, robot.nq))
    expected = np.sum(robot.gravity(q) * v, axis=-1)
    np.testing.assert_allclose(robot.power_against_gravity(q, v), expected)
    np.testing.assert_allclose(robot.power_against_gravity(q[0], v[0]), expected[0])
    assert 'power_against_gravity' in dir(robot)
    assert 'Power against gravity' in inspect.getdoc(Robot.power_against_gravity)

    traced = robot.kernel('power_against_gravity').trace
    slopes = Kernel(derivative(traced, 'v'), 'python')(q[0], v[0])
    np.testing.assert_allclose(slopes, robot.gravity(q[0]))

    export_kernels(robot, ['power_against_gravity'], tmp_path, 'arm')
    assert 'Power against gravity.' in (tmp_path / 'arm_kernels.h').read_text()
