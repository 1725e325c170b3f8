# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of a robot: their meaning, and the algorithm that is traced for each.

A quantity is looked up by a key (name, *options), e.g. ``('jacobian', 'tool0', 'world')``. The
options, frames and references, are fixed in a trace; configurations and velocities are inputs.
One file per topic; ``definition.py`` defines the parts of a definition. May import ``algorithms``,
``model``, ``spatial`` and ``errors``.
"""

from __future__ import annotations

import inspect

from dynamics_ros.errors import InvalidArgumentError, UnknownNameError
from dynamics_ros.model import Model

from .compliance import COMPLIANCE
from .contact import CONTACT
from .control import CONTROL
from .definition import Definition, Formula, Key
from .derivatives import DERIVATIVES
from .dynamics import DYNAMICS
from .inverse_kinematics import INVERSE_KINEMATICS
from .kinematics import KINEMATICS
from .mass_distribution import MASS_DISTRIBUTION

__all__ = ['DEFINITIONS', 'Definition', 'Formula', 'Key', 'define']

DEFINITIONS: dict[str, Definition] = {
    **KINEMATICS,
    **DYNAMICS,
    **DERIVATIVES,
    **MASS_DISTRIBUTION,
    **CONTACT,
    **CONTROL,
    **COMPLIANCE,
    **INVERSE_KINEMATICS,
}
"""All quantities by name."""


def define(model: Model, key: Key) -> Formula:
    """Return the formula of a quantity for a model.

    Raises:
        UnknownFrameError: an option names a frame that the model does not have.
        InvalidArgumentError: an option names an unknown reference, options are missing or too many,
            or there is no such quantity.
    """
    name, *options = key
    if not isinstance(name, str) or name not in DEFINITIONS:
        raise UnknownNameError('kernel', name, DEFINITIONS)
    definition = DEFINITIONS[name]
    try:
        inspect.signature(definition.formula).bind(model, *options)
    except TypeError:
        given = ':'.join(map(str, key))
        expected = f'{name}{definition.options.value}'
        raise InvalidArgumentError('kernel', repr(given), expected) from None
    return definition.formula(model, *options)
