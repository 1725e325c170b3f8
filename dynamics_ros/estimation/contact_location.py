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
and the determinant charges for that. Evidence weighted by area gives the probability of the links
and where on the likeliest one the contact is ([Manuelli2016] follow the same likelihood with a
particle filter). With six joints before the link this finds where the line of action enters the
surface; with fewer, friction decides what is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_positive, finite_vector, per_entry
from ..errors import UnknownFrameError
from ..model.model import ROOT
from .contact_surface import Patches, Surface

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVER = 0.3
"""m; the force of a first look is the largest torque over this."""

MODEL_ERROR = 0.01
"""Part of a torque that the model itself may be wrong by."""

HIDDEN = 0.01
"""Of what lies in front of the pusher, so much of the evidence is left."""

REACH = (0.01, 0.3)
"""m along the line of action: from where to where something is in front of a contact."""

KNOWN = 0.03
"""m; with a smaller deviation the likeliest place stands for all of a link."""

KEPT = 12
"""Coarse pieces of a link that are looked at again in fine ones."""

EXTENT = 0.3
"""m; how far from its origin a link without a surface may be touched."""


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Where the robot is touched.

    Attributes:
        link: the likeliest link.
        probability: of that link among all that were compared.
        probabilities: of each link.
        point: (3) in the link's frame [m]; zero, as the two below, where the link has no surface.
        normal: (3) outward normal of the surface there, in the link's frame.
        force: (3) of the environment on the robot, in the link's frame [N].
        deviation: standard deviation of the point on the link [m]; inf for a link without surface.
        misfit: root mean square of the torques that the contact leaves over, in units of their
            noise; far above 1, one push on one link is not what happens.
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
    def point_frame(self) -> str:
        """The frame of point, normal and force; '' where none of them was found."""
        return self.link if math.isfinite(self.deviation) else ''


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
        self._links = [_Link(name, one) for name, one in surfaces.items() if self._feels(name)]
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
        self, q: ArrayLike, external_torque: ArrayLike, ignored: NDArray[np.bool_] | None = None
    ) -> ContactLocation | None:
        """The contact that explains the torques best; None without a link or without any torque.

        Args:
            q: (nq) configuration.
            external_torque: (nv), tared [Nm or N].
            ignored: (nv) joints that are not to be believed now.

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
        noise = np.hypot(self._noise[used], MODEL_ERROR * largest)
        y = torque[used] / noise
        force = largest / LEVER
        found: list[_Posterior | _Somewhere] = [
            self._on_link(link, q, used, noise, y, force) for link in self._links
        ]
        for name in self._unseen:
            J = self._robot.jacobian(q, name, 'local')[:, used] / noise
            found.append(_Somewhere.explain(name, J, y, force))
        evidence = np.array([link.evidence for link in found])
        rivals = np.flatnonzero(evidence > evidence.max() + np.log(HIDDEN))
        if len(rivals) > 1:
            robot = _Posed(self._robot, self._links, q)
            for index in rivals:
                one = found[index]
                # Of many places that would do, some are free.
                if one.deviation < KNOWN and robot.hides(index, *one.place()):
                    evidence[index] += np.log(HIDDEN)
        probabilities = np.exp(evidence - np.logaddexp.reduce(evidence))
        best = int(np.argmax(evidence))
        return found[best].location(
            {link: float(p) for link, p in zip(self.links, probabilities, strict=True)}
        )

    def _on_link(
        self,
        link: _Link,
        q: ArrayLike,
        used: NDArray[np.bool_],
        noise: Array,
        y: Array,
        force: float,
    ) -> _Posterior:
        J = self._robot.jacobian(q, link.name, 'local')[:, used] / noise
        coarse = link.coarse.explain(J, y, force, self._friction)
        kept = np.argsort(coarse.evidence)[-KEPT:]
        # The force that the first look found replaces the guess.
        weights = np.exp(coarse.evidence[kept] - coarse.evidence[kept[-1]])
        force = max(float(weights @ coarse.force[kept] / weights.sum()), 0.1 * force)
        fine = np.concatenate([link.surface.members[i] for i in kept])
        return _Posterior(link, fine, link.fine.explain(J, y, force, self._friction, fine))


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


@dataclass(frozen=True, eq=False)
class _Explained:
    """What each piece of a surface makes of the torques.

    Attributes:
        evidence: (n) log of its probability density, its area included.
        force: (n) inward force [N].
        mean: (n, 5) and covariance: (n, 5, 5) of the unknowns x, and their units.
        misfit: (n) sum of squares of what it leaves over.
    """

    evidence: Array
    force: Array
    mean: Array
    covariance: Array
    units: Array
    misfit: Array


class _Pieces:
    """The constant part of G for the pieces of a surface: wrenches of the unknowns, per unit."""

    def __init__(self, patches: Patches, total_area: float) -> None:
        n, p = patches.normals, patches.points
        # Tangents: of a vector that is not along the normal.
        least = np.eye(3)[np.argmin(np.abs(n), axis=1)]
        first = np.cross(n, least)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        self.tangents = np.stack([first, np.cross(n, first)], axis=2)
        directions = np.concatenate([-n[..., np.newaxis], self.tangents], axis=2)
        self.wrenches = np.zeros((len(p), 6, 5))
        self.wrenches[:, :3, :3] = directions
        self.wrenches[:, 3:, :3] = np.cross(p[..., np.newaxis], directions, axis=1)
        # A place d further along a tangent: the torque of the inward force grows by d x (-n).
        self.wrenches[:, 3:, 3:] = np.cross(self.tangents, -n[..., np.newaxis], axis=1)
        self.patches = patches
        self._log_share = np.log(patches.areas / total_area)

    def explain(
        self, J: Array, y: Array, force: float, friction: float, which: Indices | None = None
    ) -> _Explained:
        """Evidence and posterior of the pieces for the whitened Jacobian and torques."""
        selected = slice(None) if which is None else which
        tangential, along = friction * force, self.patches.size * force
        units = np.array([force, tangential, tangential, along, along])
        A = (J.T @ self.wrenches[selected]) * units
        C = np.eye(5) + np.swapaxes(A, 1, 2) @ A
        b = y @ A
        covariance = np.linalg.inv(C)
        mean = np.einsum('nij,nj->ni', covariance, b)
        left = y - np.einsum('nij,nj->ni', A, mean)
        # y^T y - b^T C^-1 b = |left|^2 + |mean|^2, without cancellation.
        misfit = np.einsum('ni,ni->n', left, left)
        quadratic = misfit + np.einsum('ni,ni->n', mean, mean)
        from scipy.special import log_ndtr  # see compile

        pushes = log_ndtr(mean[:, 0] / np.sqrt(covariance[:, 0, 0]))
        determinant = np.linalg.slogdet(C)[1]
        evidence = self._log_share[selected] + pushes - 0.5 * (quadratic + determinant)
        return _Explained(evidence, force * mean[:, 0], mean, covariance, units, misfit / len(y))


class _Link:
    def __init__(self, name: str, surface: Surface) -> None:
        self.name = name
        self.surface = surface
        total = float(surface.fine.areas.sum())
        self.coarse = _Pieces(surface.coarse, total)
        self.fine = _Pieces(surface.fine, total)


class _Posterior:
    """The pieces of one link that were looked at, and how likely they are."""

    def __init__(self, link: _Link, fine: Indices, explained: _Explained) -> None:
        self._link = link
        self._fine = fine
        self._explained = explained
        self.evidence = float(np.logaddexp.reduce(explained.evidence))

    def place(self) -> tuple[Array, Array]:
        """The likeliest point (3) and the force there (3), in the link's frame."""
        explained, pieces = self._explained, self._link.fine
        best = int(np.argmax(explained.evidence))
        index, size = self._fine[best], pieces.patches.size
        # Where within the piece: d f / f, no farther than its edge.
        force, change = explained.force[best], explained.mean[best, 3:] * explained.units[0]
        along = size * change / force if force > 0.0 else np.zeros_like(change)
        tangents, normal = pieces.tangents[index], pieces.patches.normals[index]
        point = pieces.patches.points[index] + tangents @ np.clip(along, -2.0 * size, 2.0 * size)
        tangential = explained.mean[best, 1:3] * explained.units[1:3]
        return point, tangents @ tangential - explained.force[best] * normal

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the point [m]."""
        patches = self._link.fine.patches
        weights = np.exp(self._explained.evidence - self.evidence)
        distances = np.sum((patches.points[self._fine] - self.place()[0]) ** 2, axis=1)
        return float(np.sqrt(weights @ distances + patches.size**2))

    def location(self, probabilities: dict[str, float]) -> ContactLocation:
        """The contact on this link."""
        explained, patches = self._explained, self._link.fine.patches
        best = int(np.argmax(explained.evidence))
        point, force = self.place()
        return ContactLocation(
            link=self._link.name,
            probability=probabilities[self._link.name],
            probabilities=probabilities,
            point=point,
            normal=patches.normals[self._fine[best]],
            force=force,
            deviation=self.deviation,
            misfit=float(np.sqrt(explained.misfit[best])),
        )


@dataclass(frozen=True)
class _Somewhere:
    """What a push somewhere on a link without surface makes of the torques."""

    link: str
    evidence: float
    misfit: float
    deviation: float = math.inf

    @classmethod
    def explain(cls, link: str, J: Array, y: Array, force: float) -> _Somewhere:
        """The evidence for the whitened Jacobian (6, m) and torques (m) and a usual force [N].

        The equations at the top, with x = (f, tau) ~ N(0, 1) in units of force and force x EXTENT.
        """
        for last in (False, True):
            units = force * np.array([1.0, 1.0, 1.0, EXTENT, EXTENT, EXTENT])
            A = J.T * units
            C = np.eye(6) + A.T @ A
            mean = np.linalg.solve(C, A.T @ y)
            if not last:  # the force that the first look found replaces the guess
                force = max(float(np.linalg.norm(mean[:3] * units[:3])), 0.1 * force)
        left = y - A @ mean
        misfit = float(left @ left)
        # Half of all forces would pull, wherever the surface is.
        evidence = np.log(0.5) - 0.5 * (misfit + mean @ mean + np.linalg.slogdet(C)[1])
        return cls(link, float(evidence), float(np.sqrt(misfit / len(y))))

    def place(self) -> tuple[Array, Array]:
        """No point and no force."""
        return np.zeros(3), np.zeros(3)

    def location(self, probabilities: dict[str, float]) -> ContactLocation:
        """The contact on this link."""
        return ContactLocation(
            link=self.link,
            probability=probabilities[self.link],
            probabilities=probabilities,
            point=np.zeros(3),
            normal=np.zeros(3),
            force=np.zeros(3),
            deviation=self.deviation,
            misfit=self.misfit,
        )


class _Posed:
    """The surfaces of all links where they are at a configuration."""

    def __init__(self, robot: Robot, links: Sequence[_Link], q: ArrayLike) -> None:
        self._poses = [robot.forward_kinematics(q, link.name) for link in links]
        self._points = np.concatenate(
            [
                link.fine.patches.points @ X[:3, :3].T + X[:3, 3]
                for link, X in zip(links, self._poses, strict=True)
            ]
        )
        self._width = np.concatenate([np.sqrt(link.fine.patches.areas / np.pi) for link in links])

    def hides(self, link: int | np.intp, point: Array, force: Array) -> bool:
        """Whether a push at a point of a link would have to come through the robot."""
        X = self._poses[link]
        away = X[:3, :3] @ (-force / np.linalg.norm(force))
        offsets = self._points - (X[:3, :3] @ point + X[:3, 3])
        ahead = offsets @ away
        aside = np.einsum('ij,ij->i', offsets, offsets) - ahead**2
        hit = (ahead > REACH[0]) & (ahead < REACH[1]) & (aside < self._width**2)
        return bool(hit.any())
