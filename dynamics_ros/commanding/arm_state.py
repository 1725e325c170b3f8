# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of an arm that is commanded by torques."""

from __future__ import annotations

from enum import Enum, auto


class ArmState(Enum):
    """What the node does with the arm."""

    OFF = auto()
    """No torques are sent."""
    FOLLOWING = auto()
    """Targets are followed; without them the tool is held."""
    GUIDED = auto()
    """A hand is followed."""
    PAUSED = auto()
    """The tool is held, and targets are ignored."""
    COLLIDED = auto()
    """The tool is held until a collision is acknowledged."""
    REACTING = auto()
    """A reflex to a collision acts."""
    BRAKING = auto()
    """Brakes until it rests, for at most half a second."""
    ENDING = auto()
    """Brakes before the node stops sending."""
    RELEASING = auto()
    """Torques other than gravity compensation are reduced, before the node stops sending."""


_CONTROL = {ArmState.FOLLOWING, ArmState.GUIDED, ArmState.PAUSED, ArmState.COLLIDED}
_HIT, _STOP = {ArmState.REACTING, ArmState.COLLIDED}, {ArmState.BRAKING, ArmState.ENDING}

TRANSITIONS: dict[ArmState, set[ArmState]] = {
    ArmState.OFF: _CONTROL,
    ArmState.FOLLOWING: _HIT | _STOP,
    ArmState.GUIDED: _STOP,
    ArmState.PAUSED: _HIT | _STOP,
    ArmState.COLLIDED: _STOP,
    ArmState.REACTING: _STOP,
    ArmState.BRAKING: _CONTROL | {ArmState.ENDING},
    ArmState.ENDING: {ArmState.RELEASING},
    ArmState.RELEASING: set(),
}
"""States that may follow a state, beside ``OFF``, which may follow each."""

BRAKED = frozenset({ArmState.BRAKING, ArmState.ENDING, ArmState.RELEASING})
"""States in which no target is followed and limits of the law are not reported."""

LEAVING = frozenset({ArmState.ENDING, ArmState.RELEASING})
"""States before the node stops sending."""


def after(state: ArmState, wanted: ArmState) -> ArmState:
    """State after an event that asks for another one: the present one if that may not follow."""
    return wanted if wanted is ArmState.OFF or wanted in TRANSITIONS[state] else state


def controlled(collided: bool, paused: bool, guiding: bool) -> ArmState:
    """State in which an arm is controlled after a start or after braking.

    Args:
        collided: whether a collision awaits acknowledgement.
        paused: whether ~/pause has been called.
        guiding: whether a hand guides the arm.
    """
    if collided:
        return ArmState.COLLIDED
    if paused:
        return ArmState.PAUSED
    return ArmState.GUIDED if guiding else ArmState.FOLLOWING
