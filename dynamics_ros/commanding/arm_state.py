# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of an arm that is commanded by torques, and the transitions between them."""

from __future__ import annotations

from enum import Enum, auto


class ArmState(Enum):
    """What the node does with the arm."""

    OFF = auto()
    """No torques are sent."""
    CONTROLLED = auto()
    """Targets or a hand are followed; without them, paused, or after a collision, it is held."""
    REACTING = auto()
    """A reflex to a collision acts."""
    BRAKING = auto()
    """Brakes until it rests, for at most half a second."""
    ENDING = auto()
    """Brakes before the node stops sending."""
    RELEASING = auto()
    """Torques other than gravity compensation are reduced, before the node stops sending."""


class Event(Enum):
    """What changes the state of an arm."""

    START = auto()
    BRAKE = auto()
    COLLIDE = auto()
    REST = auto()
    END = auto()
    RELEASE = auto()
    LEAVE = auto()


_STARTED = (ArmState.CONTROLLED, ArmState.REACTING, ArmState.BRAKING)

TRANSITIONS = {
    (ArmState.OFF, Event.START): ArmState.CONTROLLED,
    (ArmState.CONTROLLED, Event.COLLIDE): ArmState.REACTING,
    (ArmState.CONTROLLED, Event.BRAKE): ArmState.BRAKING,
    (ArmState.REACTING, Event.BRAKE): ArmState.BRAKING,
    (ArmState.BRAKING, Event.REST): ArmState.CONTROLLED,
    **{(state, Event.END): ArmState.ENDING for state in _STARTED},
    (ArmState.ENDING, Event.RELEASE): ArmState.RELEASING,
    **{(state, Event.LEAVE): ArmState.OFF for state in ArmState},
}
"""State after an event; an event that is not listed for a state does not change it."""

BRAKED = frozenset({ArmState.BRAKING, ArmState.ENDING, ArmState.RELEASING})
"""States in which no target is followed and limits of the law are not reported."""

LEAVING = frozenset({ArmState.ENDING, ArmState.RELEASING})
"""States before the node stops sending."""


def after(state: ArmState, event: Event) -> ArmState:
    """State after an event."""
    return TRANSITIONS.get((state, event), state)
