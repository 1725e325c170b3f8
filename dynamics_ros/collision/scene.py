# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances between the links of a robot and obstacles in a configuration, and their Jacobians.

Pairs that are not checked are adjacent links, those of an SRDF or, without an SRDF, those that are
in contact in nearly all random configurations within the limits, as MoveIt's setup assistant does.
A pair that is close in one posture alone stays.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownFrameError
from dynamics_ros.kernels import compile
from dynamics_ros.kernels.math import array, maximum, norm, where
from dynamics_ros.model import ROOT
from dynamics_ros.model.collision_geometry import CollisionGeometry, read_collision_geometry
from dynamics_ros.model.description_file import description_text
from dynamics_ros.model.hardened_xml import read_xml
from dynamics_ros.model.joints import Prismatic, Revolute
from dynamics_ros.model.model import Joint, Model
from dynamics_ros.multibody.arguments import check_not_negative, finite_vector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .shapes import Body, Obstacle, coal

Array = NDArray[np.float64]
Pair = tuple[str, str]

SAME_BODY = 'fixed to each other'
ADJACENT = 'adjacent'
DISABLED = 'disabled by the SRDF'
ALWAYS = 'always in contact'
"""Reasons why a pair is not checked."""

SAMPLES = 500
"""Number of random configurations in which pairs are tested for permanent contact."""

PERMANENT = 0.95
"""Fraction of these configurations from which a pair counts as permanently in contact; MoveIt's
setup assistant has the same default."""

PRECISION = 1e-9
"""Tolerance of coal's iterations. The direction of a normal is exact to about its square root;
coal's default of 1e-6 takes as long."""

OUTSIDE = 1e-3
"""Distance by which a closest point may lie outside of the bounding sphere of its shape [m]."""

UNBOUNDED = 1e9
"""Largest motion of a joint in computations, instead of infinity [rad or m]."""

FARTHEST = 1e3
"""Largest distance that is remembered; rounding of a larger one could hide a motion back [m]."""

FEW = 6
"""Number of pairs up to which distances take no longer than those of their bounding spheres."""

UNIT = 1e-9
"""Distance below which the direction between two points is not defined [m]."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of k pairs of shapes in a configuration.

    Attributes:
        pairs: names of both links or obstacles of each pair. Links with several convex shapes have
            an entry for each.
        distance: (k) [m]; negative: depth of penetration.
        points: (k, 2, 3) closest points on the first and the second shape, in the root frame [m].
        normals: (k, 3) unit vectors from the first to the second shape, in the root frame.
    """

    pairs: tuple[Pair, ...]
    distance: Array
    points: Array
    normals: Array

    @property
    def smallest(self) -> float:
        """Smallest distance [m]; inf without a pair."""
        return float(self.distance.min(initial=np.inf))


NO_PAIR = Distances((), np.empty(0), np.empty((0, 2, 3)), np.empty((0, 3)))


