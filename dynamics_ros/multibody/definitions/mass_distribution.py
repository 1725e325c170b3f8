# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Energies, the centre of mass and the centroidal momentum."""

from __future__ import annotations

from dynamics_ros.algorithms import centroidal, energy
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .definition import Definition, Values, matrix, over, result, rows


def _center_of_mass(model: Model, q: Values) -> list[Scalar]:
    return [*energy.center_of_mass(model, q)]


def _com_jacobian(model: Model, q: Values) -> list[list[Scalar]]:
    return rows([[*column] for column in centroidal.center_of_mass_jacobian(model, q)], 3)


def _centroidal_momentum(model: Model, q: Values, v: Values) -> list[Scalar]:
    return centroidal.centroidal_momentum(model, q, v).components()


def _centroidal_map(model: Model, q: Values) -> list[list[Scalar]]:
    return matrix(centroidal.centroidal_map(model, q))


MASS_DISTRIBUTION = {
    'kinetic_energy': Definition(
        over(energy.kinetic_energy, 'q', 'v'),
        'kinetic energy',
        result('[J]'),
        may_overflow=True,
    ),
    'potential_energy': Definition(
        over(energy.potential_energy, 'q'),
        'energy in the field of gravity, zero at the root',
        result('[J]'),
    ),
    'center_of_mass': Definition(
        over(_center_of_mass, 'q'), 'centre of mass of what moves', result('[m], in the root frame')
    ),
    'com_jacobian': Definition(
        over(_com_jacobian, 'q'),
        'Jacobian of the centre of mass',
        result('[m/s], root axes; columns as v'),
    ),
    'centroidal_momentum': Definition(
        over(_centroidal_momentum, 'q', 'v'),
        'momentum about the centre of mass',
        result('linear [kg m/s], angular [kg m^2/s], root axes'),
        may_overflow=True,
    ),
    'centroidal_map': Definition(
        over(_centroidal_map, 'q'),
        'A with centroidal momentum = A v',
        result('linear rows, angular rows, root axes; columns as v'),
    ),
}
