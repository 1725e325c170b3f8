"""Where the values of a joint state go, by the names in it; and what cannot be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dynamics_ros.errors import shortened
from dynamics_ros.estimation.samples.history import Indices
from dynamics_ros.nodes.wire.conversions import NANOSECONDS, JointValues


class RefusedMessage(Exception):  # noqa: N818 - an outcome, not a fault of ours
    """A message that is not taken.

    Attributes:
        kind: what was wrong, in words that do not depend on the message, to count by.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(shortened(f'{kind}: {detail}'))
        self.kind = kind


class Resolution:
    """Where the values of a message with these names go; worked out once per list of names."""

    def __init__(
        self, names: Sequence[str], slots: dict[str, int], ignored: frozenset[str]
    ) -> None:
        self.names = tuple(names)
        self.size = len(names)
        repeated = [name for name, count in Counter(names).items() if count > 1]
        self.repeated = ', '.join(repeated)
        known = [(source, slots[name]) for source, name in enumerate(names) if name in slots]
        self.source = np.array([source for source, _ in known], dtype=np.intp)
        self.slots = np.array([slot for _, slot in known], dtype=np.intp)
        self.unknown = tuple(
            name for name in dict.fromkeys(names) if name not in slots and name not in ignored
        )
        whole = not (self.repeated or self.unknown) and len(known) == len(slots) > 0
        order = self.source[np.argsort(self.slots)]
        self.order = order if whole else None
        """Indices into the message for each slot, of one that names all joints."""
        self._slot_count = len(slots)
        self._told: dict[tuple[bool, ...], tuple[frozenset[int], Indices]] = {}
        skip = self.size + 1
        self.together = np.concatenate((order, skip + order, 2 * skip + order))
        """The same into ``JointValues.block`` for positions, velocities and efforts."""

    def check(self, message: JointValues) -> None:
        """Raise ``RefusedMessage`` for a message that cannot be right."""
        if message.nanoseconds >= NANOSECONDS:
            raise RefusedMessage('stamp', f'{message.nanoseconds} ns are more than a second')
        if self.repeated:
            raise RefusedMessage('repeated names', self.repeated)
        for name in ('position', 'velocity', 'effort'):
            length = getattr(message, name).size
            if length not in (0, self.size):
                detail = f'{length} values for {self.size} names'
                raise RefusedMessage(f'wrong length of {name}', detail)
        if message.position.size:
            finite = np.isfinite(message.position[self.source])
            if not finite.all():
                bad = (self.names[i] for i in self.source[~finite])
                raise RefusedMessage('position not finite', ', '.join(bad))

    def told(self, quantities: tuple[bool, ...]) -> tuple[frozenset[int], Indices]:
        """What a publisher tells: slots, one number of slots further on for each quantity.

        Args:
            quantities: whether it tells positions, velocities, efforts.
        """
        known = self._told.get(quantities)
        if known is None:
            shifts = [i * self._slot_count for i, told in enumerate(quantities) if told]
            which = np.concatenate([self.slots[:0], *(self.slots + shift for shift in shifts)])
            known = self._told[quantities] = frozenset(which.tolist()), which
        return known
