# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mapping from the names in a joint state to the joints of a robot, and checks of the message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynamics_ros.errors import shortened

from .reports import NANOSECONDS, Array, JointValues
from .timeline import Indices

NO_NUMBERS = np.zeros(0)


class RefusedMessage(Exception):  # noqa: N818 - an outcome, not an error
    """Raised for a message that is refused.

    Attributes:
        kind: cause in words that do not depend on the message, used as key for counting.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(shortened(f'{kind}: {detail}'))
        self.kind = kind


class Selection:
    """Indices of the robot's joints in messages with given names and array lengths.

    Attributes:
        quantities: whether the messages contain positions, velocities, efforts.
        which: quantities of the timeline in the messages: slots of positions, then of velocities,
            then of efforts, each block offset by the number of slots.
        places: indices of these quantities in q, v and effort concatenated.
    """

    def __init__(
        self,
        known: Sequence[tuple[int, int]],
        sizes: tuple[int, ...],
        places: Indices,
    ) -> None:
        """Computes the indices.

        Args:
            known: slot of each joint, in increasing order, and its index in the names.
            sizes: numbers of positions, velocities, efforts.
            places: indices of all quantities in q, v and effort concatenated.
        """
        slots = np.array([slot for slot, _ in known], dtype=np.intp)
        self._order = order = np.array([source for _, source in known], dtype=np.intp)
        self.quantities = tuple(size > 0 for size in sizes)
        count = len(places) // 3
        reported = [i for i, size in enumerate(sizes) if size]
        self.which = np.concatenate([slots[:0], *(slots + i * count for i in reported)])
        indices = places[self.which]
        contiguous = np.array_equal(indices, np.arange(len(indices)))
        self.places: Indices | slice = slice(len(indices)) if contiguous else indices
        # In ``JointValues.block`` one number lies between two quantities.
        skip = sizes[0] + 1
        self._block_indices = np.concatenate([order[:0], *(i * skip + order for i in range(3))])

    def values(self, message: JointValues) -> Array:
        """Returns the values of ``which``; for several messages one row each."""
        if message.block is not None:
            values: Array = message.block.take(self._block_indices, axis=-1)
            return values
        fields = message.position, message.velocity, message.effort
        chosen = [x[..., self._order] for x in fields if x.size]
        return np.concatenate(chosen, axis=-1) if chosen else NO_NUMBERS


class CompleteMessage(NamedTuple):
    """Content of a message that contains all known quantities.

    Attributes:
        time: its stamp [ns].
        selection: its quantities.
        values: their values.
    """

    time: int
    selection: Selection
    values: Array


class Resolution:
    """Mapping of one list of names to the joints of a robot, computed once per list."""

    def __init__(
        self,
        names: Sequence[str],
        slots: dict[str, int],
        ignored: frozenset[str],
        places: Indices,
    ) -> None:
        """Computes the mapping.

        Args:
            names: names in the message.
            slots: joint names with their indices.
            ignored: further names that may occur and are not used.
            places: indices of positions, velocities and efforts of the slots in q, v, effort
                concatenated.
        """
        self._places = places
        self.names = tuple(names)
        self.size = len(names)
        repeated = [name for name, count in Counter(names).items() if count > 1]
        self.repeated = ', '.join(repeated)
        self._known = sorted((slots[name], i) for i, name in enumerate(names) if name in slots)
        self.joints = tuple(names[i] for _, i in self._known)
        """Names of joints of the robot."""
        self.unknown = tuple(
            name for name in dict.fromkeys(names) if name not in slots and name not in ignored
        )
        self.all_joints = not self.repeated and len(self._known) == len(slots) > 0
        """Whether the names include each joint exactly once and no name is repeated."""
        self._selections: dict[tuple[int, ...], Selection | None] = {}

    def check(self, message: JointValues) -> None:
        """Checks a message.

        Raises:
            RefusedMessage: the message is invalid.
        """
        if message.nanoseconds >= NANOSECONDS:
            raise RefusedMessage('stamp', f'{message.nanoseconds} ns are more than a second')
        if self.repeated:
            raise RefusedMessage('repeated names', self.repeated)
        for name in ('position', 'velocity', 'effort'):
            length = getattr(message, name).size
            if length not in (0, self.size):
                detail = f'{length} values for {self.size} names'
                raise RefusedMessage(f'wrong length of {name}', detail)

    def selection(self, message: JointValues) -> Selection | None:
        """Returns the indices for the array lengths of a message; None if they are invalid."""
        sizes = message.position.shape[-1], message.velocity.shape[-1], message.effort.shape[-1]
        if sizes not in self._selections:
            fits = not self.repeated and all(size in (0, self.size) for size in sizes)
            self._selections.clear()
            self._selections[sizes] = Selection(self._known, sizes, self._places) if fits else None
        return self._selections[sizes]
