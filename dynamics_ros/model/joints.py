"""Joint kinds: geometry, motion subspace and manifold of each ([SE3] 7), over any scalar.

The motion subspace S of every kind is constant in the frame of the moving body, so c_J is zero.

| kind | q | v (of the child, in the child frame) |
|---|---|---|
| revolute, continuous | angle [rad] | rate about the axis [rad/s] |
| prismatic | displacement [m] | rate along the axis [m/s] |
| planar | x, y [m] in the plane, angle about its normal [rad] | vx, vy, w |
| floating | x, y, z [m], quaternion x, y, z, w | vx, vy, vz, wx, wy, wz |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.spatial import (
    Matrix3,
    Motion,
    Scalar,
    Transform,
    Vector3,
    exp_left_jacobian,
    log_left_jacobian,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
    quaternion_to_matrix,
    rotation_about,
)

COORDINATES = {'revolute': 1, 'continuous': 1, 'prismatic': 1, 'planar': 3, 'floating': 7}
VELOCITIES = {'revolute': 1, 'continuous': 1, 'prismatic': 1, 'planar': 3, 'floating': 6}

Z = Vector3(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class JointKind:
    """A kind of joint with its axis.

    Attributes:
        name: revolute, continuous, prismatic, planar or floating.
        axis: constant unit axis in the joint frame; the normal of a planar joint.
    """

    name: str
    axis: Vector3 = Z

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return COORDINATES[self.name]

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return VELOCITIES[self.name]

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving body in the joint frame for coordinates q."""
        if self.name == 'prismatic':
            return Transform(Matrix3.identity(), self.axis * q[0])
        if self.name == 'floating':
            x, y, z, *quaternion = q
            return Transform(quaternion_to_matrix(tuple(quaternion)), Vector3(x, y, z))
        if self.name == 'planar':
            ex, ey = plane_axes(self.axis)
            return Transform(rotation_about(self.axis, q[2]), ex * q[0] + ey * q[1])
        return Transform(rotation_about(self.axis, q[0]), Vector3.zero())

    def motion_subspace(self) -> list[Motion]:
        """The columns of S, in the frame of the moving body."""
        zero = Vector3.zero()
        if self.name == 'prismatic':
            return [Motion(self.axis, zero)]
        if self.name == 'floating':
            units = [Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Z]
            return [Motion(unit, zero) for unit in units] + [Motion(zero, unit) for unit in units]
        if self.name == 'planar':
            ex, ey = plane_axes(self.axis)
            return [Motion(ex, zero), Motion(ey, zero), Motion(zero, self.axis)]
        return [Motion(zero, self.axis)]

    def neutral(self) -> list[float]:
        """Coordinates at which the joint transform is the identity."""
        if self.name == 'floating':
            return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        return [0.0] * self.nq

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q exp(v): the coordinates after one second at the constant velocity v ([SE3] 7)."""
        if self.name == 'floating':
            w = Vector3.of(v[3:])
            quaternion = (q[3], q[4], q[5], q[6])
            step = quaternion_to_matrix(quaternion) @ (exp_left_jacobian(w) @ Vector3.of(v[:3]))
            turned = quaternion_product(quaternion, quaternion_exp(w))
            # Rounding would let the length drift over many steps.
            return [*(Vector3.of(q[:3]) + step), *quaternion_normalized(turned)]
        if self.name == 'planar':
            step = exp_left_jacobian(Z * v[2]) @ Vector3(v[0], v[1], 0.0)
            turned_step = rotation_about(Z, q[2]) @ step
            return [q[0] + turned_step.x, q[1] + turned_step.y, q[2] + v[2]]
        return [q[0] + v[0]]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """log(q0^-1 q1): the velocity that takes q0 to q1 in one second.

        The planar angle is not wrapped: its coordinate counts turns.
        """
        if self.name == 'floating':
            quaternion = (q0[3], q0[4], q0[5], q0[6])
            q_01 = quaternion_product(
                quaternion_conjugate(quaternion), (q1[3], q1[4], q1[5], q1[6])
            )
            w = quaternion_log(q_01)
            moved = Vector3.of(q1[:3]) - Vector3.of(q0[:3])
            step = quaternion_to_matrix(quaternion).transpose_apply(moved)
            return [*(log_left_jacobian(w) @ step), *w]
        if self.name == 'planar':
            angle = q1[2] - q0[2]
            moved = Vector3(q1[0] - q0[0], q1[1] - q0[1], 0.0)
            step = rotation_about(Z, q0[2]).transpose_apply(moved)
            v = _planar_log_jacobian(angle) @ step
            return [v.x, v.y, angle]
        return [q1[0] - q0[0]]


def plane_axes(normal: Vector3) -> tuple[Vector3, Vector3]:
    """Two constant unit vectors that span the plane; x and y when the normal is z."""
    along = Vector3(1.0, 0.0, 0.0) if abs(normal.x) < 0.9 else Vector3(0.0, 0.0, 1.0)
    ex = along - normal * normal.dot(along)
    ex = ex * (1.0 / ex.norm())
    return ex, normal.cross(ex)


def _planar_log_jacobian(angle: Scalar) -> Matrix3:
    """Inverse of the left Jacobian of exp for a turn about z that may count several turns."""
    J = exp_left_jacobian(Z * angle)
    a, b = J[0, 0], J[1, 0]
    scale = 1.0 / (a * a + b * b)
    return Matrix3(((a * scale, b * scale, 0.0), (-b * scale, a * scale, 0.0), (0.0, 0.0, 1.0)))
