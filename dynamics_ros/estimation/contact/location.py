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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import UnknownFrameError
from dynamics_ros.estimation.uncertainty.thresholds import AT_REST, motion_scales
from dynamics_ros.model.model import ROOT
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry

from .occlusion import PosedSurfaces
from .surface import Patches, Surface

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

NO_ROWS = np.zeros(0, dtype=np.intp)

LEVER = 0.3
"""Lever arm of the first force guess: the largest torque divided by this [m]."""

MODEL_ERROR = 0.01
"""Relative model error of a torque."""

UNDESCRIBED = 0.15
"""Probability that no hypothesis is true if the noise is not as stated: friction differs between
joints. See ``test/estimation/test_estimation_location_friction.py``."""

NEGLIGIBLE = 7.0
"""Log-evidence gap to the best hypothesis beyond which a link is not refined."""

NOISE_RATIOS = (4.0, 16.0, 64.0)
"""Candidate ratios of actual to stated noise, for all joints or for moving joints only, whose
friction is unknown."""

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

MAX_REFINED = 12
"""Number of coarse pieces of a link that are refined into fine pieces."""

EXTENT = 0.3
"""Maximum distance of a contact from the origin of a link without a surface [m]."""


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


@dataclass(frozen=True, eq=False)
class Noise:
    """Candidate noise level of the torques.

    Attributes:
        factors: (nv) ratio to the stated noise.
        weights: (nv) 1 / standard deviation; 0 for joints that are not used [1/Nm or 1/N].
        log_weight: log of the prior probability, plus the normalization of the noise density.
    """

    factors: Array
    weights: Array
    log_weight: float

    def misfit(self, residuals: Array) -> float:
        """Returns the root mean square of residuals (nv), in units of the stated noise."""
        used = self.weights > 0.0
        return float(np.sqrt(np.mean((residuals * self.factors)[used] ** 2)))


def possible_noises(stated: Array, moving: NDArray[np.bool_]) -> list[Noise]:
    """Returns the candidate noise levels: as stated, larger for all joints, larger if moving.

    Args:
        stated: (nv) stated standard deviations; inf for joints that are not used [Nm or N].
        moving: (nv) joints that move.
    """
    used = np.isfinite(stated)
    groups = [used]
    if (moving & used).any() and not moving[used].all():
        groups.append(moving & used)
    factors = [np.where(group, larger, 1.0) for group in groups for larger in NOISE_RATIOS]
    rest = (1.0 - AS_STATED) / len(factors)
    return [
        Noise(one, 1.0 / (one * stated), float(np.log(weight) - np.log(one).sum()))
        for one, weight in ((np.ones(len(stated)), AS_STATED), *((one, rest) for one in factors))
    ]


