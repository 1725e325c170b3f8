# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact hypotheses and their likelihood given external torques: see ``location.py``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once

from .occlusion import PosedSurfaces
from .surface import Patches, Surface

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

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
class Explained:
    """Likelihood and posterior of each surface piece given the torques.

    Attributes:
        evidence: (n) log of the probability density, including the area of the piece.
        mean: (n, 5) posterior mean of the unknowns x, in their units.
        residuals: (n, nv) residuals of the torques, in units of their noise.
        units: (5) standard deviations of the unknowns [N or Nm].
    """

    evidence: Array
    mean: Array
    residuals: Array
    units: Array

    @property
    def force(self) -> Array:
        """Inward force of each piece (n) [N]."""
        forces: Array = self.units[0] * self.mean[:, 0]
        return forces


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


@dataclass(frozen=True, eq=False)
class Problem:
    """Torques that contacts on a link are to explain.

    Attributes:
        kernel: ``location_evidence``.
        J: (6, nv) Jacobian of the link, in its frame.
        torque: (nv) external torques [Nm or N].
        friction: typical ratio of tangential to normal force.
    """

    kernel: Kernel
    J: Array
    torque: Array
    friction: float


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
        self, problem: Problem, noises: Sequence[Noise], force: float, which: Indices | None = None
    ) -> list[Explained]:
        """Computes evidence and posterior of some or all pieces for each noise level.

        Args:
            problem: the torques.
            noises: the noise levels.
            force: typical force [N].
            which: indices of the pieces; None means all.
        """
        selected = slice(None) if which is None else which
        tangential, along = problem.friction * force, self.patches.size * force
        units = np.array([force, tangential, tangential, along, along])
        weights = np.array([[noise.weights] for noise in noises])
        evidence, mean, residuals = problem.kernel(
            problem.J, problem.torque, weights, units, self.wrenches[selected]
        )
        evidence += self._log_share[selected] + [[noise.log_weight] for noise in noises]
        return [Explained(*one, units) for one in zip(evidence, mean, residuals, strict=True)]


class SurfacedLink:
    """A link and its surface as coarse and fine pieces."""

    def __init__(self, name: str, surface: Surface) -> None:
        self.name = name
        self.surface = surface
        total = float(surface.fine.areas.sum())
        self.coarse = Pieces(surface.coarse, total)
        self.fine = Pieces(surface.fine, total)


class CoarseEvaluation:
    """First evaluation of the coarse pieces of a link, for one noise level."""

    def __init__(
        self, link: SurfacedLink, problem: Problem, noise: Noise, force: float, coarse: Explained
    ) -> None:
        self._link, self._problem, self._noise, self._force = link, problem, noise, force
        self._coarse = coarse
        self.evidence = float(np.logaddexp.reduce(coarse.evidence))

    @classmethod
    def each(
        cls, link: SurfacedLink, problem: Problem, noises: Sequence[Noise], force: float
    ) -> list[CoarseEvaluation]:
        """Evaluates a link for each noise level, with a typical force [N]."""
        explained = link.coarse.explain(problem, noises, force)
        return [cls(link, problem, *one) for one in zip(noises, repeat(force), explained)]

    def refined(self, least: float) -> Posterior | None:
        """Refines the likeliest pieces; None if the evidence is below ``least``."""
        if self.evidence < least:
            return None
        link, coarse = self._link, self._coarse
        kept = np.argsort(coarse.evidence)[-MAX_REFINED:]
        # The force estimated in the first evaluation replaces the initial guess.
        weights = np.exp(coarse.evidence[kept] - coarse.evidence[kept[-1]])
        force = float(weights @ coarse.force[kept] / weights.sum())
        force = max(force, 0.1 * self._force)
        fine = np.concatenate([link.surface.members[i] for i in kept])
        [explained] = link.fine.explain(self._problem, [self._noise], force, fine)
        return Posterior(link, fine, explained, self._noise)