class Collisions:
    """Shapes of a robot's links, obstacles, and the pairs of them that may collide.

    Meshes count as their convex hulls. The object does not change; ``with_obstacles`` makes another
    one with the same links. Its methods may be called from several threads.

    Attributes:
        robot: the robot.
        margin: distance below which a pair counts as in collision [m].
        obstacles: obstacles by name.
        allowed: reason by pair of links for each pair that is not checked.
        pairs: pairs of links and obstacles that are checked.
        problems: shapes of the description that are ignored, and unknown links of the SRDF.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        description: str | os.PathLike[str] | CollisionGeometry,
        srdf: str | os.PathLike[str] | None = None,
        obstacles: Mapping[str, Obstacle] | None = None,
        margin: float = 0.0,
        *,
        folder: Path | None = None,
        ignore_unreadable: bool = False,
    ) -> None:
        """Read the shapes, and find the pairs.

        Args:
            robot: the robot.
            description: its URDF text or file, or the shapes that were read from it.
            srdf: text or file of an SRDF, whose disabled pairs are not checked. None: pairs in
                contact in nearly all of many random configurations are not checked.
            obstacles: obstacles by name.
            margin: distance below which a pair counts as in collision [m].
            folder: folder of relative mesh paths if the description is text.
            ignore_unreadable: continue without shapes that cannot be read, instead of an error.

        Raises:
            ModelError: coal is not installed, or a shape or the SRDF cannot be read, or the
                description has no shape.
            InvalidArgumentError: an obstacle or the margin is wrong.
        """
        coal()
        check_not_negative('margin', margin)
        if not isinstance(description, CollisionGeometry):
            description = read_collision_geometry(description, folder)
        self.robot, self.margin = robot, float(margin)
        self.problems = description.problems
        known = robot.model.frame_indices
        unread = [link for link in description.unread if link in known]
        if unread and not ignore_unreadable:
            links = ', '.join(map(repr, unread))
            advice = 'mend them, or pass ignore_unreadable=True to leave these shapes out'
            raise ModelError(f'collision shapes of {links}', f'{self.problems[0]}; {advice}')
        self._bodies = [
            Body(link, shape)
            for link, shapes in description.shapes.items()
            if link in known
            for shape in shapes
        ]
        if not self._bodies:
            expected = 'collision elements on its links; only URDF is read'
            raise ModelError('description', f'no collision shape of {robot.name!r}; {expected}')
        self.allowed = self._fixed_pairs()
        if srdf is not None:
            disabled, unknown = disabled_pairs(srdf, {body.link for body in self._bodies})
            for pair in sorted(disabled):
                self.allowed.setdefault(pair, DISABLED)
            self.problems += tuple(f'SRDF: {x!r} is not a link with a shape' for x in unknown)
        self._links = len(self._bodies)
        shapes = (), 3, 3, 3, (4, 4), (4, 4), (), (), (6, robot.nv), (6, robot.nv), robot.nv
        names = 'd', 'p', 'r', 'n', 'X', 'Y', 's', 't', 'J', 'K', 'ways'
        inputs: dict[str, Any] = dict(zip(names, shapes, strict=True))
        self._kernel = compile(_pair, inputs, 'pair_of_bodies')
        self._set_obstacles({})
        if srdf is None:
            self._allow_permanent_contacts()
        self._set_obstacles(obstacles or {})

    def with_obstacles(self, obstacles: Mapping[str, Obstacle]) -> Collisions:
        """Return the same links with other obstacles.

        Args:
            obstacles: all obstacles by name; they replace the present ones.

        Raises:
            InvalidArgumentError: an obstacle is wrong, or has the name of a link.
            ModelError: a mesh cannot be read.
        """
        other = copy.copy(self)
        other._bodies = self._bodies[: self._links]
        other._set_obstacles(obstacles)
        return other

    def with_masses_of(self, robot: RigidBodySystem) -> Collisions:
        """Return the same shapes and obstacles of a robot that differs in masses alone."""
        other = copy.copy(self)
        other.robot = robot
        return other

    def check_robot(self, robot: RigidBodySystem) -> None:
        """Check that this is a scene of a robot.

        Raises:
            InvalidArgumentError: it is none, or that of a robot with other joints.
        """
        if not isinstance(self, Collisions):
            found = f'a {type(self).__name__}'
            raise InvalidArgumentError('collisions', found, 'a dynamics_ros.collision.Collisions')
        own = self.robot
        if own is not robot and (own.nq, own.joint_names) != (robot.nq, robot.joint_names):
            found = f'those of {own.name!r}, with other joints'
            raise InvalidArgumentError('collisions', found, f'those of {robot.name!r}')

    def distances(self, q: ArrayLike, within: float = np.inf) -> Distances:
        """Return the distances of pairs in a configuration.

        Args:
            q: (nq) configuration.
            within: only pairs at most so far apart [m].

        Raises:
            InvalidArgumentError: q has the wrong size or is not finite.
        """
        return self.distance_jacobian(q, within)[0]

    def in_collision(self, q: ArrayLike) -> bool:
        """Whether a pair is closer than ``margin`` in a configuration (nq)."""
        return self.collision(q) is not None

    def collision(self, q: ArrayLike) -> Pair | None:
        """Return a pair that is closer than ``margin`` in a configuration (nq); None if none is."""
        q = finite_vector('q', q, self.robot.nq)
        with self._lock:
            near = self._near(q, self.margin, np.zeros(self.robot.nv))
            return next((self._names[k] for k in near if self._measure(k) < self.margin), None)

    def distance_jacobian(
        self, q: ArrayLike, within: float = np.inf, ways: ArrayLike | None = None
    ) -> tuple[Distances, Array]:
        """Return distances and their derivatives with respect to the motion of the joints.

        The rate of a distance is n . (v_2 - v_1), with the velocities of the closest points as
        points of their bodies and n from the first to the second ([Faverjon1987]).

        Args:
            q: (nq) configuration.
            within: only pairs at most so far apart [m].
            ways: (nv) largest motion of each joint [rad or m]; with it, only pairs that these
                motions could bring within that distance, by the Jacobian at q.

        Returns:
            The distances of k pairs, and J (k, nv) with d-dot = J v.
        """
        robot = self.robot
        q, nv = finite_vector('q', q, robot.nq), robot.nv
        ways = np.zeros(nv) if ways is None else np.minimum(ways, UNBOUNDED)
        with self._lock:
            near = self._near(q, within, ways)
            if not near:
                return NO_PAIR, np.zeros((0, nv))
            if self._frames:
                self._twists[1:] = robot.jacobian(q, self._frames, 'world')
            names: list[Pair] = []
            rows = np.empty((len(near), 12 + nv))
            for pair in near:
                distance, result = self._measure(pair), self._result
                p, r, n = result.getNearestPoint1(), result.getNearestPoint2(), result.normal
                if not math.isfinite(sum(p.tolist() + r.tolist() + n.tolist())):
                    # Where shapes just touch, coal may leave the direction open.
                    p, r, n = np.full((3, 3), UNBOUNDED)
                i, j = self._pair_ends[pair]
                bodies = self._placed[i], self._placed[j], self._extents[i], self._extents[j]
                moving = self._twists[self._carried_by[i]], self._twists[self._carried_by[j]]
                row = self._kernel(distance, p, r, n, *bodies, *moving, ways)
                after, self._known[pair] = row.item(0), min(row.item(1), FARTHEST)
                if after <= within:
                    rows[len(names)] = row
                    names.append(self._names[pair])
        rows = rows[: len(names)]
        points = rows[:, 3:9].reshape(-1, 2, 3)
        return Distances(tuple(names), rows[:, 2], points, rows[:, 9:12]), rows[:, 12:]

    def _near(self, q: Array, within: float, ways: Array) -> list[int]:
        """Pairs that could be so near after motions of the joints; places their bodies.

        Pairs are left out by their last distances and the joint motions since, or by their bounding
        spheres.
        """
        self._known -= self._shifts @ np.abs(q - self._known_at)
        self._known_at[:] = q
        needed = within + self._levers @ ways
        # A NaN is measured again.
        (pairs,) = (~(self._known > needed)).nonzero()
        if not len(pairs):
            return []
        if self._frames:
            self._carriers[1:] = self.robot.forward_kinematics(q, self._frames)
        self._placed = self._carriers.take(self._carried_by, axis=0) @ self._poses
        if len(pairs) > FEW:
            centres, (first, second) = self._placed[:, :3, 3], self._ends[:, pairs]
            apart = centres.take(second, axis=0) - centres.take(first, axis=0)
            # The gap of bounding spheres is less than the distance, and counts as measured.
            gaps = np.sqrt(np.einsum('ij,ij->i', apart, apart)) - self._reach[pairs]
            self._known[pairs] = np.minimum(gaps, FARTHEST)
            pairs = pairs[~(gaps > needed[pairs])]
        near: list[int] = pairs.tolist()
        for k in {end for pair in near for end in self._pair_ends[pair]}:
            placed = self._placed[k]
            self._transforms[k].setTransform(placed[:3, :3], placed[:3, 3])
        return near

    def _measure(self, pair: int) -> float:
        """Distance of a pair [m]; ``_result`` has its closest points and normal."""
        i, j = self._pair_ends[pair]
        request, result = self._requests[pair], self._result
        result.clear()
        distance: float = self._calls[pair](
            self._transforms[i], self._transforms[j], request, result
        )
        request.updateGuess(result)
        return distance

    def _fixed_pairs(self) -> dict[Pair, str]:
        """Pairs of links that are fixed to each other or adjacent."""
        model = self.robot.model
        links = {body.link for body in self._bodies}
        adjacent = dict.fromkeys(sorted(adjacent_pairs(model, links)), ADJACENT)
        pairs = itertools.combinations(sorted(links), 2)
        body = {link: model.frame(link).body for link in links}
        return adjacent | {(x, y): SAME_BODY for x, y in pairs if body[x] == body[y]}

    def _allow_permanent_contacts(self) -> None:
        """Stop checking pairs that are in contact in nearly all random configurations."""
        contacts = dict.fromkeys(self.pairs, 0)
        generator = np.random.default_rng(0)
        for _ in range(SAMPLES):
            near = self.distances(self.robot.random_configuration(generator), self.margin)
            for pair in set(near.pairs):
                contacts[pair] += 1
        self.allowed |= {
            pair: ALWAYS for pair, count in contacts.items() if count >= PERMANENT * SAMPLES
        }

    def _set_obstacles(self, obstacles: Mapping[str, Obstacle]) -> None:
        """Make the pairs of links and obstacles, and what coal needs to measure them."""
        model, library = self.robot.model, coal()
        bodies, frames = list(self._bodies), [body.link for body in self._bodies]
        touching: dict[str, set[str]] = {}
        for name, obstacle in obstacles.items():
            if not isinstance(obstacle, Obstacle):
                found = f'{name!r} is a {type(obstacle).__name__}'
                raise InvalidArgumentError('obstacles', found, 'an Obstacle by name')
            if name in model.frame_indices:
                raise InvalidArgumentError('obstacles', f'{name!r} is a link', 'another name')
            for link in ((obstacle.frame,) if obstacle.frame else ()) + tuple(obstacle.touching):
                if link not in model.frame_indices:
                    raise UnknownFrameError(f'obstacle {name!r}', link, model.frame_indices)
            bodies.append(Body(name, obstacle.shape(name)))
            frames.append(obstacle.frame)
            touching[name] = set(obstacle.touching)
        self._bodies, self.obstacles = bodies, dict(obstacles)
        # All shapes of a moving body are carried by one frame; the others by the root frame.
        moved_by = [model.frame(name).body if name else ROOT for name in frames]
        carriers, poses, spans = {ROOT: ''}, [], []
        for body, name, mover in zip(bodies, frames, moved_by, strict=True):
            X, carrier = np.eye(4), carriers.setdefault(mover, name)
            if name:
                X = model.frame(name).placement.array()
            spans.append(float(np.linalg.norm((X @ body.pose)[:3, 3])) + body.radius)
            if carrier:
                X = model.frame(carrier).placement.inverse().array() @ X
            poses.append(X @ body.pose)
        self._poses = np.array(poses)
        self._frames = list(carriers.values())[1:]
        self._carriers = np.tile(np.eye(4), (len(carriers), 1, 1))
        self._twists = np.zeros((len(carriers), 6, model.nv))
        places = {mover: i for i, mover in enumerate(carriers)}
        self._carried_by = [places[mover] for mover in moved_by]
        names = [body.link for body in bodies]
        self._pair_ends = [
            (i, j)
            for i, j in itertools.combinations(range(len(bodies)), 2)
            if moved_by[i] != moved_by[j]
            and pair_of(names[i], names[j]) not in self.allowed
            and names[i] not in touching.get(names[j], ())
            and names[j] not in touching.get(names[i], ())
        ]
        self._ends = np.array(self._pair_ends, dtype=np.intp).reshape(-1, 2).T
        self._names = [
            pair_of(names[i], names[j]) if j < self._links else (names[i], names[j])
            for i, j in self._pair_ends
        ]
        radii = np.array([body.radius for body in bodies])
        self._reach = radii[self._ends].sum(axis=0)
        self._extents = (1.01 * radii + OUTSIDE).tolist()
        above = [model.ancestors(mover) for mover in moved_by]
        levers = [
            _levers(model, (above[i], above[j]), (spans[i], spans[j])) for i, j in self._pair_ends
        ]
        self._levers = np.array(levers).reshape(-1, model.nv)
        # Lower bounds of distances at a configuration, and largest rates by its coordinates.
        self._known, self._known_at = np.full(len(self._pair_ends), -UNBOUNDED), np.zeros(model.nq)
        self._shifts = np.zeros((len(self._pair_ends), model.nq))
        for joint in model.joints:
            if joint.q_indices:
                of_joint = self._levers[:, list(joint.v_indices)].max(axis=1, keepdims=True)
                self._shifts[:, list(joint.q_indices)] = of_joint
        self._calls = [
            library.ComputeDistance(bodies[i].geometry, bodies[j].geometry)
            for i, j in self._pair_ends
        ]
        self._transforms = [library.Transform3s() for _ in bodies]
        self._result = library.DistanceResult()
        self._requests = [library.DistanceRequest() for _ in self._pair_ends]
        for request in self._requests:
            request.gjk_tolerance = request.epa_tolerance = PRECISION
            # A search begins at the last result, which is near in a motion.
            request.gjk_initial_guess = library.GJKInitialGuess.CachedGuess
        self._lock = threading.Lock()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Pairs of links and obstacles that are checked."""
        return tuple(dict.fromkeys(self._names))