class Problem(NamedTuple):
    """Torques that contacts on a link are to explain.

    Attributes:
        kernel: ``location_evidence``.
        J: (6, nv) Jacobian of the link, in its frame.
        torque: (nv) external torques [Nm or N].
        friction: typical ratio of tangential to normal force.
        guess: typical force [N].
    """

    kernel: Kernel
    J: Array
    torque: Array
    friction: float
    guess: float

    def force(self, found: float) -> float:
        """Returns the typical force [N] after the first evaluation has found one."""
        return max(found, 0.1 * self.guess)


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Likelihood and posterior of contacts on pieces of a link, at one noise level.

    A link without surface has one hypothesis of any force and torque, and no ``pieces``.

    Attributes:
        noise: noise level of the torques.
        evidence: (n) log of the probability density, including the area of the piece.
        residuals: (n, nv) residuals of the torques, in units of their noise.
        pieces, rows: pieces of the surface, and the indices (n) of the compared ones.
        mean: (n, 5) posterior mean of the unknowns x, in their units.
        units: (5) standard deviations of the unknowns [N or Nm].
    """

    noise: Noise
    evidence: Array
    residuals: Array
    pieces: Pieces | None
    rows: Indices
    mean: Array
    units: Array

    @computed_once
    def total(self) -> float:
        """Log evidence of all pieces together."""
        return float(np.logaddexp.reduce(self.evidence))

    @property
    def misfit(self) -> float:
        """RMS of the torque residuals of the likeliest piece, in units of their stated noise."""
        return self.noise.misfit(self.residuals[np.argmax(self.evidence)])

    @property
    def force(self) -> Array:
        """Inward force of each piece (n) [N]."""
        forces: Array = self.units[0] * self.mean[:, 0]
        return forces

    def hidden(self, robot: PosedSurfaces, index: int) -> Hypotheses:
        """Returns the hypotheses given which likely pieces of link ``index`` the robot occludes."""
        likely = np.flatnonzero(self.evidence > self.evidence.max() + np.log(MIN_SHARE))
        points, _, forces = self._places(likely)
        evidence = self.evidence.copy()
        evidence[likely[robot.hide(index, points, forces)]] += np.log(HIDDEN)
        return replace(self, evidence=evidence)

    def place(self) -> tuple[Array, Array, Array, float]:
        """Returns the likeliest point (3), normal (3) and force (3), and the point's deviation."""
        if self.pieces is None:
            return np.zeros(3), np.zeros(3), np.zeros(3), math.inf
        points, normals, forces = self._places(np.array([np.argmax(self.evidence)]))
        patches = self.pieces.patches
        weights = np.exp(self.evidence - self.total)
        distances = np.sum((patches.points[self.rows] - points[0]) ** 2, axis=1)
        deviation = float(np.sqrt(weights @ distances + patches.size**2))
        return points[0], normals[0], forces[0], deviation

    def _places(self, which: Indices) -> tuple[Array, Array, Array]:
        """Returns points, normals and forces (n, 3) of some pieces, in the link frame."""
        assert self.pieces is not None, 'a link without surface has no places'
        patches, rows, mean, units = self.pieces.patches, self.rows[which], self.mean, self.units
        size, tangents, normals = patches.size, self.pieces.tangents[rows], patches.normals[rows]
        # Offset within the piece: d f / f, clipped at its edge.
        force, change = self.force[which], mean[which, 3:] * units[0]
        pushing = (force > 0.0)[:, np.newaxis]
        along = np.divide(size * change, force[:, np.newaxis], np.zeros_like(change), where=pushing)
        shift = np.clip(along, -2.0 * size, 2.0 * size)
        points = patches.points[rows] + np.einsum('nij,nj->ni', tangents, shift)
        tangential = mean[which, 1:3] * units[1:3]
        forces = np.einsum('nij,nj->ni', tangents, tangential) - force[:, np.newaxis] * normals
        return points, normals, forces


class Pieces:
    """Constant part of G for the pieces of a surface: wrenches per unit of each unknown."""

    def __init__(self, patches: Patches, total_area: float) -> None:
        n, p = patches.normals, patches.points
        # Tangents: start from the axis that is least aligned with the normal.
        least = np.eye(3)[np.argmin(np.abs(n), axis=1)]
        first = np.cross(n, least)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        self.tangents = np.stack([first, np.cross(n, first)], axis=2)
        directions = np.concatenate([-n[..., np.newaxis], self.tangents], axis=2)
        self.wrenches = np.zeros((len(p), 6, 5))
        self.wrenches[:, :3, :3] = directions
        self.wrenches[:, 3:, :3] = np.cross(p[..., np.newaxis], directions, axis=1)
        # A shift d along a tangent changes the torque of the inward force by d x (-n).
        self.wrenches[:, 3:, 3:] = np.cross(self.tangents, -n[..., np.newaxis], axis=1)
        self.patches = patches
        self._log_share = np.log(patches.areas / total_area)

    def explain(
        self, problem: Problem, noises: Sequence[Noise], force: float, rows: Indices
    ) -> list[Hypotheses]:
        """Computes evidence and posterior of some pieces for each noise level.

        Args:
            problem: the torques.
            noises: the noise levels.
            force: typical force [N].
            rows: indices of the pieces.
        """
        tangential, along = problem.friction * force, self.patches.size * force
        units = np.array([force, tangential, tangential, along, along])
        weights = np.array([[noise.weights] for noise in noises])
        evidence, mean, residuals = problem.kernel(
            problem.J, problem.torque, weights, units, self.wrenches[rows]
        )
        evidence += self._log_share[rows] + [[noise.log_weight] for noise in noises]
        return [
            Hypotheses(noise, e, r, self, rows, x, units)
            for noise, e, x, r in zip(noises, evidence, mean, residuals, strict=True)
        ]