class Posterior:
    """The evaluated pieces of one link and their probabilities."""

    def __init__(
        self, link: SurfacedLink, fine: Indices, explained: Explained, noise: Noise
    ) -> None:
        self._link, self._fine = link, fine
        self._explained, self._noise = explained, noise
        self.evidence = float(np.logaddexp.reduce(explained.evidence))

    def occluded(self, robot: PosedSurfaces, index: int) -> Posterior:
        """Returns the posterior given which of the likely pieces the robot occludes.

        Args:
            robot: surfaces of all links.
            index: index of this link among them.
        """
        evidence = self._explained.evidence
        likely = np.flatnonzero(evidence > evidence.max() + np.log(MIN_SHARE))
        hidden = likely[robot.hide(index, *self._places(likely))]
        if not len(hidden):
            return self
        evidence = evidence.copy()
        evidence[hidden] += np.log(HIDDEN)
        explained = replace(self._explained, evidence=evidence)
        return Posterior(self._link, self._fine, explained, self._noise)

    @property
    def link(self) -> str:
        """Name of the link."""
        return self._link.name

    @computed_once
    def place(self) -> tuple[Array, Array, Array]:
        """Likeliest point (3), normal (3) and force (3) there, in the link frame."""
        best = np.array([np.argmax(self._explained.evidence)])
        points, forces = self._places(best)
        return points[0], self._link.fine.patches.normals[self._fine[best[0]]], forces[0]

    @property
    def misfit(self) -> float:
        """RMS of the torque residuals of the likeliest piece, in units of their stated noise."""
        best = int(np.argmax(self._explained.evidence))
        return self._noise.misfit(self._explained.residuals[best])

    def _places(self, which: Indices) -> tuple[Array, Array]:
        """Returns the points (n, 3) and forces (n, 3) of pieces, in the link frame."""
        explained, pieces = self._explained, self._link.fine
        rows, size = self._fine[which], pieces.patches.size
        # Offset within the piece: d f / f, clipped at its edge.
        force, change = explained.force[which], explained.mean[which, 3:] * explained.units[0]
        pushing = (force > 0.0)[:, np.newaxis]
        along = np.divide(size * change, force[:, np.newaxis], np.zeros_like(change), where=pushing)
        tangents, normals = pieces.tangents[rows], pieces.patches.normals[rows]
        shift = np.clip(along, -2.0 * size, 2.0 * size)
        points = pieces.patches.points[rows] + np.einsum('nij,nj->ni', tangents, shift)
        tangential = explained.mean[which, 1:3] * explained.units[1:3]
        forces = np.einsum('nij,nj->ni', tangents, tangential) - force[:, np.newaxis] * normals
        return points, forces

    @computed_once
    def deviation(self) -> float:
        """Standard deviation of the point [m]."""
        patches = self._link.fine.patches
        weights = np.exp(self._explained.evidence - self.evidence)
        distances = np.sum((patches.points[self._fine] - self.place[0]) ** 2, axis=1)
        return float(np.sqrt(weights @ distances + patches.size**2))


@dataclass(frozen=True)
class UnlocatedContact:
    """Hypothesis of a contact anywhere on a link without a surface, given the torques."""

    link: str
    evidence: float
    misfit: float
    deviation: float = math.inf

    @property
    def place(self) -> tuple[Array, Array, Array]:
        """Zeros, because point, normal and force are unknown."""
        return np.zeros(3), np.zeros(3), np.zeros(3)

    @classmethod
    def explain(
        cls, link: str, J: Array, torque: Array, noise: Noise, force: float
    ) -> UnlocatedContact:
        """Computes the evidence from the Jacobian (6, nv), torques (nv) and a typical force [N].

        Uses the equations of ``location.py`` with x = (f, tau) ~ N(0, 1), in units of force and
        force x EXTENT.
        """
        J, y = J * noise.weights, torque * noise.weights
        for last in (False, True):
            units = force * np.array([1.0, 1.0, 1.0, EXTENT, EXTENT, EXTENT])
            A = J.T * units
            C = np.eye(6) + A.T @ A
            mean = np.linalg.solve(C, A.T @ y)
            if not last:  # the force that the first look found replaces the guess
                force = max(float(np.linalg.norm(mean[:3] * units[:3])), 0.1 * force)
        residuals = y - A @ mean
        quadratic = residuals @ residuals + mean @ mean
        # On any surface, half of all force directions would pull.
        evidence = np.log(0.5) - 0.5 * (quadratic + np.linalg.slogdet(C)[1])
        return cls(link, float(evidence + noise.log_weight), noise.misfit(residuals))

    def refined(self, least: float) -> UnlocatedContact | None:
        """Returns itself: there are no finer pieces to evaluate."""
        return None if self.evidence < least else self


@dataclass(frozen=True, eq=False)
class LinkEvidence:
    """A link with its evidence summed over all noise levels.

    Attributes:
        evidence: log evidence of the link.
        stated: part of it at the stated noise.
        best: refined result for the likeliest noise level; None if the first evaluation sufficed.
    """

    evidence: float
    stated: float
    best: Posterior | UnlocatedContact | None

    @classmethod
    def of(
        cls, evaluations: Sequence[CoarseEvaluation | UnlocatedContact], least: float
    ) -> LinkEvidence:
        """Combines the first evaluations, refining those whose evidence is at least ``least``."""
        first, *others = (evaluation.refined(least) for evaluation in evaluations)
        refined = [one for one in (first, *others) if one is not None]
        stated = (first or evaluations[0]).evidence if first or not refined else -math.inf
        among: Sequence[CoarseEvaluation | Posterior | UnlocatedContact] = refined or evaluations
        evidence = float(np.logaddexp.reduce([one.evidence for one in among]))
        return cls(evidence, stated, max(refined, key=lambda one: one.evidence, default=None))

    def occluded(self, robot: PosedSurfaces, index: int) -> LinkEvidence:
        """Returns the evidence given which pieces of this link, of an index, the robot occludes."""
        if not isinstance(self.best, Posterior):
            return self
        best = self.best.occluded(robot, index)
        change = best.evidence - self.best.evidence
        return LinkEvidence(self.evidence + change, self.stated + change, best)
