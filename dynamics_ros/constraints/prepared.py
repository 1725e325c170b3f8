# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options and inputs of kernels for contacts and loops, stored for each set of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import ClosedLoop, Constraints, Contact, constraint_list, places

MAX_CACHED = 256
"""Largest number of stored sets of constraints; a program may create new ones in each call."""


class Prepared(NamedTuple):
    """Contacts and loops as options and inputs of kernels.

    Attributes:
        names: kinds and frames, the options of the kernels.
        places: the last inputs of the kernels: points (m, 2, 3), and directions (m, 2, 3) if a kind
            needs them.
        given: the constraints as passed by the user; the reference keeps their identities valid.
    """

    names: tuple[str, ...]
    places: tuple[Array, ...]
    given: tuple[Any, ...]


class ContactDynamics(NamedTuple):
    """Kernel of a robot in contact, and its last inputs.

    Attributes:
        kernel: forward dynamics; None if a constraint is not a contact or a loop.
        places: as in ``Prepared``.
        given: the constraints as passed by the user.
    """

    kernel: Kernel | None
    places: tuple[Array, ...]
    given: tuple[Any, ...]


_prepared: dict[tuple[int, ...], Prepared] = {}
"""By identities of the constraints, which are immutable and are kept alive by ``given``."""


def prepared(contacts: Constraints) -> Prepared | None:
    """Options and inputs of kernels for constraints; None if one is not a contact or a loop.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    if type(contacts) is list or type(contacts) is tuple:  # without the slower tests below
        given = tuple(contacts)
    elif isinstance(contacts, str) or not isinstance(contacts, Sequence):
        given = (contacts,)
    else:
        given = tuple(contacts)
    key = tuple(map(id, given))
    return _prepared.get(key) or _prepare(contacts, key, given)


def contact_dynamics(robot: RigidBodySystem, contacts: Constraints) -> ContactDynamics:
    """Kernel of a robot in contact; that of the last contacts is found faster, in control loops.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    if type(contacts) is list or type(contacts) is tuple:
        latest = robot._kept.get('contacts')
        # Identical elements compare without a call of their __eq__.
        if latest is not None and latest.given == tuple(contacts):
            return latest
    inputs = prepared(contacts)
    if inputs is None:
        return ContactDynamics(None, (), ())
    kernel = robot.kernel('dynamics_in_contact', *inputs.names)
    latest = ContactDynamics(kernel, inputs.places, inputs.given)
    robot._kept['contacts'] = latest
    return latest


def _prepare(
    contacts: Constraints, key: tuple[int, ...], given: tuple[Any, ...]
) -> Prepared | None:
    constraints = constraint_list(contacts)
    # A subclass may override the Jacobian, so it has no kernel.
    known = [x for x in constraints if type(x) is Contact or type(x) is ClosedLoop]
    if len(known) < len(constraints):
        return None
    if len(_prepared) >= MAX_CACHED:
        _prepared.clear()
    names = tuple(name for x in known for name in x.key)
    return _prepared.setdefault(key, Prepared(names, places(known), given))
