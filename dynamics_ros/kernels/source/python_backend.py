"""Runs a trace as plain Python: no compiler, no extra package."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.requirement import unmet
from dynamics_ros.kernels.graph.trace import Trace

ARRAY_STATES = 16
"""From so many states on the function is faster on arrays than state by state."""


class PythonBackend:
    """A trace as a Python function, on floats for a few states and on arrays for many."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether inputs and results are as the trace wants them.

        Args:
            arrays: one an input, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one an output, C-contiguous, shape (leading + output shape).
        """
        if not all(np.isfinite(x).all() for x in arrays):
            return False
        if unmet(self._trace, arrays, leading) is not None:
            return False
        self._compute(arrays, leading, results)
        if self._trace.finite_results is None:
            return True
        return all(bool(np.isfinite(x).all()) for x in results)

    def _compute(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> None:
        inputs, outputs = self._trace.inputs, self._trace.outputs
        states = math.prod(leading)
        columns = [
            np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
            for x, variable in zip(arrays, inputs)
        ]
        targets = [x.reshape(states, variable.size) for x, variable in zip(results, outputs)]
        if states >= ARRAY_STATES:
            self._run_arrays(columns, targets)
            return
        for i in range(states):
            try:
                self._run_state([x[i] for x in columns], [x[i] for x in targets])
            except (ArithmeticError, ValueError):
                # Machine code answers inf or NaN here, as IEEE 754 says; so do arrays.
                one = slice(i, i + 1)
                self._run_arrays([x[one] for x in columns], [x[one] for x in targets])

    def _run_state(self, state: Sequence[Array], targets: Sequence[Array]) -> None:
        values = self._trace.evaluate(
            *[
                x.item() if variable.shape == () else x.tolist()
                for x, variable in zip(state, self._trace.inputs)
            ]
        )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            target[:] = value

    def _run_arrays(self, columns: Sequence[Array], targets: Sequence[Array]) -> None:
        with np.errstate(all='ignore'):
            values = self._trace.evaluate_arrays(
                *[
                    x[:, 0] if variable.shape == () else list(x.T)
                    for x, variable in zip(columns, self._trace.inputs)
                ]
            )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            for i, element in enumerate(value if isinstance(value, list) else [value]):
                target[:, i] = element
