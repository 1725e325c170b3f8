# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole-body control of a robot in contact by prioritized tasks ([RD] 3.10.4).

The unknown is x = (a, f, tau): accelerations, forces of the environment on the robot, torques of
the actuated joints ([RD] eq. 3.109, f with the opposite sign).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.constraints import Constraints
from dynamics_ros.constraints.dynamics import actuated_mask, rows_and_bias
from dynamics_ros.constraints.kinds import Contact, constraint_list
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.joints import plane_axes
from dynamics_ros.multibody.arguments import check_count, check_not_negative, finite_vector
from dynamics_ros.multibody.kernel_methods import Wrenches
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import Vector3

from .hierarchy import HierarchySolution, Level, solve_hierarchy

ALL_ROWS = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class WholeBodyMotion:
    """Solution of a whole-body problem.

    Attributes:
        a: (nv) accelerations.
        forces: (rows) of the environment on the robot, stacked as in ``constraint_jacobian``.
        tau: (nv), zero for joints without actuator.
        violations: norm of the violations of each level.
    """

    a: Array
    forces: Array
    tau: Array
    violations: tuple[float, ...]


class WholeBodyProblem:
    """Makes task levels for one state of a robot; ``solve`` solves them in priority order.

    Attributes:
        robot, q, v: the state.
        contacts: constraints of the robot.
        actuated: mask (nv) of the actuated joints.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        q: ArrayLike,
        v: ArrayLike,
        contacts: Constraints = (),
        actuated: Sequence[bool] | NDArray[np.bool_] | None = None,
        external_wrenches: Wrenches | None = None,
    ) -> None:
        """Evaluate the dynamics of one state.

        Args:
            robot: the robot.
            q, v: (nq), (nv).
            contacts: as for ``constrained_forward_dynamics``.
            actuated: (nv) booleans; None is every joint but the root joint of a moving base.
            external_wrenches: known wrenches besides the contact forces, as for
                ``RigidBodySystem.inverse_dynamics``.
        """
        self.robot = robot
        self.q = finite_vector('q', q, robot.nq)
        self.v = finite_vector('v', v, robot.nv)
        self.contacts = constraint_list(contacts)
        self.actuated = actuated_mask(robot, actuated)
        self._M = robot.mass_matrix(self.q)
        self._h = robot.nonlinear_effects(self.q, self.v)
        if external_wrenches is not None:
            self._h = self._h - robot.wrench_torques(self.q, external_wrenches)
        self._J, self._bias = rows_and_bias(robot, self.q, self.v, self.contacts)
        self._torques = int(self.actuated.sum())
        rows = len(self._bias)
        self._ends = (robot.nv, robot.nv + rows, robot.nv + rows + self._torques)

    def solve(self, levels: Sequence[Level]) -> WholeBodyMotion:
        """Solve the levels in priority order, below the equations of motion.

        Equations of motion and contacts at rest have the highest priority; the solution does not
        list their violations.
        """
        physics = self.equations_of_motion() + self.contacts_at_rest()
        solution: HierarchySolution = solve_hierarchy([physics, *levels])
        a, forces, torques = np.split(solution.x, self._ends[:-1])
        tau = np.zeros(self.robot.nv)
        tau[self.actuated] = torques
        return WholeBodyMotion(a, forces, tau, solution.violations[1:])

    def equations_of_motion(self) -> Level:
        """M a - J_c^T f - S^T tau = -(C v + g) + J^T w ([RD] eq. 3.110), with known wrenches w."""
        S = np.eye(self.robot.nv)[self.actuated]
        return Level.equality(np.hstack([self._M, -self._J.T, -S.T]), -self._h)

    def contacts_at_rest(self) -> Level:
        """J_c a + J_c-dot v = 0 ([RD] eq. 3.61)."""
        return self.acceleration(self._J, -self._bias)

    def acceleration(self, matrix: ArrayLike, target: ArrayLike) -> Level:
        """A a = b with any matrix A (m, nv); subtract J-dot v from the target ([RD] eq. 3.111)."""
        A = np.asarray(matrix, dtype=np.float64)
        return Level.equality(self._columns(A, 0), target)

    def joint_accelerations(self, target: ArrayLike) -> Level:
        """Accelerations (joints) of all joints except the base ([RD] eq. 3.115)."""
        return self.acceleration(np.eye(self.robot.nv)[self.robot.model.root_joint_nv :], target)

    def frame_acceleration(
        self, frame: str, target: ArrayLike, rows: Sequence[int] = ALL_ROWS
    ) -> Level:
        """Acceleration of a frame in root axes ([RD] eq. 3.111).

        Args:
            frame: name of the frame.
            target: (m) [m/s^2, rad/s^2] of the chosen rows.
            rows: controlled components of x y z, rx ry rz.
        """
        chosen = list(rows)
        J = self.robot.jacobian(self.q, frame)[chosen]
        bias = self.robot.frame_acceleration(self.q, self.v, np.zeros(self.robot.nv), frame)
        return self.acceleration(J, finite_vector('target', target, len(chosen)) - bias[chosen])

    def center_of_mass_acceleration(self, target: ArrayLike) -> Level:
        """Acceleration (3) of a floating robot's centre of mass in root axes [m/s^2].

        The external force is m (a_c - gravity), and the first rows of M a + C v + g are that force
        in the base frame.

        Raises:
            InvalidArgumentError: the base does not float, so the ground adds another force.
        """
        model = self.robot.model
        if model.root_joint != 'floating':
            raise InvalidArgumentError(
                'robot', f'its base is {model.root_joint}', 'a floating base'
            )
        pose = self.robot.forward_kinematics(self.q, self.robot.body_names[0])
        R = pose[:3, :3] / self.robot.total_mass
        rest = np.array([*model.gravity]) + R @ self._h[:3]
        return self.acceleration(R @ self._M[:3], finite_vector('target', target, 3) - rest)

    def contact_forces(self, target: ArrayLike) -> Level:
        """Forces (rows) of all constraints ([RD] eq. 3.112); target zero minimizes them."""
        return Level.equality(self._columns(np.eye(len(self._bias)), 1), target)

    def torques(self, target: ArrayLike) -> Level:
        """Torques of the actuated joints; target zero minimizes them ([RD] eq. 3.113)."""
        return Level.equality(self._columns(np.eye(self._torques), 2), target)

    def torque_limits(self, limits: ArrayLike | None = None) -> Level:
        """|tau| <= limits.

        Args:
            limits: one per actuated joint [Nm or N], inf for none; None means those of the
                description.
        """
        if limits is None:
            of_base = np.full(self.robot.model.root_joint_nv, np.inf)
            limits = np.concatenate([of_base, self.robot.effort_limits])[self.actuated]
        bound = np.asarray(limits, dtype=np.float64)
        both = np.concatenate([bound, bound])
        eye = np.eye(self._torques)
        return Level.inequality(self._columns(np.vstack([eye, -eye]), 2), both)

    def friction_cones(
        self,
        friction: float,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        least_normal_force: float = 0.0,
        facets: int = 4,
    ) -> Level:
        """Friction pyramid and least normal force of every contact.

        The pyramid lies inside the friction cone, so every allowed force is within friction. It
        constrains the force of a surface contact, not its torque: use several points per foot to
        keep the centre of pressure inside it. Contacts of the kind 'normal' have no friction and
        their own normal; they only push.

        Args:
            friction: coefficient.
            normal: (3) unit normal of the ground in root axes, away from it; or (n, 3), one for
                each of the n contacts among the constraints.
            least_normal_force: [N].
            facets: number of sides of the pyramid, at least 3.
        """
        check_not_negative('friction', friction)
        check_count('facets', facets, 3)
        ends = np.cumsum([constraint.rows for constraint in self.contacts])
        contacts = [
            (constraint, int(end) - constraint.rows)
            for constraint, end in zip(self.contacts, ends, strict=True)
            if isinstance(constraint, Contact)
        ]
        normals = np.broadcast_to(np.asarray(normal, dtype=float), (len(contacts), 3)).tolist()
        rubbing = {
            tuple(n) for (contact, _), n in zip(contacts, normals) if contact.kind != 'normal'
        }
        pyramids = {n: _pyramid(n, friction, facets) for n in rubbing}
        C = np.zeros((len(contacts), facets + 1, len(self._bias)))
        for block, (contact, start), n in zip(C, contacts, normals, strict=True):
            if contact.kind == 'normal':
                block[facets, start] = -1.0
            else:
                block[:, start : start + 3] = pyramids[tuple(n)]
        bound = np.tile(np.append(np.zeros(facets), -least_normal_force), len(contacts))
        return Level.inequality(self._columns(C.reshape(-1, len(self._bias)), 1), bound)

    def _columns(self, block: Array, part: int) -> Array:
        """Insert a block into the columns of a (0), f (1) or tau (2) of x."""
        start, end = (0, *self._ends)[part], self._ends[part]
        if block.ndim != 2 or block.shape[1] != end - start:
            expected = f'shape (m, {end - start})'
            raise InvalidArgumentError('matrix', f'shape {block.shape}', expected)
        result = np.zeros((len(block), self._ends[-1]))
        result[:, start:end] = block
        return result


def _pyramid(normal: tuple[float, ...], friction: float, facets: int) -> Array:
    """Rows (facets + 1, 3) of a friction pyramid, and of the force against the normal.

    Raises:
        InvalidArgumentError: the normal is not of unit length.
    """
    n = Vector3.of(normal)
    if not abs(float(n.norm()) - 1.0) < 1e-6:
        raise InvalidArgumentError('normal', f'{normal}', 'unit vectors')
    axes = np.array([[*axis] for axis in plane_axes(n)], dtype=float)
    angles = 2.0 * np.pi * np.arange(facets) / facets
    # Exact zeros keep the rows of a pyramid along the axes.
    sides = np.round([np.cos(angles), np.sin(angles)], 15).T @ axes
    inward = np.array(normal)
    return np.vstack([sides - friction * np.cos(np.pi / facets) * inward, -inward])
