# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact dynamics agrees with Pinocchio's, on a quadruped and a humanoid."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from laws import assert_close
from tolerances import AGAINST_PINOCCHIO

from benchmarks.pinocchio_contacts import PinocchioContacts
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.constraints import (
    ClosedLoop,
    Contact,
    consistent_acceleration,
    constraint_jacobian,
    split_forces,
    support_projector,
)

TALOS = urdf_path('talos_reduced')

FEET = {
    'anymal': ('point', ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')),
    'talos_reduced': ('surface', ('left_sole_link', 'right_sole_link')),
}


@pytest.fixture(scope='module', params=FEET)
def walker(request):
    """A robot with its feet on the ground, Pinocchio's, and the contacts."""
    text = urdf_path(request.param).read_text()
    robot = Robot.from_urdf(text, 'floating', backend='python')
    kind, feet = FEET[request.param]
    contacts = [Contact(foot, kind, (0.02, 0.01, -0.03)) for foot in feet]
    return robot, PinocchioPeer(text, robot), contacts


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), 'floating', backend='python')


@pytest.fixture(scope='module')
def talos():
    return Robot.from_urdf(TALOS, 'floating', backend='python')


def state_in_contact(robot, contacts, seed=5):
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, tau = rng.normal(size=(2, robot.nv))
    return q, support_projector(robot, q, contacts) @ v, tau


def test_accelerations_and_contact_forces(walker):
    robot, peer, contacts = walker
    q, v, tau = state_in_contact(robot, contacts)
    a, forces = robot.constrained_forward_dynamics(q, v, tau, contacts)
    theirs = PinocchioContacts(peer, contacts).forward_dynamics(q, v, tau)
    assert_close(a, theirs[0], AGAINST_PINOCCHIO)
    assert_close(forces, theirs[1], AGAINST_PINOCCHIO)


@pytest.mark.parametrize('restitution', [0.0, 0.3])
def test_impacts(walker, restitution):
    robot, peer, contacts = walker
    q, _, _ = state_in_contact(robot, contacts)
    v = np.random.default_rng(3).normal(size=robot.nv)
    after, _ = robot.impact(q, v, contacts, restitution)
    theirs = PinocchioContacts(peer, contacts).impact(q, v, restitution)
    assert_close(after, theirs, AGAINST_PINOCCHIO)


def test_contacts_bear_the_weight_of_a_robot_at_rest(walker):
    robot, _, contacts = walker
    q, v, _ = state_in_contact(robot, contacts)
    rest = np.zeros(robot.nv)
    tau, forces = robot.constrained_inverse_dynamics(q, 0.0 * v, rest, contacts)
    total = sum(part[:3] for part in split_forces(forces, contacts))
    # The environment pushes up: forces on the robot are positive.
    assert_close(total, np.array([0.0, 0.0, 9.81 * robot.total_mass]))
    assert not tau[:6].any()
    a, _ = robot.constrained_forward_dynamics(q, 0.0 * v, tau, contacts)
    assert_close(a, rest, AGAINST_PINOCCHIO, 100.0)


def test_torques_that_move_a_robot_in_contact(walker):
    robot, peer, contacts = walker
    q, v, tau = state_in_contact(robot, contacts)
    a = consistent_acceleration(robot, q, v, tau, contacts)
    torques, forces = robot.constrained_inverse_dynamics(q, v, a, contacts)
    assert not torques[:6].any()
    theirs = PinocchioContacts(peer, contacts).forward_dynamics(q, v, torques)
    assert_close(theirs[0], a, AGAINST_PINOCCHIO, 100.0)
    assert_close(theirs[1], forces, AGAINST_PINOCCHIO)
    # [RD] eq. 3.100, written out.
    N, S = support_projector(robot, q, contacts), np.eye(robot.nv)[6:]
    needed = N.T @ robot.inverse_dynamics(q, v, a)
    expected = np.linalg.pinv(N.T @ S.T, rcond=1e-9) @ needed
    assert_close(torques[6:], expected, 10 * AGAINST_PINOCCHIO)


def test_corners_of_a_foot_together_are_its_surface(talos):
    corners = [(0.1, 0.05, 0.0), (-0.1, 0.05, 0.0), (0.1, -0.05, 0.0), (-0.1, -0.05, 0.0)]
    points = [Contact('left_sole_link', point=corner) for corner in corners]
    surface = Contact('left_sole_link', 'surface')
    q, v, tau = state_in_contact(talos, surface)
    a, forces = talos.constrained_forward_dynamics(q, v, tau, points)
    expected, wrench = talos.constrained_forward_dynamics(q, v, tau, surface)
    assert_close(a, expected, AGAINST_PINOCCHIO)
    assert_close(sum(split_forces(forces, points)), wrench[:3], AGAINST_PINOCCHIO)


def pinocchio_loop(peer, loop, q, v, tau):
    """Accelerations, and the wrench of the weld in the axes of the first frame, by Pinocchio."""
    model, data = peer.model, peer.data
    first, second = (model.frames[peer.frame_id(name)] for name in (loop.frame, loop.other))
    pin.framesForwardKinematics(model, data, peer.configuration(q))
    placement = first.placement * pin.SE3(np.eye(3), np.array(loop.point))
    weld = data.oMi[first.parentJoint] * placement
    constraint = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D,
        model,
        first.parentJoint,
        placement,
        second.parentJoint,
        data.oMi[second.parentJoint].inverse() * weld,
        pin.LOCAL,
    )
    models, workspace = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    workspace.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, workspace)
    state = peer.configuration(q), peer.velocity(v), peer.G @ tau
    a = pin.constraintDynamics(model, data, *state, models, workspace)
    return peer.G.T @ a, workspace[0].contact_force


def test_hands_that_hold_the_same_thing(talos):
    """A loop through both arms: neither hand moves against the other."""
    left, right = 'gripper_left_base_link', 'gripper_right_base_link'
    q = talos.random_configuration(5)
    loop = ClosedLoop.closed_at(talos, q, left, right, 'pose', (0.0, 0.1, 0.0))
    assert_close(loop.gap(talos, q), np.zeros(6))
    v, tau = np.random.default_rng(6).normal(size=(2, talos.nv))
    v = support_projector(talos, q, loop) @ v
    J = constraint_jacobian(talos, q, loop)
    # It binds arms and torso to each other and leaves the base free.
    assert np.linalg.matrix_rank(J) == 6
    assert_close(J[:, :6], np.zeros((6, 6)))
    turns = [talos.frame_velocity(q, v, hand)[3:] for hand in (left, right)]
    assert_close(turns[0], turns[1])
    a, wrench = talos.constrained_forward_dynamics(q, v, tau, loop)
    theirs, force = pinocchio_loop(PinocchioPeer(TALOS.read_text(), talos), loop, q, v, tau)
    assert_close(a, theirs, AGAINST_PINOCCHIO)
    R = talos.forward_kinematics(q, left)[:3, :3]
    assert_close(wrench, np.concatenate([R @ force.linear, R @ force.angular]), AGAINST_PINOCCHIO)
    assert_close(talos.inverse_dynamics(q, v, a) - J.T @ wrench, tau, AGAINST_PINOCCHIO, 1e3)
    assert_close((talos.inverse_dynamics(q, v, a) - tau)[:6], np.zeros(6), AGAINST_PINOCCHIO, 1e3)
