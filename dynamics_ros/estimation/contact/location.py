# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which link is touched, and where on its surface, from the pattern of external joint torques.

A push f at the point p of link k gives tau = J_k^T (f, p x f): joints beyond the link feel nothing,
those before it feel the line that f acts along. Every piece of every link's surface is a hypothesis
about p, in which the torque is linear in what else is unknown:

    tau = G x + noise,    x = (f_n, f_1, f_2, d_1, d_2) ~ N(0, 1),

with f_n along the inward normal, f_1 and f_2 tangential and as large as friction lets them be, and
d_1, d_2 the place within the piece. How well a hypothesis explains tau is its evidence

    log p(tau | piece) = -1/2 (y^T y - b^T C^-1 b + log det C),    y = tau / noise,
    A = G / noise,    C = 1 + A^T A,    b = A^T y,

less where the force would have to pull, and less where the line of action reaches the piece only
through another part of the robot. Of a link whose surface is not known, a force in any direction
and a torque of it are one more hypothesis: without, a push there would be put on a link that has a
surface, however badly that explains it. A link with more joints before it explains more torques,
and the determinant charges for that. Noise may be larger than stated, above all where joints move
and have friction that nobody has identified: all of this is computed for several sizes of it, whose
evidence is added up. Evidence weighted by area gives the probability of the links
and where on the likeliest one the contact is ([Manuelli2016] follow the same likelihood with a
particle filter). With six joints before the link this finds where the line of action enters the
surface; with fewer, friction decides what is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import UnknownFrameError
from dynamics_ros.model.model import ROOT
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry

from .hypotheses import (
    ContactLocation,
    Look,
    PosedSurfaces,
    Somewhere,
    SurfacedLink,
    Weighed,
    possible_noises,
)
from .surface import Surface

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

LEVER = 0.3
"""m; the force of a first look is the largest torque over this."""

MODEL_ERROR = 0.01
"""Part of a torque that the model itself may be wrong by."""

HIDDEN = 0.01
"""Of what lies in front of the pusher, so much of the evidence is left."""

KNOWN = 0.03
"""m; with a smaller deviation the likeliest place stands for all of a link."""

AT_REST = 0.02
"""rad/s or m/s; a joint that is faster moves."""

UNDESCRIBED = 0.15
"""How likely it is that none of the hypotheses is true where noise is not as stated: friction is
different at each joint. See ``test/estimation/test_estimation_location_friction.py``."""

NEGLIGIBLE = 7.0
"""Of what is so much less likely, as a logarithm, than something else the first look is enough."""


