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
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import UnknownFrameError
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.model.model import ROOT
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry

from .hypotheses import (
    HIDDEN,
    CoarseEvaluation,
    ContactLocation,
    LinkEvidence,
    Problem,
    SurfacedLink,
    UnlocatedContact,
    possible_noises,
)
from .occlusion import PosedSurfaces
from .surface import Surface

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

LEVER = 0.3
"""Lever arm of the first force guess: the largest torque divided by this [m]."""

MODEL_ERROR = 0.01
"""Relative model error of a torque."""

AT_REST = 0.02
"""Speed above which a joint counts as moving [rad/s], times ``motion_scales`` of sliding joints."""

UNDESCRIBED = 0.15
"""Probability that no hypothesis is true if the noise is not as stated: friction differs between
joints. See ``test/estimation/test_estimation_location_friction.py``."""

NEGLIGIBLE = 7.0
"""Log-evidence gap to the best hypothesis beyond which a link is not refined."""


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
            SurfacedLink(name, one) for name, one in surfaces.items() if self._is_loaded(name)
        ]
        # Without any surface no location can be found.
        self._unseen = [name for name in unseen if self._links and self._is_loaded(name)]

    @property
    def links(self) -> tuple[str, ...]:
        """Links on which a contact can be found."""
        return (*(link.name for link in self._links), *self._unseen)

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
        for surfaced in self._links:
            check()
            self._robot.forward_kinematics(q, surfaced.name)
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
        force, kernel = largest / LEVER, self._robot.kernel('location_evidence')
        jacobians = [self._robot.jacobian(q, name, 'local') for name in self.links]
        problems = [Problem(kernel, J, torque, self._friction) for J in jacobians]
        evaluations: list[list[CoarseEvaluation | UnlocatedContact]] = [
            [*CoarseEvaluation.each(link, problem, noises, force)]
            for link, problem in zip(self._links, problems)
        ]
        evaluations += [
            [UnlocatedContact.explain(name, J, torque, one, force) for one in noises]
            for name, J in zip(self._unseen, jacobians[len(self._links) :])
        ]
        least = (
            max(evaluation.evidence for of_link in evaluations for evaluation in of_link)
            - NEGLIGIBLE
        )
        found = [LinkEvidence.of(of_link, least) for of_link in evaluations]
        evidence = np.array([link.evidence for link in found])
        rivals = np.flatnonzero(evidence > evidence.max() + np.log(HIDDEN))
        fine = {link.name: link.surface.fine for link in self._links}
        robot = PosedSurfaces(self._robot, fine, q)
        for index in rivals:
            found[index] = found[index].occluded(robot, int(index))
            evidence[index] = found[index].evidence
        probabilities = np.exp(evidence - np.logaddexp.reduce(evidence))
        seen = np.array([link.best is not None for link in found])
        best = found[int(np.argmax(np.where(seen, evidence, -np.inf)))].best
        assert best is not None, 'of the likeliest link at least'
        # Probability that the noise is as stated.
        stated = np.logaddexp.reduce([link.stated for link in found])
        certain = min(np.exp(stated - np.logaddexp.reduce([link.evidence for link in found])), 1.0)
        if not math.isfinite(best.deviation):
            certain = 0.0  # any force and any torque: that explains nearly everything
        by_link = {link: float(p) for link, p in zip(self.links, probabilities, strict=True)}
        probability = (1.0 - UNDESCRIBED * (1.0 - float(certain))) * by_link[best.link]
        return ContactLocation(
            best.link, probability, by_link, *best.place, best.deviation, best.misfit
        )


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
