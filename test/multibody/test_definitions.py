# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a definition says of a quantity agrees with its method, its kernel and its documentation."""

import inspect

import pytest
from arm import ARM

from dynamics_ros import Robot
from dynamics_ros.multibody.definitions import DEFINITIONS, define
from dynamics_ros.multibody.definitions.definition import (
    DEFAULT_REFERENCE,
    INPUTS,
    Options,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

METHODS = {name: x for name, x in DEFINITIONS.items() if not x.internal}

AFTER_INPUTS = {
    Options.NONE: {},
    Options.FRAME: {'frame': inspect.Parameter.empty},
    Options.FRAME_AND_REFERENCE: {
        'frame': inspect.Parameter.empty,
        'reference': DEFAULT_REFERENCE,
    },
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
    'observer_step': ('momentum', 'midpoint'),
    'contact_excess': (),
    'unexplained_torque': (),
    'torque_on_bodies': (),
    'sample_departure': (),
    'location_evidence': (),
    'motion_check': (),
    'contact_wrenches': ('3', 'tool0', '', 'tool0', ''),
    'foot_contacts': ('tool0',),
    'resting_feet': ('tool0',),
    'damped_inverse': (),
    'joint_friction': (),
    'regressor_factor_step': ('0', '12', '76'),
    'setpoint_step': (),
    'joint_impedance': (),
    'inverse_dynamics_control': (),
    'operational_space': ('tool0',),
    'motion_torques': ('tool0', '012'),
    'operational_space_torques': ('tool0',),
    'constrained_forward_dynamics': ('point', 'tool0'),
    'dynamics_in_contact': ('point', 'tool0'),
    'constrained_dynamics_derivatives': ('normal', 'tool0'),
    'impedance_step': ('tool0',),
    'torque_step': (),
    'stop_step': ('tool0',),
    'blind_stop_step': (),
    'holding_back': ('tool0',),
    'task_damping': ('tool0',),
    'held_pose_step': (),
    'reflex_torques': (),
    'runaway_step': (),
    'trail_step': (),
    'retract_step': (),
    'whole_body_program': ('tool0',),
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
        assert set(inputs) <= set(INPUTS)
        _, *parameters = inspect.signature(getattr(RigidBodySystem, name)).parameters.values()
        after = {**AFTER_INPUTS[METHODS[name].options], 'out': None}
        assert [x.name for x in parameters] == [*inputs, *after]
        assert {x.name: x.default for x in parameters[len(inputs) :]} == after

    def test_say_that_they_may_be_singular(self, name):
        documented = 'SingularError' in inspect.getdoc(getattr(RigidBodySystem, name))
        assert documented == METHODS[name].may_be_singular


@pytest.mark.parametrize('name', [*METHODS, *INTERNAL])
def test_every_output_of_a_kernel_is_explained(robot, name):
    options = INTERNAL.get(name, OPTIONS.get(DEFINITIONS[name].options, ()))
    outputs = [x.name for x in robot.kernel(name, *options).trace.outputs]
    if name == 'link_transforms':
        assert DEFINITIONS[name].outputs == {}
    else:
        assert list(DEFINITIONS[name].outputs) == outputs
        assert all(DEFINITIONS[name].outputs.values())


@pytest.mark.parametrize('name', [x for x in INTERNAL if DEFINITIONS[x].inputs is not None])
def test_every_input_of_a_law_is_explained(robot, name):
    inputs = define(robot.model, (name, *INTERNAL[name])).inputs
    assert set(DEFINITIONS[name].inputs) | set(INPUTS) >= set(inputs)
    conditional = {'directions'} if 'directions' not in inputs else set()
    assert set(DEFINITIONS[name].inputs) - conditional <= set(inputs)


def test_every_quantity_is_a_method_or_internal():
    internal = {name for name, x in DEFINITIONS.items() if x.internal}
    assert internal == {*INTERNAL, 'analytic_inverse_kinematics'}
