# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact localization: the touched link and surface point from external joint torques.

A force f at the point p of link k gives tau = J_k^T (f, p x f): joints beyond the link carry no
torque, and those before it determine the line of action of f. Every piece of every link's surface
is a hypothesis about p, for which the torque is linear in the remaining unknowns:

    tau = G x + noise,    x = (f_n, f_1, f_2, d_1, d_2) ~ N(0, 1),

with f_n along the inward normal, f_1 and f_2 tangential and scaled by the friction coefficient, and
d_1, d_2 the position within the piece. The evidence of a hypothesis is

    log p(tau | piece) = -1/2 (y^T y - b^T C^-1 b + log det C),    y = tau / noise,
    A = G / noise,    C = 1 + A^T A,    b = A^T y,

reduced if the force would have to pull, and reduced if another part of the robot occludes the piece
along the line of action. A link without a known surface gets one hypothesis of an arbitrary force
and torque; without it, a contact there would be assigned to a link that has a surface, however
badly that fits. A link with more joints before it can explain more torques; the determinant
penalizes that. The noise may be larger than stated, above all for moving joints with unidentified
friction, so the evidence is computed for several noise levels and summed. The area-weighted
evidence gives the link probabilities and the contact point on the likeliest link ([Manuelli2016]
evaluate the same likelihood with a particle filter). With six joints before the link, the result is
the point where the line of action enters the surface; with fewer, the friction prior resolves the
remaining ambiguity.

A wrist sensor adds six rows to tau: the wrench at the sensor for links behind it, zero for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import UnknownFrameError
from dynamics_ros.model.collision_geometry import by_reason, read_collision_geometry
from dynamics_ros.model.model import ROOT, Model
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry
from dynamics_ros.spatial import Transform

from .surface import Surface, sample_surfaces

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVER = 0.3
"""Lever arm of the first force guess: the largest torque divided by this [m]."""

SAMPLE, MIN_FORCE = 8, 0.1
"""Every this many pieces are compared first, to find the size of the force, at least this share of
the guess."""

MODEL_ERROR = 0.01
"""Relative model error of a torque."""

UNDESCRIBED = 0.15
"""Probability that no hypothesis is true if the noise is not as stated: friction differs between
joints. See ``test/estimation/test_estimation_location.py``."""

NOISE_RATIOS = np.array([1.0, 4.0, 16.0, 64.0])
"""Candidate ratios of actual to stated noise."""

AS_STATED = 0.9
"""Prior probability that the noise is as stated; the other candidates share the rest."""

KNOWN = 0.03
"""Largest standard deviation with which a contact point counts as known [m]: half a hand."""

LIKELY = 0.5
"""Minimum probability of a link for its contact point to be used: likelier than all others."""

HIDDEN = 0.1
"""Ratio of the probability density of a contact that the robot occludes to that of others: links
keep most hands away from such points, but a finger or a narrow edge may reach between them."""

MIN_SHARE = 0.01
"""Ratio to the likeliest piece below which occlusion of a piece is not examined."""

REACH = (0.01, 0.3)
"""Range along the line of action in which another part occludes a contact [m]."""

LINES = 16
"""Number of lines of action that are compared with the robot at a time."""

EXTENT = 0.3
"""Maximum distance of a contact from the origin of a link without a surface [m]."""

