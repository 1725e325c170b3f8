# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mapping from the names in joint states to the joints of a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from dynamics_ros.errors import shortened

from .reports import Array, JointValues
from .timeline import Indices

QUANTITIES = ('position', 'velocity', 'effort')

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
        names, sizes: the names; numbers of positions, velocities, efforts.
        joints, unknown: names of joints of the robot; those that are neither these nor ignored.
        refusal: kind and detail of the reason to refuse these messages; None if there is none.
        complete: whether the names include each joint.
        quantities: whether the messages contain positions, velocities, efforts.
        which: quantities of the timeline in the messages: slots of positions, then of velocities,
            then of efforts, each block offset by the number of slots.
        places: indices of these quantities in q, v and effort concatenated.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        slots: Mapping[str, int],
        ignored: frozenset[str],
        places: Indices,
    ) -> None:
        """Computes the indices.

        Args:
            names, sizes: see the class.
            slots: joint names with their indices.
            ignored: further names that may occur and are not used.
            places: indices of all quantities in q, v and effort concatenated.
        """
        self.names, self.sizes = names, sizes
        counts = Counter(names)
        repeated = ', '.join(name for name, count in counts.items() if count > 1)
        self.refusal = ('repeated names', repeated) if repeated else None
        for name, size in zip(QUANTITIES, sizes, strict=True):
            if self.refusal is None and size not in (0, len(names)):
                self.refusal = f'wrong length of {name}', f'{size} values for {len(names)} names'
        known = sorted((slots[name], i) for i, name in enumerate(names) if name in slots)
        self.joints = tuple(names[i] for _, i in known)
        self.unknown = tuple(x for x in counts if x not in slots and x not in ignored)
        self.complete = len(known) == len(slots) > 0
        self.quantities = tuple(size > 0 for size in sizes)
        slot, self._order = np.array(known, dtype=np.intp).reshape(-1, 2).T
        reported = [slot + i * len(slots) for i, size in enumerate(sizes) if size]
        self.which = np.concatenate([slot[:0], *reported])
        indices = places[self.which]
        contiguous = np.array_equal(indices, np.arange(len(indices)))
        self.places: Indices | slice = slice(len(indices)) if contiguous else indices
        # In ``JointValues.block`` one number lies between two quantities.
        self._block_indices = (np.arange(3)[:, np.newaxis] * (sizes[0] + 1) + self._order).ravel()

    def values(self, message: JointValues) -> Array:
        """Returns the values of ``which``; for several messages one row each."""
        if message.block is not None:
            values: Array = message.block.take(self._block_indices, axis=-1)
            return values
        fields = message.position, message.velocity, message.effort
        chosen = [x[..., self._order] for x in fields if x.size]
        return np.concatenate(chosen, axis=-1) if chosen else NO_NUMBERS
