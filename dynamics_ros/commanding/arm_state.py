# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of an arm that is commanded by torques, and the transitions between them."""

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


class Event(Enum):
    """What changes the state of an arm."""

    FOLLOW = auto()
    GUIDE = auto()
    PAUSE = auto()
    AWAIT = auto()
    COLLIDE = auto()
    LATCH = auto()
    BRAKE = auto()
    END = auto()
    RELEASE = auto()
    LEAVE = auto()


_HELD = (ArmState.FOLLOWING, ArmState.GUIDED, ArmState.PAUSED, ArmState.COLLIDED)

TRANSITIONS = {
    **{
        (state, event): controlled
        for state in (ArmState.OFF, ArmState.BRAKING)
        for event, controlled in zip(
            (Event.FOLLOW, Event.GUIDE, Event.PAUSE, Event.AWAIT), _HELD, strict=True
        )
    },
    **{
        (state, event): reaction
        for state in (ArmState.FOLLOWING, ArmState.PAUSED)
        for event, reaction in (
            (Event.COLLIDE, ArmState.REACTING),
            (Event.LATCH, ArmState.COLLIDED),
        )
    },
    **{(state, Event.BRAKE): ArmState.BRAKING for state in (*_HELD, ArmState.REACTING)},
    **{
        (state, Event.END): ArmState.ENDING
        for state in (*_HELD, ArmState.REACTING, ArmState.BRAKING)
    },
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


def controlled(collided: bool, paused: bool, guiding: bool) -> Event:
    """Event with which an arm is controlled after a start or after braking.

    Args:
        collided: whether a collision awaits acknowledgement.
        paused: whether ~/pause has been called.
        guiding: whether a hand guides the arm.
    """
    if collided:
        return Event.AWAIT
    if paused:
        return Event.PAUSE
    return Event.GUIDE if guiding else Event.FOLLOW