LOCATION_RATE = 20.0
"""Maximum rate of locations during a contact [Hz]; one takes up to 20 ms on a desktop machine."""


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Estimated location of a contact on the robot.

    Attributes:
        link: the likeliest link.
        probability: probability of that link: its share among all compared hypotheses, times the
            probability that any of them is true.
        probabilities: share of each link among all.
        point: (3) contact point in the link frame [m]; point, normal and force are zero if the
            link has no surface.
        normal: (3) outward surface normal at the point, in the link frame.
        force: (3) force of the environment on the robot, in the link frame [N].
        deviation: standard deviation of the point on the link [m]; inf for a link without surface.
        misfit: root mean square of the torque residuals, in units of their stated noise; far
            above 1, the single-contact assumption is wrong or the noise is larger than stated.
    """

    link: str
    probability: float
    probabilities: Mapping[str, float]
    point: Array
    normal: Array
    force: Array
    deviation: float
    misfit: float

    @property
    def known(self) -> bool:
        """Whether the link is likely and the point deviates by at most ``KNOWN``."""
        return self.deviation <= KNOWN and self.probability >= LIKELY

    @property
    def point_frame(self) -> str:
        """Frame of point, normal and force; '' if they were not found."""
        return self.link if math.isfinite(self.deviation) else ''


class SensorWrench(NamedTuple):
    """Wrench of the environment behind a wrist sensor.

    Attributes:
        frame: frame of the readings. Behind the sensor are the bodies beyond the frame's own, and
            of its own what is fixed to the link that a joint moves.
        wrench: (6) at the frame's origin, in its axes [N, Nm].
        deviation: (6) standard deviations, above zero [N, Nm].
        touched: whether it is a contact: then one behind the sensor, else one before it.
    """

    frame: str
    wrench: Array
    deviation: Array
    touched: bool


class _Hypotheses(NamedTuple):
    """Contacts on the n pieces of a link, for each noise level.

    Attributes:
        evidence: (levels, n) log of the probability density, including the area of the piece.
        mean: (levels, n, 5) posterior mean of the unknowns x [N or Nm].
        misfit: (levels, n) root mean square of the residuals, in units of their stated noise.
    """

    evidence: Array
    mean: Array
    misfit: Array


class ContactLocator:
    """Finds link and point of a single contact; equations at the top of this file."""

    def __init__(
        self,
        robot: Robot,
        surfaces: Mapping[str, Surface],
        *,
        without_surface: Iterable[str] = (),
        noise: ArrayLike = 0.05,
        friction: float = 0.3,
    ) -> None:
        """Creates a locator.

        Args:
            robot: the robot. Torques of a moving root joint are not used: ground forces load it.
            surfaces: link surfaces from ``sample_surfaces``. Links that no joint moves are
                skipped.
            without_surface: other links that can be touched, from ``links_without_surface``.
            noise: standard deviation of an external torque, number or (nv); inf excludes a joint
                [Nm or N].
            friction: typical ratio of tangential to normal force of a push.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
            UnknownFrameError: a link does not exist.
        """
        unseen = tuple(without_surface)
        check_positive('friction', friction)
        self._robot = robot
        self._noise = per_entry('noise', noise, robot.nv, least=1e-9, infinite=True)
        self._noise[: robot.model.root_joint_nv] = np.inf
        self._friction = friction
        for argument, links in (('surfaces', surfaces), ('without_surface', unseen)):
            for name in links:
                if name not in robot.frame_names:
                    raise UnknownFrameError(argument, name, robot.frame_names)
        self._links: list[tuple[str, Surface | None]]
        self._links = [pair for pair in surfaces.items() if self._is_loaded(pair[0])]
        self._wrenches = {name: _wrenches(surfaces[name]) for name, _ in self._links}
        if self._links:  # without any surface no location can be found
            self._links += [(name, None) for name in unseen if self._is_loaded(name)]

    @property
    def links(self) -> tuple[str, ...]:
        """Links on which a contact can be found."""
        return tuple(name for name, _ in self._links)

    def _is_loaded(self, link: str) -> bool:
        """Whether any used joint moves the link."""
        model = self._robot.model
        joints = model.ancestors(model.frame(link).body)
        loaded_joints = {i for body in joints for i in model.joints[body].v_indices}
        return bool(np.isfinite(self._noise[list(loaded_joints)]).any())

    def compile(self, check: Callable[[], None] = lambda: None) -> None:
        """Compiles the kernels, which otherwise happens in the first call.

        Args:
            check: called between two kernels; raises to cancel.
        """
        q = self._robot.neutral()
        for link in self.links:
            check()
            self._robot.jacobian(q, link, 'local')
            self._robot.forward_kinematics(q, link)
        check()
        self._robot.kernel('location_evidence').wait()

    def locate(
        self,
        q: ArrayLike,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        deviation: ArrayLike | None = None,
        sensor: SensorWrench | None = None,
    ) -> ContactLocation | None:
        """Finds the contact that explains the torques best; None without links or torques.

        Args:
            q: (nq) configuration.
            external_torque: (nv), tared [Nm or N].
            ignored: (nv) mask of joints whose torque is invalid at this sample.
            deviation: (nv) standard deviation of the torques at this state, if it is larger than
                the noise given to the constructor.
            sensor: what a wrist sensor shows at the same time.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        torque = finite_vector('external_torque', external_torque, self._robot.nv)
        noise = self._noise.copy()
        if ignored is not None:
            noise[ignored] = np.inf
        guess = np.abs(torque[np.isfinite(noise)]).max(initial=0.0) / LEVER
        if sensor is not None:
            guess = max(guess, float(np.linalg.norm(sensor.wrench[:3])))
        links, names = self._links, list(self.links)
        if sensor is not None and sensor.touched:
            # The touched tool may lack a surface, or a link of its own: then it is the sensor's.
            model = self._robot.model
            links = [x for x in links if _is_behind(model, x[0], sensor.frame)]
            names = [x for x, _ in links] + [model.body_names[model.frame(sensor.frame).body]]
            links.append((sensor.frame, None))
        if not links or guess == 0.0:
            return None
        if deviation is not None:
            noise = np.maximum(noise, finite_vector('deviation', deviation, len(noise)))
        noise = np.hypot(noise, MODEL_ERROR * LEVER * guess)
        found = []
        for link, surface in links:
            given = surface, link, self._measured(q, link, torque, noise, sensor)
            evidence, mean, _ = self._explain(*given, guess, NOISE_RATIOS[:1], SAMPLE)
            weights = np.exp(evidence[0] - evidence.max())
            force = weights @ np.linalg.norm(mean[0, :, :3], axis=1) / weights.sum()
            found.append(self._explain(*given, max(float(force), MIN_FORCE * guess)))
        self._occlude(q, links, found)
        # Log evidence of each link at each noise level.
        evidence = np.array([np.logaddexp.reduce(some.evidence, axis=1) for some in found])
        by_link = np.logaddexp.reduce(evidence, axis=1)
        total, index = np.logaddexp.reduce(by_link), int(by_link.argmax())
        (link, surface), best, level = links[index], found[index], int(evidence[index].argmax())
        piece = best.evidence[level].argmax()
        # Probability that the noise is as stated. A link without surface explains nearly anything.
        certain = 0.0
        point, normal, pushed, spread = np.zeros(3), np.zeros(3), np.zeros(3), math.inf
        if surface is not None:
            certain = min(float(np.exp(np.logaddexp.reduce(evidence[:, 0]) - total)), 1.0)
            points, forces = self._places(link, surface, best.mean[level], np.array([piece]))
            point, normal, pushed = points[0], surface.normals[piece], forces[0]
            weights = np.exp(best.evidence[level] - evidence[index, level])
            distances = np.sum((surface.points - point) ** 2, axis=1)
            spread = float(np.sqrt(weights @ distances + surface.size**2))
        by_name = dict.fromkeys(names, 0.0)
        for name, share in zip(names, np.exp(by_link - total).tolist(), strict=True):
            by_name[name] += share
        return ContactLocation(
            link=names[index],
            probability=(1.0 - UNDESCRIBED * (1.0 - certain)) * by_name[names[index]],
            probabilities=by_name,
            point=point,
            normal=normal,
            force=pushed,
            deviation=spread,
            misfit=float(best.misfit[level, piece]),
        )

    def _measured(
        self, q: ArrayLike, link: str, torque: Array, noise: Array, sensor: SensorWrench | None
    ) -> tuple[Array, Array, float, int]:
        """Reduces the measurements (nv), and those of a sensor, to what a wrench can explain.

        Returns:
            R (6, 6) of J^T / noise = Q R; Q^T (tau / noise) (6); squared norm of what no wrench on
            the link explains; number of measurements.
        """
        robot = self._robot
        rows = robot.jacobian(q, link, 'local').T
        if sensor is not None:
            X = np.zeros((6, 6))
            if _is_behind(robot.model, link, sensor.frame):
                X_S, X_L = (robot.forward_kinematics(q, x) for x in (sensor.frame, link))
                X = np.array(Transform.from_array(np.linalg.solve(X_S, X_L)).force_matrix())
            # Errors of its lever arms grow with the force, as those of the model do.
            more = np.full(6, np.linalg.norm(sensor.wrench[:3]))
            more[3:] *= LEVER
            noise = np.concatenate([noise, np.hypot(sensor.deviation, MODEL_ERROR * more)])
            rows, torque = np.concatenate([rows, X]), np.concatenate([torque, sensor.wrench])
        # As many rows as a wrench has numbers, also for fewer joints.
        padding = np.zeros((max(6 - len(rows), 0), 6))
        Q, R = np.linalg.qr(np.concatenate([rows / noise[:, np.newaxis], padding]))
        y = np.concatenate([torque / noise, padding[:, 0]])
        seen = Q.T @ y
        rest = y - Q @ seen
        return R, seen, float(rest @ rest), int(np.isfinite(noise).sum())

    def _explain(
        self,
        surface: Surface | None,
        link: str,
        measured: tuple[Array, Array, float, int],
        force: float,
        ratios: Array = NOISE_RATIOS,
        step: int = 1,
    ) -> _Hypotheses:
        """Computes evidence and posterior of every ``step``-th piece for each noise level.

        Args:
            surface, link: the link, and its surface.
            measured: what a wrench on it explains.
            force: typical force [N].
            ratios: (levels) ratio of the noise to the stated one.
            step: 1 for all pieces.
        """
        R, seen, rest, number = measured
        weights = 1.0 / ratios
        prior = np.where(ratios == 1.0, AS_STATED, (1.0 - AS_STATED) / (len(NOISE_RATIOS) - 1))
        constant = np.log(prior) - np.log(ratios) * number - 0.5 * rest * weights**2
        if surface is None:
            units = force * np.array([1.0, 1.0, 1.0, EXTENT, EXTENT, EXTENT])
            A = weights[:, np.newaxis, np.newaxis] * R * units
            y = np.outer(weights, seen)
            C = np.eye(6) + A.swapaxes(1, 2) @ A
            mean = np.linalg.solve(C, np.einsum('lij,li->lj', A, y)[..., np.newaxis])[..., 0]
            residuals = y - np.einsum('lij,lj->li', A, mean)
            quadratic = np.sum(residuals**2, axis=1) + np.sum(mean**2, axis=1)
            # On any surface, half of all force directions would pull.
            evidence = np.log(0.5) - 0.5 * (quadratic + np.linalg.slogdet(C)[1])
            evidence, mean, residuals = (x[:, np.newaxis] for x in (evidence, mean, residuals))
        else:
            tangential, along = self._friction * force, surface.size * force
            units = np.array([force, tangential, tangential, along, along])
            evidence, mean, residuals = self._robot.kernel('location_evidence')(
                *(R, seen, weights[:, np.newaxis], units, self._wrenches[link][::step])
            )
            evidence = evidence + np.log(surface.areas / surface.areas.sum())[::step]
        squares = np.sum(residuals**2, axis=2) * ratios[:, np.newaxis] ** 2 + rest
        misfit = np.sqrt(squares / number)
        return _Hypotheses(evidence + constant[:, np.newaxis], units * mean, misfit)

    def _places(
        self, link: str, surface: Surface, mean: Array, which: Indices
    ) -> tuple[Array, Array]:
        """Returns points and forces (n, 3) of some pieces in the link frame, by means (all, 5)."""
        tangents, x = self._wrenches[link][which, :3, 1:3], mean[which]
        # Offset within the piece: d f / f, clipped at its edge.
        change = np.divide(x[:, 3:], x[:, :1], np.zeros_like(x[:, 3:]), where=x[:, :1] > 0.0)
        shift = np.clip(change, -2.0 * surface.size, 2.0 * surface.size)
        points = surface.points[which] + np.einsum('nij,nj->ni', tangents, shift)
        pushed = np.einsum('nij,nj->ni', tangents, x[:, 1:3]) - x[:, :1] * surface.normals[which]
        return points, pushed

    def _occlude(
        self, q: ArrayLike, links: Sequence[tuple[str, Surface | None]], found: list[_Hypotheses]
    ) -> None:
        """Reduces the evidence of likely pieces at which the robot leaves no room for a hand."""
        poses = {x: self._robot.forward_kinematics(q, x) for x, _ in (*self._links, *links)}
        with_surface = [(poses[x], surface) for x, surface in self._links if surface is not None]
        if not with_surface:
            return
        centers = np.concatenate([x.points @ X[:3, :3].T + X[:3, 3] for X, x in with_surface])
        areas = np.concatenate([x.areas for _, x in with_surface])
        least = max(some.evidence.max() for some in found) + np.log(MIN_SHARE)
        for (link, surface), some in zip(links, found, strict=True):
            X = poses[link]
            level, _ = np.unravel_index(some.evidence.argmax(), some.evidence.shape)
            likely = np.flatnonzero(some.evidence[level] > least)
            if likely.size and surface is not None:
                points, forces = self._places(link, surface, some.mean[level], likely)
                points, away = points @ X[:3, :3].T + X[:3, 3], -forces @ X[:3, :3].T
                some.evidence[:, likely[occluded(points, away, centers, areas)]] += np.log(HIDDEN)


