# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pseudo-inertias: physical consistency of inertial parameters, and distances of bodies.

The pseudo-inertia of a body is the second moment of its mass in homogeneous coordinates,

    P = [[S, h], [h^T, m]],   S = tr(I) / 2 - I,

linear in the ten parameters, and positive semidefinite for every distribution of positive mass
([Wensing2018]). The divergence tr(P0^-1 P) - log det(P0^-1 P) - 4 measures the distance of a body
from another one, independent of frames and units ([Lee2020]).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.payload_identification import BASIS, parameters_of, pseudo_inertia
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MIN_MASS, MIN_RADIUS = 0.05, 0.02
"""Least mass [kg] and radius of gyration [m] of a described body, so that its divergence exists."""


def given(robot: Robot) -> Array:
    """(bodies, 10) parameters of the description, unchanged."""
    return np.array([[float(x) for x in inertia.parameters()] for inertia in robot.model.inertias])


def described(robot: Robot) -> Array:
    """(bodies, 10) parameters of the description, made physically consistent where necessary."""
    return np.array([parameters_of(_made_consistent(P)) for P in pseudo_inertia(given(robot))])


def consistent(parameters: Array) -> bool:
    """Whether parameters (n, 10) are physically consistent, up to rounding."""
    P = pseudo_inertia(parameters)
    scale = np.trace(P, axis1=1, axis2=2)
    return bool((np.linalg.eigvalsh(P)[:, 0] >= -1e-9 * np.maximum(scale, 1e-9)).all())


def metric(parameters: Array) -> Array:
    """(n, 10, 10) Hessian of the divergence from bodies (n, 10), at these bodies."""
    inverse = np.linalg.inv(pseudo_inertia(parameters))
    turned = np.einsum('bij,kjl->bkil', inverse, BASIS)
    found: Array = np.einsum('bkij,blji->bkl', turned, turned)
    return found


def _made_consistent(P: Array) -> Array:
    mass = max(P[3, 3], MIN_MASS)
    center = P[:3, 3] / mass
    values, vectors = np.linalg.eigh(P[:3, :3] - mass * np.outer(center, center))
    spread = (vectors * np.maximum(values, mass * MIN_RADIUS**2)) @ vectors.T
    made = np.empty((4, 4))
    made[:3, :3] = spread + mass * np.outer(center, center)
    made[:3, 3] = made[3, :3] = mass * center
    made[3, 3] = mass
    return made
