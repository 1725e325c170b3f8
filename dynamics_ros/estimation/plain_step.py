"""Steps of an observer within a program, for samples of which there is nothing to find out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.torque_observer import MEMORY
from dynamics_ros.kernels import Step

from .observers import UPDATED, TorqueObserver

Vector = NDArray[np.float64]


class PlainStep:
    """Steps of an observer on arrays that stay, as long as nothing but time goes on.

    Attributes:
        step: of a program.
        estimate: (nv) where it writes the estimate.
    """

    def __init__(self, observer: TorqueObserver, q: Vector, v: Vector, effort: Vector) -> None:
        """Prepare steps.

        Args:
            observer: not in transition to another robot.
            q, v, effort: where a program finds the sample.
        """
        self._observer = observer
        self._model = model = observer._models[0]
        size = len(observer.gain)
        self._memory, self._next = np.zeros((MEMORY, size)), np.zeros((MEMORY, size))
        self._interval = np.zeros(1)
        self.estimate = np.zeros(size)
        inputs = (q, v, effort, self._memory, self._interval, observer._settings)
        self.step = Step(model.kernel, inputs, (self.estimate, self._next))

    def begin(self, time: int) -> bool:
        """Whether a sample of that stamp [ns] is for such a step; it is made ready then."""
        observer, model = self._observer, self._model
        before = observer._stamp
        if before is None or len(observer._models) > 1 or observer._models[0] is not model:
            return False
        interval = time - before
        if not (0 < interval <= observer._longest and observer.settled):
            return False
        if model.memory is not self._memory:
            # There has been an ordinary step in between.
            self._memory[:], model.memory = model.memory, self._memory
        self._interval[0] = interval * 1e-9
        return True

    def finish(self, time: int) -> None:
        """Take the step over."""
        observer = self._observer
        self._memory[:] = self._next
        observer._estimate, observer._stamp = self._memory[0], time
        observer._event = UPDATED
        observer._updated += 1
