"""What can be exported: for each kernel its options, and what goes in and comes out, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dynamics_ros.algorithms.jacobian import REFERENCES
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Model
from dynamics_ros.multibody.definitions import Key

DEFAULT_REFERENCE = 'local_world_aligned'

CONFIGURATION = 'a configuration, as q'
VELOCITY = 'a velocity, as v'
TORQUES = 'torques, as tau'
TWIST = 'linear part [m/s], then angular part [rad/s], in the reference'
MATRIX = 'rows as tau, columns as v; for prismatic joints m in place of rad'

INPUTS = {
    'q': 'configuration',
    'q0': 'configuration at the start, as q',
    'q1': 'configuration at the end, as q',
    'v': 'velocity',
    'a': 'acceleration',
    'tau': 'torques',
    't': 'part of the way, 0 at q0 and 1 at q1',
}
"""What the inputs of kernels mean; the wrenches of `Entry.wrenches` come after them."""


@dataclass(frozen=True)
class Entry:
    """A kernel that can be exported.

    Attributes:
        summary: what it computes.
        result: the meaning of the only output.
        results: of several outputs, by name.
        frame: whether its first option is a frame.
        reference: whether its second option is the reference of a Jacobian.
        wrenches: whether its options are frames, on each of which a wrench acts.
        prescribed: whether its options are the velocities whose acceleration is given.
    """

    summary: str
    result: str = ''
    results: Mapping[str, str] = field(default_factory=dict)
    frame: bool = False
    reference: bool = False
    wrenches: bool = False
    prescribed: bool = False

    def usage(self, name: str) -> str:
        """The name with its options, as they are written."""
        if self.frame:
            return f'{name}:FRAME' + ('[:REFERENCE]' if self.reference else '')
        if self.wrenches:
            return f'{name}[:FRAME...]'
        return f'{name}[:INDEX...]' if self.prescribed else name


CATALOGUE: dict[str, Entry] = {
    'integrate': Entry('q after one second at the constant velocity v', CONFIGURATION),
    'difference': Entry('the velocity that takes q0 to q1 in one second', VELOCITY),
    'interpolate': Entry('a configuration between q0 and q1', CONFIGURATION),
    'forward_kinematics': Entry(
        'pose of the frame in the root frame',
        'homogeneous matrix, translation [m]',
        frame=True,
    ),
    'all_frames': Entry(
        'poses of all frames in the root frame',
        'homogeneous matrices, translations [m]',
    ),
    'frame_velocity': Entry('twist of the frame', TWIST, frame=True, reference=True),
    'frame_acceleration': Entry(
        'time derivative of the twist of the frame',
        'linear part [m/s^2], then angular part [rad/s^2], in the reference',
        frame=True,
        reference=True,
    ),
    'jacobian': Entry(
        'Jacobian of the frame: its twist is J v',
        'rows of the twist, columns as v',
        frame=True,
        reference=True,
    ),
    'jacobian_derivative': Entry(
        'time derivative of the Jacobian of the frame',
        'rows of the twist, columns as v, 1/s',
        frame=True,
        reference=True,
    ),
    'jacobian_hessian': Entry(
        'derivative of the Jacobian J along velocities: of J[i][j] along k at [i][j][k]',
        'rows of the twist, then twice as v',
        frame=True,
        reference=True,
    ),
    'inverse_dynamics': Entry(
        'torques of a motion: M a + C v + g - J^T wrenches', TORQUES, wrenches=True
    ),
    'gravity': Entry('torques that hold the robot at rest: g', TORQUES),
    'nonlinear_effects': Entry('torques without acceleration: C v + g', TORQUES),
    'coriolis': Entry('Coriolis matrix C, for which dM/dt - 2 C is skew-symmetric', MATRIX),
    'mass_matrix': Entry('mass matrix M, symmetric', MATRIX),
    'mass_matrix_inverse': Entry('inverse of the mass matrix', 'rows as a, columns as tau'),
    'forward_dynamics': Entry(
        'acceleration under torques: M^-1 (tau - C v - g + J^T wrenches)',
        'an acceleration, as a',
        wrenches=True,
    ),
    'hybrid_dynamics': Entry(
        'all accelerations and torques, from a at the given indices of v and from tau elsewhere',
        results={'a': 'accelerations', 'tau': 'torques'},
        prescribed=True,
    ),
    'inverse_dynamics_derivatives': Entry(
        'derivatives of inverse_dynamics along velocities, by v and by a',
        results={'dq': 'dtau/dq', 'dv': 'dtau/dv', 'da': 'dtau/da, the mass matrix'},
    ),
    'forward_dynamics_derivatives': Entry(
        'derivatives of forward_dynamics along velocities, by v and by tau',
        results={'dq': 'da/dq', 'dv': 'da/dv', 'dtau': 'da/dtau, the inverse mass matrix'},
    ),
    'regressor': Entry(
        'Y with tau = Y pi',
        'rows as tau; columns for each moving body m [kg], m c [kg m], Ixx Ixy Iyy Ixz Iyz Izz '
        '[kg m^2] about the origin of its frame',
    ),
    'momentum_observer_terms': Entry(
        'terms of a momentum observer: dp/dt = tau + beta + external torques',
        results={'p': 'M v, torques times s', 'beta': 'C^T v - g, torques'},
    ),
    'kinetic_energy': Entry('kinetic energy', '[J]'),
    'potential_energy': Entry('energy in the field of gravity, zero at the root', '[J]'),
    'center_of_mass': Entry('centre of mass of what moves', '[m], in the root frame'),
    'com_jacobian': Entry('Jacobian of the centre of mass', '[m/s], root axes; columns as v'),
    'centroidal_momentum': Entry(
        'momentum about the centre of mass', 'linear [kg m/s], angular [kg m^2/s], root axes'
    ),
    'centroidal_map': Entry(
        'A with centroidal momentum = A v', 'linear rows, angular rows, root axes; columns as v'
    ),
}
"""Kernels by name. The others serve solvers and observers, whose state is in Python."""


def usages() -> list[str]:
    """Every kernel with its options."""
    return [entry.usage(name) for name, entry in CATALOGUE.items()]


def key_of(text: str, model: Model) -> Key:
    """The key of a kernel that is written as its name and its options, with colons between.

    Raises:
        InvalidArgumentError: no such kernel, or options that it does not have.
        UnknownFrameError: no such frame.
    """
    name, *options = text.split(':')
    entry = CATALOGUE.get(name)
    if entry is None:
        raise InvalidArgumentError(
            'kernels', f'no kernel {name!r}', f'one of {", ".join(usages())}'
        )
    if entry.reference and len(options) == 1:
        options.append(DEFAULT_REFERENCE)
    expected = len(options) if entry.wrenches or entry.prescribed else entry.frame + entry.reference
    if len(options) != expected:
        raise InvalidArgumentError('kernels', repr(text), entry.usage(name))
    for frame in options[: len(options) if entry.wrenches else entry.frame]:
        model.frame(frame)
    if entry.reference and options[1] not in REFERENCES:
        raise InvalidArgumentError('kernels', repr(text), f'a reference of {REFERENCES}')
    if entry.prescribed:
        _check_indices(text, options, model)
    return name, *options


def _check_indices(text: str, options: Iterable[str], model: Model) -> None:
    for option in options:
        if not (option.isdecimal() and int(option) < model.nv):
            raise InvalidArgumentError(
                'kernels', repr(text), f'indices of v, from 0 to {model.nv - 1}'
            )