def _wrenches(surface: Surface) -> Array:
    """Returns wrenches (n, 6, 5) on the pieces of a link per unit of each unknown."""
    n, p = surface.normals, surface.points
    # Tangents: start from the axis that is least aligned with the normal.
    first = np.cross(n, np.eye(3)[np.argmin(np.abs(n), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    directions = np.stack([-n, first, np.cross(n, first)], axis=2)
    wrenches = np.zeros((len(p), 6, 5))
    wrenches[:, :3, :3] = directions
    wrenches[:, 3:, :3] = np.cross(p[..., np.newaxis], directions, axis=1)
    # A shift d along a tangent changes the torque of the inward force by d x (-n).
    wrenches[:, 3:, 3:] = np.cross(directions[..., 1:], -n[..., np.newaxis], axis=1)
    return wrenches


def _is_behind(model: Model, link: str, sensor: str) -> bool:
    """Returns whether a link is behind the frame of a sensor, as of ``SensorWrench``."""
    body, other = model.frame(sensor).body, model.frame(link).body
    if other != body:
        return body in model.ancestors(other)
    # Tools are fixed below the frame of the sensor, beside it, or carry it where it is at the tip.
    return link == sensor or link != model.body_names[body]


def occluded(points: Array, away: Array, centers: Array, areas: Array) -> NDArray[np.bool_]:
    """Returns whether a part of the robot is close in front of points.

    Args:
        points: (n, 3) points [m].
        away: (n, 3) directions in which a hand is expected, of any length; zero: not occluded.
        centers, areas: (m, 3), (m) pieces of the robot's surface [m], [m^2].
    """
    sizes = np.linalg.norm(away, axis=1, keepdims=True)
    away = np.divide(away, sizes, np.zeros_like(away), where=sizes > 0.0)
    found = np.zeros(len(points), dtype=bool)
    # Neighbours together, with the pieces around them alone.
    order = points[:, np.ptp(points, axis=0).argmax()].argsort()
    for begin in range(0, len(points), LINES):
        rows = order[begin : begin + LINES]
        some, lines = points[rows], away[rows]
        near = (centers > some.min(axis=0) - REACH[1]) & (centers < some.max(axis=0) + REACH[1])
        around = near.all(axis=1)
        pieces = centers[around]
        # Distances along the lines of action, and squares of those from the points.
        # From a point nearby, since the root may be far away.
        origin = some[0]
        some, pieces = some - origin, pieces - origin
        along = lines @ pieces.T - np.sum(lines * some, axis=1, keepdims=True)
        squares = np.sum(some**2, axis=1, keepdims=True) + np.sum(pieces**2, axis=1)
        hits = squares - 2.0 * some @ pieces.T - along**2 < areas[around] / np.pi
        found[rows] = (hits & (along > REACH[0]) & (along < REACH[1])).any(axis=1)
    return found


def links_without_surface(
    robot: Robot, with_surface: Iterable[str], unread: Iterable[str]
) -> tuple[str, ...]:
    """Returns one link per body that can be touched but has no known surface.

    Args:
        robot: the robot.
        with_surface: links that have a surface.
        unread: links with shapes that could not be read, even if other shapes were read.
    """
    model = robot.model
    shaped = {model.frame(link).body for link in with_surface}
    # All links of a body have the same torques: the first one represents them.
    found = {model.frame(link).body: link for link in reversed(tuple(unread))}
    found.pop(ROOT, None)
    for body, (link, inertia) in enumerate(zip(model.body_names, model.inertias, strict=True)):
        # Intermediate bodies of multi-axis joints have no mass and cannot be touched.
        if body not in shaped and inertia.mass > 0.0:
            found.setdefault(body, link)
    return tuple(found[body] for body in sorted(found))


class ContactGeometry(NamedTuple):
    """Known contact surfaces of a robot.

    Attributes:
        surfaces: surface of each link that has one.
        without_surface: links that can be touched but have no known surface.
        summary: summary text for the user.
        problem: the shapes that could not be read, and why; '' if all were read.
    """

    surfaces: dict[str, Surface]
    without_surface: tuple[str, ...]
    summary: str
    problem: str = ''

    @classmethod
    def read(
        cls,
        robot: Robot,
        description: str,
        check: Callable[[], None] = lambda: None,
        folder: Path | None = None,
    ) -> ContactGeometry:
        """Reads the contact surfaces of the moving links from a description.

        Args:
            robot: the robot that has these links.
            description: URDF as XML text.
            check: called between two links; raises to cancel.
            folder: folder to which relative paths of meshes refer.

        Raises:
            ModelError: the description is not valid XML.
            InvalidArgumentError: a shape has no area.
        """
        geometry = read_collision_geometry(description, folder)
        surfaces: dict[str, Surface] = {}
        for link, triangles in geometry.triangles.items():
            check()
            if robot.model.frame(link).body != ROOT:
                surfaces |= sample_surfaces({link: triangles})
        summary, problem = f'of {len(surfaces)} links', ''
        if geometry.problems:
            problem = '; '.join(by_reason(geometry.problems))
            summary = f'{summary}; {len(geometry.problems)} shapes are missing: {problem}'
        unseen = links_without_surface(robot, surfaces, geometry.unread)
        return cls(surfaces, unseen, summary, problem)

    def locator(self, robot: Robot, noise: ArrayLike) -> ContactLocator:
        """Creates a locator for these surfaces; arguments as for ``ContactLocator``."""
        return ContactLocator(
            robot, self.surfaces, without_surface=self.without_surface, noise=noise
        )