def pair_of(first: str, second: str) -> Pair:
    """Return two names in alphabetical order."""
    return (first, second) if first < second else (second, first)


def adjacent_pairs(model: Model, links: set[str]) -> set[Pair]:
    """Return pairs of links that are joined by a joint, or through links without a shape.

    Args:
        model: the robot.
        links: links with a shape.
    """
    pairs = set()
    for name in links:
        parent = model.frame(name).parent
        while parent and parent not in links:
            parent = model.frame(parent).parent
        if parent:
            pairs.add(pair_of(name, parent))
    return pairs


def disabled_pairs(
    source: str | os.PathLike[str], links: set[str]
) -> tuple[set[Pair], tuple[str, ...]]:
    """Read the pairs that an SRDF disables.

    Args:
        source: SRDF text, or the path of a file.
        links: links with a shape.

    Returns:
        The pairs, and names of links that are not among ``links``.

    Raises:
        ModelError: the SRDF is not XML, or an element lacks a link.
    """
    document = read_xml(description_text(source))
    if document.tag != 'robot':
        raise ModelError('SRDF', f'its root element is {document.tag!r}; expected <robot>')
    pairs, named = set(), set()
    for element in document.children('disable_default_collisions'):
        link = element.text('link')
        named.add(link)
        pairs |= {pair_of(link, other) for other in links if other != link}
    for tag, change in (('enable_collisions', pairs.discard), ('disable_collisions', pairs.add)):
        for element in document.children(tag):
            pair = pair_of(element.text('link1'), element.text('link2'))
            named |= set(pair)
            change(pair)
    return pairs, tuple(sorted(named - links))