class Link:
    """A link that can be touched, with its surface as coarse and fine pieces, if it is known."""

    def __init__(self, name: str, surface: Surface | None) -> None:
        self.name = name
        self.surface = surface
        if surface is not None:
            total = float(surface.fine.areas.sum())
            self.coarse, self.fine = Pieces(surface.coarse, total), Pieces(surface.fine, total)
            self._all = np.arange(len(surface.coarse.areas))

    def explain(self, problem: Problem, noises: Sequence[Noise]) -> list[Hypotheses]:
        """Computes the first hypotheses for each noise level."""
        if self.surface is None:
            return [_anywhere(problem, noise) for noise in noises]
        return self.coarse.explain(problem, noises, problem.guess, self._all)

    def refined(self, problem: Problem, first: Hypotheses) -> Hypotheses:
        """Returns the fine pieces within the likeliest coarse ones, at the force found there."""
        if self.surface is None:
            return first
        kept = np.argsort(first.evidence)[-MAX_REFINED:]
        weights = np.exp(first.evidence[kept] - first.evidence[kept[-1]])
        force = problem.force(float(weights @ first.force[kept] / weights.sum()))
        rows = np.concatenate([self.surface.members[i] for i in kept])
        return self.fine.explain(problem, [first.noise], force, rows)[0]


