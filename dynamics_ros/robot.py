"""Robot: a model and its kernels, with NumPy in and out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.kernels.cpython.entry_point import plain_signature
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.multibody.arguments import (
    boolean_mask,
    check_not_negative,
    check_options,
    finite_matrix,
    finite_vector,
    real_vectors,
)
from dynamics_ros.multibody.definitions import KERNEL_NAMES, Key, define
from dynamics_ros.multibody.external_wrenches import Wrenches, frames_and_wrenches, with_frames
from dynamics_ros.multibody.kernel_set import DEFAULT_REFERENCE, KernelInfo, KernelSet

from .algorithms import configuration
from .errors import InvalidArgumentError
from .inverse_kinematics import Solutions, solve_all, solve_each
from .kernels import Kernel
from .model import Joint, Model, build_model
from .robot_constraints import ConstrainedMotion
from .spatial import Inertia, Matrix3, Vector3

Array = NDArray[np.float64]

DEFAULT_GRAVITY = (0.0, 0.0, -9.81)


_Kind = TypeVar('_Kind', bound='Robot')


class Robot(ConstrainedMotion):
    """Kinematics and dynamics of one robot.

    Every method takes and returns float64 arrays and broadcasts over leading axes: q of shape
    (..., nq) gives results of shape (..., ...); ``all_inverse_kinematics`` takes one target. SI
    units. A wrong shape, NaN or infinity raises InvalidArgumentError, an unknown frame
    UnknownFrameError. A robot never changes; its methods may be called from several threads.

    Attributes:
        name: name in the description.
        nq, nv: sizes of q and v.
        joint_names: joints with coordinates of their own after the root joint, in the order of q.
        joint_q_indices, joint_v_indices: index into q and v of the joints of one coordinate.
        frame_names: every link of the description.
        body_names: the link that each moving joint moves.
        root_frame: the frame that poses are given in: the root link, or 'world' for a moving base.
        total_mass: mass of the moving bodies [kg].
        massless_bodies: those of ``body_names`` whose mass the description seems to lack: torques
            are then without their weight and inertia.
        lower_limits, upper_limits: per coordinate after the root joint [rad or m].
        velocity_limits, effort_limits: per velocity after the root joint; inf where there is none.
        model: the Model underneath.
    """

    def __init__(self, model: Model, backend: str = 'auto') -> None:
        """Make a robot of a model.

        Args:
            model: as built by ``dynamics_ros.model.build_model``.
            backend: 'llvm', 'python', or 'auto' for LLVM where llvmlite is there.
        """
        self.model = model
        self.name = model.name
        self.nq = model.nq
        self.nv = model.nv
        self.root_frame = model.root_frame
        joints = model.actuated
        self.joint_names = tuple(joint.name for joint in joints)
        single = [joint for joint in joints if joint.kind.nq == 1]
        self.joint_q_indices = {joint.name: joint.q_indices[0] for joint in single}
        self.joint_v_indices = {joint.name: joint.v_indices[0] for joint in single}
        self.frame_names = tuple(frame.name for frame in model.frames)
        self.body_names = model.body_names
        self.massless_bodies = model.massless_bodies
        self.total_mass = float(sum(inertia.mass for inertia in model.inertias))
        self.lower_limits = _per_coordinate(joints, lambda joint: joint.limits.lower)
        self.upper_limits = _per_coordinate(joints, lambda joint: joint.limits.upper)
        self.velocity_limits = _per_velocity(joints, lambda joint: joint.limits.velocity)
        self.effort_limits = _per_velocity(joints, lambda joint: joint.limits.effort)
        self._without_payload = model
        self._kernel_set = KernelSet(model, backend)
        self._calls = self._kernel_set.calls
        self._shortcuts: dict[str, Callable[..., Any]] = {}

    @classmethod
    def from_urdf(
        cls,
        source: str | os.PathLike[str],
        root_joint: str = 'fixed',
        gravity: Sequence[float] = DEFAULT_GRAVITY,
        locked_joints: Mapping[str, float] | None = None,
        backend: str = 'auto',
    ) -> Robot:
        """Read a robot from URDF.

        Args:
            source: URDF XML text, or a path to a file.
            root_joint: how the root link moves in the world: 'fixed', 'floating' or 'planar'.
            gravity: in the root frame [m/s^2].
            locked_joints: joint name to the constant position it is kept at.
            backend: 'llvm', 'python' or 'auto'.

        Raises:
            ModelError: the description is not a robot; the error names element and reason.
            InvalidArgumentError: another argument is wrong.
        """
        model = build_model(read_urdf(source), root_joint, gravity, locked_joints)
        return cls(model, backend)

    def with_gravity(self: _Kind, gravity: Sequence[float]) -> _Kind:
        """The same robot, payload included, under another gravity [m/s^2] in the root frame."""
        return self._remade(
            self.model.with_gravity(gravity), self._without_payload.with_gravity(gravity)
        )

    def with_payload(
        self: _Kind,
        frame: str | None,
        mass: float = 0.0,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> _Kind:
        """The robot with a rigid payload in place of the one it may hold.

        Args:
            frame: what the payload is fixed to; None takes the payload away.
            mass: kg; 0 takes the payload away.
            center_of_mass: (3) in the frame [m].
            inertia: (3, 3) about the centre of mass in the frame's axes [kg m^2]; None is a point.

        Raises:
            InvalidArgumentError: a negative mass, a wrong shape, or an inertia that is not
                symmetric positive semidefinite.
            UnknownFrameError: no such frame.
        """
        bare = self._without_payload
        payload = _payload_inertia(mass, center_of_mass, inertia)
        model = bare if frame is None else bare.with_added_inertia(frame, payload)
        return self._remade(model, bare)

    def _remade(self: _Kind, model: Model, without_payload: Model) -> _Kind:
        """A robot of the same class, with what a subclass or a user has added to this one."""
        made, arguments, added = self.__reduce__()
        other: _Kind = made(*arguments[:2], model, without_payload)
        other.__dict__.update(added)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code stays in its process; a copy makes its own.
        backend = self._kernel_set.backend
        own = vars(Robot(self.model, backend)).keys() | self._shortcuts.keys()
        added = {
            name: value
            for name, value in vars(self).items()
            if name not in own or value is not self._shortcuts.get(name, value)
        }
        return _restored, (type(self), backend, self.model, self._without_payload), added

    @property
    def kernels(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        return self._kernel_set.info()

    def has_kernels(self, names: Iterable[str]) -> bool:
        """Whether all of these, named as in ``kernels``, have been compiled so far."""
        return self._kernel_set.names.issuperset(names)

    def kernel(self, name: str, *options: str) -> Kernel:
        """The compiled function of a name, for callers that keep their own arrays."""
        return self._kernel_set.kernel((name, *options))

    # Configurations.

    def neutral(self) -> Array:
        """The configuration (nq) in which every joint transform is the identity."""
        return np.array(configuration.neutral(self.model))

    def random_configuration(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration (nq), uniform within the limits.

        Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

        Args:
            rng: a NumPy generator, or a seed.
        """
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise InvalidArgumentError('rng', repr(rng), 'a NumPy generator or a seed') from None
        q = self.neutral()
        for joint in self.model.joints:
            if joint.leader is not None:
                continue
            if joint.kind.name == 'floating':
                quaternion = generator.normal(size=4)
                values = [*generator.uniform(-1.0, 1.0, 3), *quaternion]
                values[3:] = quaternion / np.linalg.norm(quaternion)
            elif joint.kind.name == 'planar':
                values = [*generator.uniform(-1.0, 1.0, 2), generator.uniform(-np.pi, np.pi)]
            else:
                reach = 1.0 if joint.kind.name == 'prismatic' else np.pi
                lower, upper = joint.limits.lower, joint.limits.upper
                values = [
                    generator.uniform(
                        lower if np.isfinite(lower) else min(-reach, upper - reach),
                        upper if np.isfinite(upper) else max(reach, lower + reach),
                    )
                ]
            q[list(joint.q_indices)] = values
        return q

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The configuration (..., nq) after one second at the constant velocity v ([SE3] 7)."""
        return self._run(('integrate',), q, v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The velocity (..., nv) that takes q0 to q1 in one second; inverse of ``integrate``."""
        return self._run(('difference',), q0, q1)

    def interpolate(self, q0: ArrayLike, q1: ArrayLike, t: ArrayLike) -> Array:
        """The configuration (..., nq) at t between q0 (t = 0) and q1 (t = 1)."""
        return self._run(('interpolate',), q0, q1, t)

    # Kinematics.

    def forward_kinematics(self, q: ArrayLike, frame: str) -> Array:
        """Pose (..., 4, 4) of a frame in the root frame ([RD] eq. 2.138)."""
        return self._run(('forward_kinematics', frame), q)

    def all_frames(self, q: ArrayLike) -> Array:
        """Poses (..., n, 4, 4) of all frames in the root frame, in the order of frame_names."""
        return self._run(('all_frames',), q)

    def frame_velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: str = DEFAULT_REFERENCE
    ) -> Array:
        """Twist (..., 6) of a frame with respect to the root frame: linear, then angular.

        Args:
            q, v: configuration and velocity.
            frame: whose twist.
            reference: 'world' (spatial), 'local' (body), or 'local_world_aligned' (velocity of the
                frame's origin and angular velocity, in root axes).
        """
        return self._run(('frame_velocity', frame, reference), q, v)

    def frame_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str,
        reference: str = DEFAULT_REFERENCE,
    ) -> Array:
        """Time derivative (..., 6) of the twist of ``frame_velocity``: J a + J-dot v.

        In 'local_world_aligned' the linear part is the acceleration of the frame's origin.
        """
        return self._run(('frame_acceleration', frame, reference), q, v, a)

    def jacobian(self, q: ArrayLike, frame: str, reference: str = DEFAULT_REFERENCE) -> Array:
        """Geometric Jacobian (..., 6, nv), rows linear then angular ([RD] eq. 2.164)."""
        return self._run(('jacobian', frame, reference), q)

    def jacobian_derivative(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: str = DEFAULT_REFERENCE
    ) -> Array:
        """Time derivative (..., 6, nv) of ``jacobian`` along the velocity v."""
        return self._run(('jacobian_derivative', frame, reference), q, v)

    def jacobian_hessian(
        self, q: ArrayLike, frame: str, reference: str = DEFAULT_REFERENCE
    ) -> Array:
        """dJ/dq (..., 6, nv, nv): entry [:, j, k] is the rate of column j along velocity k."""
        return self._run(('jacobian_hessian', frame, reference), q)

    # Dynamics.

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external_wrenches: Wrenches | None = None
    ) -> Array:
        """tau (..., nv) = M a + C v + g - J^T w, by recursive Newton-Euler ([SE3] 8).

        Args:
            q, v, a: configuration, velocity, acceleration.
            external_wrenches: frame name to the wrench (..., 6) of the environment on the robot
                at that frame, in that frame: force [N], then torque [Nm].
        """
        if external_wrenches is None:
            return self._run(('inverse_dynamics',), q, v, a)
        return self._under_wrenches('inverse_dynamics', external_wrenches, q, v, a)

    def gravity(self, q: ArrayLike) -> Array:
        """g (..., nv): the torques that hold the robot at rest against gravity."""
        return self._run(('gravity',), q)

    def nonlinear_effects(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C v + g (..., nv)."""
        return self._run(('nonlinear_effects',), q, v)

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C (..., nv, nv) with M-dot - 2 C skew-symmetric ([Echeandia2021])."""
        return self._run(('coriolis',), q, v)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M (..., nv, nv), symmetric ([RD] eq. 3.43)."""
        return self._run(('mass_matrix',), q)

    def mass_matrix_inverse(self, q: ArrayLike) -> Array:
        """M^-1 (..., nv, nv).

        Raises:
            SingularError: a joint moves nothing that has mass or inertia.
        """
        return self._run(('mass_matrix_inverse',), q)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external_wrenches: Wrenches | None = None
    ) -> Array:
        """a (..., nv) = M^-1 (tau - C v - g + J^T w), by articulated bodies ([Lie] 2.2).

        Args:
            q, v, tau: configuration, velocity, torques.
            external_wrenches: as for ``inverse_dynamics``.

        Raises:
            SingularError: a joint moves nothing that has mass or inertia.
        """
        if external_wrenches is None:
            return self._run(('forward_dynamics',), q, v, tau)
        return self._under_wrenches('forward_dynamics', external_wrenches, q, v, tau)

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
    ) -> tuple[Array, Array]:
        """All accelerations and torques (..., nv each) from one of the two per joint ([Lie] 2.3).

        Args:
            q, v: configuration and velocity.
            a: accelerations, read where prescribed.
            tau: torques, read where not prescribed.
            prescribed: (nv) booleans; one kernel is compiled for each mask that is used.

        Raises:
            SingularError: a free joint moves nothing that has mass or inertia.
        """
        mask = boolean_mask('prescribed', prescribed, self.nv)
        key = ('hybrid_dynamics', *(str(k) for k in np.flatnonzero(mask)))
        # What is not read may be anything, NaN too.
        given = np.where(mask, real_vectors('a', a, self.nv), 0.0)
        known = np.where(mask, 0.0, real_vectors('tau', tau, self.nv))
        accelerations, torques = self._run(key, q, v, given, known)
        return accelerations, torques

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv, dtau/da (..., nv, nv each) of ``inverse_dynamics`` ([Singh2022]).

        Derivatives with respect to q are along velocities, so a floating base has six.
        """
        dq, dv, da = self._run(('inverse_dynamics_derivatives',), q, v, a)
        return dq, dv, da

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv, da/dtau (..., nv, nv each) of ``forward_dynamics`` ([Lie] 4).

        Raises:
            SingularError: a joint moves nothing that has mass or inertia.
        """
        dq, dv, dtau = self._run(('forward_dynamics_derivatives',), q, v, tau)
        return dq, dv, dtau

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y (..., nv, 10 bodies) with tau = Y pi ([Atkeson1986]).

        pi stacks, per body of body_names: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin
        of the body frame; ``inertial_parameters`` gives it.
        """
        return self._run(('regressor',), q, v, a)

    def inertial_parameters(self) -> Array:
        """pi (10 bodies) of the model, in the order of the columns of ``regressor``."""
        return np.array([inertia.parameters() for inertia in self.model.inertias]).ravel()

    def momentum_observer_terms(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """p = M v and beta = C^T v - g (..., nv each): dp/dt = tau + beta + external torque."""
        p, beta = self._run(('momentum_observer_terms',), q, v)
        return p, beta

    # Energies and mass distribution.

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """v^T M v / 2 (...) [J]."""
        return self._run(('kinetic_energy',), q, v)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Energy (...) [J] in the field of gravity, zero with all mass at the root's origin."""
        return self._run(('potential_energy',), q)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass (..., 3) of the moving bodies in the root frame [m]."""
        return self._run(('center_of_mass',), q)

    def com_jacobian(self, q: ArrayLike) -> Array:
        """Jacobian (..., 3, nv) of the centre of mass, in root axes."""
        return self._run(('com_jacobian',), q)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Momentum (..., 6): linear, then angular about the centre of mass, in root axes."""
        return self._run(('centroidal_momentum',), q, v)

    def centroidal_map(self, q: ArrayLike) -> Array:
        """A (..., 6, nv) with ``centroidal_momentum`` = A v ([Orin2013])."""
        return self._run(('centroidal_map',), q)

    # Inverse kinematics.

    def inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str | Sequence[str],
        seed: ArrayLike | None = None,
        **options: Any,
    ) -> Any:
        """An InverseKinematicsResult: a configuration that brings a frame to a pose, within limits.

        Of targets or seeds with leading axes InverseKinematicsResults.

        Args:
            target: (..., 4, 4) pose in the root frame; (..., m, 4, 4) of a list of m frames.
            frame: what is brought there.
            seed: (..., nq) tried first; None is the middle of the limits.
            options: of ``dynamics_ros.inverse_kinematics.solve``.

        Raises:
            UnknownOptionError: an option that there is not.
        """
        return solve_each(self, target, frame, seed, options)

    def all_inverse_kinematics(
        self, target: ArrayLike, frame: str, seed: ArrayLike | None = None, **options: Any
    ) -> Solutions:
        """Distinct solutions, the nearest to the seed first.

        Args:
            target, frame, seed: as for ``inverse_kinematics``.
            options: of ``dynamics_ros.inverse_kinematics.solve_all``.

        Raises:
            UnknownOptionError: an option that there is not.
        """
        check_options(solve_all, options)
        return solve_all(self, target, frame, seed, **options)

    def _under_wrenches(self, name: str, external_wrenches: Wrenches, *arrays: ArrayLike) -> Any:
        frames, wrenches = frames_and_wrenches(external_wrenches)
        try:
            return self._run((name, *frames), *arrays, *wrenches)
        except InvalidArgumentError as error:
            raise with_frames(error, frames) from None

    def _run(self, key: Key, *arrays: ArrayLike) -> Any:
        try:
            call = self._calls.get(key) or self._kernel_set.call(key)
        except TypeError:
            # A frame or reference that cannot be a key: the definition says which.
            define(self.model, key)
            raise
        result = call(*arrays)
        if key not in self._kernel_set.shortened:
            self._shorten(key)
        return result

    def _shorten(self, key: Key) -> None:
        """Let such a call of the method be one of the machine code, unless it is overridden."""
        name = key[0]
        function = Robot.__dict__.get(name)
        if function is None or getattr(type(self), name) is not function:
            self._kernel_set.shortened.add(key)
            return
        shortcut = self._kernel_set.shortcut(key, MethodType(function, self))
        if shortcut is not None and name not in self.__dict__:
            self.__dict__[name] = self._shortcuts[name] = shortcut


def _per_coordinate(joints: Sequence[Joint], value: Callable[[Joint], float]) -> Array:
    values = np.array([value(joint) for joint in joints for _ in joint.q_indices], dtype=float)
    values.setflags(write=False)
    return values


def _per_velocity(joints: Sequence[Joint], value: Callable[[Joint], float]) -> Array:
    values = np.array([value(joint) for joint in joints for _ in joint.v_indices], dtype=float)
    values.setflags(write=False)
    return values


def _payload_inertia(mass: float, center_of_mass: ArrayLike, inertia: ArrayLike | None) -> Inertia:
    check_not_negative('mass', mass)
    center = finite_vector('center_of_mass', center_of_mass, 3)
    rotational = finite_matrix('inertia', np.zeros((3, 3)) if inertia is None else inertia, 3)
    scale = max(float(np.abs(rotational).max()), 1e-12)
    symmetric = np.abs(rotational - rotational.T).max() <= 1e-9 * scale
    if not symmetric or np.linalg.eigvalsh(rotational).min() < -1e-9 * scale:
        raise InvalidArgumentError(
            'inertia', f'{rotational.tolist()}', 'a symmetric positive semidefinite matrix'
        )
    return Inertia(float(mass), Vector3(*center.tolist()), Matrix3(rotational.tolist()))


def _restored(kind: type[Robot], backend: str, model: Model, without_payload: Model) -> Robot:
    # A subclass may want other arguments; what its __init__ has added comes as attributes.
    robot: Robot = object.__new__(kind)
    Robot.__init__(robot, model, backend)
    robot._without_payload = without_payload
    return robot


for _name in KERNEL_NAMES & vars(Robot).keys():
    # Shown by the builtin that takes the method's place, which has no annotations; so neither has
    # the method.
    vars(Robot)[_name].__signature__ = plain_signature(vars(Robot)[_name])