def _levers(model: Model, above: tuple[list[int], list[int]], spans: tuple[float, float]) -> Array:
    """Largest rates (nv) at which joints change the distance of two bodies [m; 1 if sliding].

    The rate by a turning joint is the distance of the normal from its axis, at most the way along
    the links to the points of either body. ``UNBOUNDED`` where that has no bound: joints of several
    coordinates, and sliding joints on the way.

    Args:
        model: the robot.
        above: joints that move each body, from the root.
        spans: largest distance of a point of each body from the origin of its moving body [m].
    """
    levers = np.zeros(model.nv)
    chains = [[b for b in above[k] if b not in above[1 - k]] for k in (0, 1)]
    ways = [[_length(model.joints[b]) for b in chain] for chain in chains]
    for own, other in ((0, 1), (1, 0)):
        for k, b in enumerate(chains[own]):
            joint = model.joints[b]
            forth = sum(ways[own][k + 1 :]) + spans[own]
            back = sum(ways[own][: k + 1]) + sum(ways[other]) + spans[other]
            lever = 1.0 if isinstance(joint.kind, Prismatic) else np.fmin(forth, back)
            if not isinstance(joint.kind, Prismatic | Revolute):
                lever = np.nan
            levers[list(joint.v_indices)] += abs(joint.multiplier) * lever
    return np.nan_to_num(levers, nan=UNBOUNDED)


