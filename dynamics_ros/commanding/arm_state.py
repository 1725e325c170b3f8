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


_CONTROL = {
    Event.FOLLOW: ArmState.FOLLOWING,
    Event.GUIDE: ArmState.GUIDED,
    Event.PAUSE: ArmState.PAUSED,
    Event.AWAIT: ArmState.COLLIDED,
}
_HIT = {Event.COLLIDE: ArmState.REACTING, Event.LATCH: ArmState.COLLIDED}
_STOP = {Event.BRAKE: ArmState.BRAKING, Event.END: ArmState.ENDING}

TRANSITIONS = {
    ArmState.OFF: _CONTROL,
    ArmState.FOLLOWING: _HIT | _STOP,
    ArmState.GUIDED: _STOP,
    ArmState.PAUSED: _HIT | _STOP,
    ArmState.COLLIDED: _STOP,
    ArmState.REACTING: _STOP,
    ArmState.BRAKING: _CONTROL | {Event.END: ArmState.ENDING},
    ArmState.ENDING: {Event.RELEASE: ArmState.RELEASING},
    ArmState.RELEASING: {},
}
"""State after an event, by state; other events do not change it, but ``LEAVE`` ends each."""

BRAKED = frozenset({ArmState.BRAKING, ArmState.ENDING, ArmState.RELEASING})
"""States in which no target is followed and limits of the law are not reported."""

LEAVING = frozenset({ArmState.ENDING, ArmState.RELEASING})
"""States before the node stops sending."""


def after(state: ArmState, event: Event) -> ArmState:
    """State after an event."""
    return ArmState.OFF if event is Event.LEAVE else TRANSITIONS[state].get(event, state)


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
