"""Where the values of a joint state go, by the names in it; and what cannot be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dynamics_ros.errors import shortened

from .history import Indices
from .reports import NANOSECONDS, Array, JointValues


class RefusedMessage(Exception):  # noqa: N818 - an outcome, not a fault of ours
    """A message that is not taken.

    Attributes:
        kind: what was wrong, in words that do not depend on the message, to count by.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(shortened(f'{kind}: {detail}'))
        self.kind = kind


class Selection:
    """Where the numbers of all joints are in messages of some lengths.

    Attributes:
        quantities: whether positions, velocities, efforts are told.
        which: what is told: slots, one number of slots further on for each quantity.
        places: of these among all numbers of a state.
    """

    def __init__(self, order: Indices, sizes: tuple[int, ...], places: Indices) -> None:
        """Find them.

        Args:
            order: (slots) indices into each quantity.
            sizes: how many positions, velocities, efforts there are.
            places: of all quantities.
        """
        count = len(order)
        self._order = order
        self.quantities = tuple(size > 0 for size in sizes)
        told = [i for i, size in enumerate(sizes) if size]
        self.which = np.concatenate([order[:0], *(np.arange(count) + i * count for i in told)])
        every = places[self.which]
        in_a_row = np.array_equal(every, np.arange(len(every)))
        self.places: Indices | slice = slice(len(every)) if in_a_row else every
        # In ``JointValues.block`` one number lies between two quantities.
        skip = sizes[0] + 1
        self._together = np.concatenate([order[:0], *(i * skip + order for i in range(3))])

    def values(self, message: JointValues) -> Array:
        """Those of ``which``."""
        if message.block is not None:
            values: Array = message.block.take(self._together)
            return values
        fields = message.position, message.velocity, message.effort
        return np.concatenate([field[self._order] for field in fields if field.size])


class Resolution:
    """Where the values of a message with these names go; worked out once per list of names."""

    def __init__(
        self,
        names: Sequence[str],
        slots: dict[str, int],
        ignored: frozenset[str],
        places: Indices,
    ) -> None:
        """Work it out.

        Args:
            names: in the message.
            slots: joint to its number.
            ignored: names that may be there, and are of no use.
            places: of positions, velocities, efforts of the slots among all numbers of a state.
        """
        self._places = places
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
        self.all_joints = not self.repeated and len(known) == len(slots) > 0
        """Whether a message with these names is of all joints, whatever else it names."""
        self._order = self.source[np.argsort(self.slots)]
        self._selections: dict[tuple[int, ...], Selection | None] = {}
        self._slot_count = len(slots)
        self._told: dict[tuple[bool, ...], tuple[frozenset[int], Indices]] = {}

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

    def selection(self, message: JointValues) -> Selection | None:
        """Where to find the numbers of all joints in a message; None in one that is refused."""
        sizes = message.position.size, message.velocity.size, message.effort.size
        if sizes not in self._selections:
            fits = all(size in (0, self.size) for size in sizes)
            self._selections.clear()
            self._selections[sizes] = Selection(self._order, sizes, self._places) if fits else None
        return self._selections[sizes]

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