def _length(joint: Joint) -> float:
    """Distance of the origin of a body from that of its parent body [m]; NaN if it varies."""
    if not isinstance(joint.kind, Revolute):
        return np.nan
    return float(np.linalg.norm(joint.placement.array()[:3, 3]))


def _pair(
    d: Any, p: Any, r: Any, n: Any, X: Any, Y: Any, s: Any, t: Any, J: Any, K: Any, ways: Any
) -> Any:
    """Distance, points, normal and rates of a pair, of symbols, after two lower bounds.

    Deep inside each other, coal may return points that are on neither body. Then the direction is
    that of the centres.

    Args:
        d, p, r, n: as measured: distance, two points and the normal.
        X, Y: (4, 4) poses of both bodies, at the centres of their bounding spheres.
        s, t: largest coordinates of their points from there [m].
        J, K: (6, nv) Jacobians of both bodies at the origin of the root frame.
        ways: (nv) motions of the joints.

    Returns:
        (12 + nv) values: the distance after these motions, by the rates; a bound of the distance
        now; then distance, points, normal, rates.
    """
    a, b = X[:3, 3], Y[:3, 3]
    excess = [x for way in p - a for x in (way - s, -way - s)]
    excess += [x for way in r - b for x in (way - t, -way - t)]
    sound = reduce(maximum, excess) <= 0.0
    apart, middle = b - a, 0.5 * (a + b)
    n = where(sound, n, apart / maximum(norm(apart), UNIT))
    p, r = where(sound, p, middle), where(sound, r, middle)
    # Both points lie on the normal, so that p x n is the same for both.
    wrench = [*n, *(p[i - 2] * n[i - 1] - p[i - 1] * n[i - 2] for i in range(3))]
    rates = array(wrench) @ (K - J)
    bound, d = where(sound, d, -UNBOUNDED), where(sound, d, maximum(d, -(s + t)))
    return [d - maximum(rates, -rates) @ ways, bound, d, *p, *r, *n, *rates]