class ContactLocator:
    """Finds the link and the point of a single contact; equations at the top of this file."""

    def __init__(
        self,
        robot: Robot,
        surfaces: Mapping[str, Surface],
        *,
        without_surface: Iterable[str] = (),
        noise: ArrayLike = 0.05,
        friction: float = 0.3,
    ) -> None:
        """Make a locator.

        Args:
            robot: the robot. Torques on a moving root joint are not used: it feels the ground.
            surfaces: of the links, as of ``sample_surfaces``. Links that no joint moves are left
                out.
            without_surface: links that can be touched as well, as of ``links_without_surface``.
            noise: standard deviation of an external torque, number or (nv), inf for a joint that is
                not used [Nm or N].
            friction: tangential over normal force that is usual in a push.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
            UnknownFrameError: a link that the robot does not have.
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
        self._links = [
            SurfacedLink(name, one) for name, one in surfaces.items() if self._feels(name)
        ]
        # Where nothing has a surface, there is nothing to find.
        self._unseen = [name for name in unseen if self._links and self._feels(name)]

    @property
    def links(self) -> tuple[str, ...]:
        """The links that a contact can be found on."""
        return (*(link.name for link in self._links), *self._unseen)

    def _feels(self, link: str) -> bool:
        """Whether a joint that is used moves a link."""
        model = self._robot.model
        joints = model.ancestors(model.frame(link).body)
        felt = {i for body in joints for i in model.joints[body].v_indices}
        return bool(np.isfinite(self._noise[list(felt)]).any())

    def compile(self, check: Callable[[], None] = lambda: None) -> None:
        """Have the kernels made, which otherwise takes place in the first call.

        Args:
            check: called between two kernels; raises when they are no longer wanted.
        """
        q = self._robot.neutral()
        for link in self.links:
            check()
            self._robot.jacobian(q, link, 'local')
        for surfaced in self._links:
            check()
            self._robot.forward_kinematics(q, surfaced.name)
        # Takes as long to import as this package: who only imports that shall not wait.
        import scipy.special  # noqa: F401

    def locate(
        self,
        q: ArrayLike,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        v: ArrayLike | None = None,
        deviation: ArrayLike | None = None,
    ) -> ContactLocation | None:
        """The contact that explains the torques best; None without a link or without any torque.

        Args:
            q: (nq) configuration.
            external_torque: (nv), tared [Nm or N].
            ignored: (nv) joints that are not to be believed now.
            v: (nv) velocities, which say what joints may have friction; None is at rest.
            deviation: (nv) of the torques at this state, where it is known to be more than the
                noise that was told at the start.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        torque = finite_vector('external_torque', external_torque, self._robot.nv)
        used = np.isfinite(self._noise)
        if ignored is not None:
            used &= ~ignored
        largest = np.abs(torque[used]).max(initial=0.0)
        if not self._links or largest == 0.0:
            return None
        own = self._noise[used]
        if deviation is not None:
            own = np.maximum(own, finite_vector('deviation', deviation, len(used))[used])
        noise = np.hypot(own, MODEL_ERROR * largest)
        moving = np.zeros(len(used), dtype=bool)
        if v is not None:
            moving = np.abs(finite_vector('v', v, len(used))) > AT_REST
        noises = possible_noises(noise, moving[used])
        force = largest / LEVER
        jacobians = [self._robot.jacobian(q, name, 'local')[:, used] for name in self.links]
        looks: list[list[Look | Somewhere]] = [
            [Look(link, J, torque[used], one, force, self._friction) for one in noises]
            for link, J in zip(self._links, jacobians)
        ]
        looks += [
            [Somewhere.explain(name, J, torque[used], one, force) for one in noises]
            for name, J in zip(self._unseen, jacobians[len(self._links) :])
        ]
        least = max(look.evidence for of_link in looks for look in of_link) - NEGLIGIBLE
        found = [Weighed.of(of_link, least) for of_link in looks]
        evidence = np.array([link.evidence for link in found])
        rivals = np.flatnonzero(evidence > evidence.max() + np.log(HIDDEN))
        if len(rivals) > 1:
            robot = PosedSurfaces(self._robot, self._links, q)
            for index in rivals:
                one = found[index].best
                # Of many places that would do, some are free.
                if one and one.deviation < KNOWN and robot.hides(index, *one.place()):
                    evidence[index] += np.log(HIDDEN)
        probabilities = np.exp(evidence - np.logaddexp.reduce(evidence))
        seen = np.array([link.best is not None for link in found])
        best = found[int(np.argmax(np.where(seen, evidence, -np.inf)))].best
        assert best is not None, 'of the likeliest link at least'
        # How likely it is that noise is as stated.
        stated = np.logaddexp.reduce([link.stated for link in found])
        certain = min(np.exp(stated - np.logaddexp.reduce([link.evidence for link in found])), 1.0)
        if not math.isfinite(best.deviation):
            certain = 0.0  # any force and any torque: that explains nearly everything
        return best.location(
            {link: float(p) for link, p in zip(self.links, probabilities, strict=True)},
            1.0 - UNDESCRIBED * (1.0 - float(certain)),
        )


def links_without_surface(
    robot: Robot, with_surface: Iterable[str], unread: Iterable[str]
) -> tuple[str, ...]:
    """The links that can be touched where no surface is known, one a body.

    Args:
        robot: the robot.
        with_surface: links that have one.
        unread: those with shapes that could not be read, whether they have others or not.
    """
    model = robot.model
    shaped = {model.frame(link).body for link in with_surface}
    # All links of a body feel the same: the first stands for them.
    found = {model.frame(link).body: link for link in reversed(tuple(unread))}
    found.pop(ROOT, None)
    for body, (link, inertia) in enumerate(zip(model.body_names, model.inertias, strict=True)):
        # Those between the axes of a joint of several have no mass, and nothing to touch.
        if body not in shaped and inertia.mass > 0.0:
            found.setdefault(body, link)
    return tuple(found[body] for body in sorted(found))