def _anywhere(problem: Problem, noise: Noise) -> Hypotheses:
    """Returns the hypothesis of any force and torque on a link without a surface.

    The equations are those above with x = (f, tau) ~ N(0, 1), in units of a force and that force
    times EXTENT.
    """
    J, y, force = problem.J * noise.weights, problem.torque * noise.weights, problem.guess
    for _ in range(2):  # the second time with the force that the first one found
        units = force * np.array([1.0, 1.0, 1.0, EXTENT, EXTENT, EXTENT])
        A = J.T * units
        C = np.eye(6) + A.T @ A
        mean: Array = np.asarray(np.linalg.solve(C, A.T @ y), dtype=np.float64)
        force = problem.force(float(np.linalg.norm(mean[:3] * units[:3])))
    residuals = y - A @ mean
    quadratic = residuals @ residuals + mean @ mean
    # On any surface, half of all force directions would pull.
    evidence = np.log(0.5) - 0.5 * (quadratic + np.linalg.slogdet(C)[1]) + noise.log_weight
    return Hypotheses(
        noise, np.array([evidence]), residuals[np.newaxis], None, NO_ROWS, mean[np.newaxis], units
    )


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
        self._at_rest = AT_REST * motion_scales(robot)
        for argument, links in (('surfaces', surfaces), ('without_surface', unseen)):
            for name in links:
                if name not in robot.frame_names:
                    raise UnknownFrameError(argument, name, robot.frame_names)
        self._links = [
            Link(name, surface) for name, surface in surfaces.items() if self._is_loaded(name)
        ]
        if self._links:  # without any surface no location can be found
            self._links += [Link(name, None) for name in unseen if self._is_loaded(name)]

    @property
    def links(self) -> tuple[str, ...]:
        """Links on which a contact can be found."""
        return tuple(link.name for link in self._links)

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
        for link in self._surfaces():
            check()
            self._robot.forward_kinematics(q, link)
        check()
        self._robot.kernel('location_evidence').wait()

    def locate(
        self,
        q: ArrayLike,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        v: ArrayLike | None = None,
        deviation: ArrayLike | None = None,
    ) -> ContactLocation | None:
        """Finds the contact that explains the torques best; None without links or torques.

        Args:
            q: (nq) configuration.
            external_torque: (nv), tared [Nm or N].
            ignored: (nv) mask of joints whose torque is invalid at this sample.
            v: (nv) velocities, to select joints with possible friction errors; None means at rest.
            deviation: (nv) standard deviation of the torques at this state, if it is larger than
                the noise given to the constructor.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        torque = finite_vector('external_torque', external_torque, self._robot.nv)
        noise = self._noise.copy()
        if ignored is not None:
            noise[ignored] = np.inf
        used = np.isfinite(noise)
        largest = np.abs(torque[used]).max(initial=0.0)
        if not self._links or largest == 0.0:
            return None
        if deviation is not None:
            noise = np.maximum(noise, finite_vector('deviation', deviation, len(used)))
        moving = np.zeros(len(used), dtype=bool)
        if v is not None:
            moving = np.abs(finite_vector('v', v, len(used))) > self._at_rest
        noises = possible_noises(np.hypot(noise, MODEL_ERROR * largest), moving)
        kernel, guess = self._robot.kernel('location_evidence'), largest / LEVER
        problems = [
            Problem(kernel, self._robot.jacobian(q, name, 'local'), torque, self._friction, guess)
            for name in self.links
        ]
        first = [
            link.explain(problem, noises)
            for link, problem in zip(self._links, problems, strict=True)
        ]
        least = max(one.total for of_link in first for one in of_link) - NEGLIGIBLE
        # Log evidence of each link, and its part at the stated noise; refined likeliest hypotheses.
        evidence, stated = np.full((2, len(first)), -np.inf)
        best: list[Hypotheses | None] = []
        for i, (link, problem, of_link) in enumerate(
            zip(self._links, problems, first, strict=True)
        ):
            fine = [link.refined(problem, one) for one in of_link if one.total >= least]
            among = fine or of_link
            evidence[i] = np.logaddexp.reduce([one.total for one in among])
            if among[0].noise is noises[0]:
                stated[i] = among[0].total
            best.append(max(fine, key=lambda one: one.total, default=None))
        robot = PosedSurfaces(self._robot, self._surfaces(), q)
        for i in np.flatnonzero(evidence > evidence.max() + np.log(HIDDEN)).tolist():
            before = best[i]
            if before is not None and before.pieces is not None:
                best[i] = after = before.hidden(robot, i)
                evidence[i] += after.total - before.total
                stated[i] += after.total - before.total
        seen = np.array([one is not None for one in best])
        likeliest = int(np.argmax(np.where(seen, evidence, -np.inf)))
        found = best[likeliest]
        assert found is not None, 'of the likeliest link at least'
        all_links = np.logaddexp.reduce(evidence)
        # Probability that the noise is as stated.
        certain = min(float(np.exp(np.logaddexp.reduce(stated) - all_links)), 1.0)
        if found.pieces is None:
            certain = 0.0  # any force and any torque: that explains nearly everything
        by_link = {
            link: float(np.exp(one - all_links))
            for link, one in zip(self.links, evidence, strict=True)
        }
        name = self.links[likeliest]
        probability = (1.0 - UNDESCRIBED * (1.0 - certain)) * by_link[name]
        return ContactLocation(name, probability, by_link, *found.place(), found.misfit)

    def _surfaces(self) -> dict[str, Patches]:
        """Returns the fine pieces of the links that have a surface."""
        return {link.name: link.surface.fine for link in self._links if link.surface is not None}


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
