# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Backend that runs a trace as plain Python: no compiler, no extra package."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.trace import Trace, Unanswered
from dynamics_ros.kernels.source.plain_function import PlainFunction

ARRAY_STATES = 16
"""From this many states on, the function is faster on arrays than state by state."""


class PythonBackend:
    """Trace as a Python function, run on floats for a few states and on arrays for many."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._function = PlainFunction(trace)
        self._required = None if trace.required is None else PlainFunction(trace.required)

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether the trace allows all inputs and results.

        Args:
            arrays: one per input, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one per output, C-contiguous, shape (leading + output shape).
        """
        if not all(np.isfinite(x).all() for x in arrays):
            return False
        if self.unmet(arrays, leading) is not None:
            return False
        self._compute(arrays, leading, results)
        if self._trace.finite_results is None:
            return True
        return all(bool(np.isfinite(x).all()) for x in results)

    def unmet(self, arrays: Sequence[Array], leading: tuple[int, ...]) -> Exception | None:
        """Return the error of the first requirement that some state violates.

        Args:
            arrays: one per input, leading axes to be broadcast, all finite.
            leading: the broadcast shape of the leading axes.
        """
        if self._required is None:
            return None
        columns = [
            list(x.T) if variable.shape else x[:, 0]
            for x, variable in zip(self._rows(arrays, leading), self._trace.inputs)
        ]
        with np.errstate(all='ignore'):
            values = self._required.of_arrays(*columns)
        for value, limits in zip(values, self._trace.requirements):
            outside = np.atleast_1d(~((value >= limits.low) & (value <= limits.high)))
            if outside.any():
                return limits.error(float(np.atleast_1d(value)[outside][0]))
        return None

    def unanswered(self, arrays: Sequence[Array], leading: tuple[int, ...]) -> Unanswered:
        """Return the first state with a result that is not finite.

        Args:
            arrays: one per input, leading axes to be broadcast, all finite.
            leading: the broadcast shape of the leading axes.
        """
        columns, inputs = self._rows(arrays, leading), self._trace.inputs
        results = [np.empty((*leading, *x.shape)) for x in self._trace.outputs]
        self._compute(arrays, leading, results)
        bad = np.zeros(math.prod(leading), dtype=bool)
        for x in results:
            bad |= ~np.isfinite(x.reshape(len(bad), -1)).all(axis=1)
        state = int(np.argmax(bad))

        def has_answer(values: dict[str, Array]) -> bool:
            work = [np.empty(x.shape) for x in self._trace.outputs]
            self._compute([values[x.name] for x in inputs], (), work)
            return all(bool(np.isfinite(x).all()) for x in work)

        shaped = {x.name: rows[state].reshape(x.shape) for x, rows in zip(inputs, columns)}
        return Unanswered(shaped, has_answer)

    def _rows(self, arrays: Sequence[Array], leading: tuple[int, ...]) -> list[Array]:
        """Return for each input the elements of each state, (states, elements)."""
        states = math.prod(leading)
        return [
            np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
            for x, variable in zip(arrays, self._trace.inputs)
        ]

    def _compute(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> None:
        states = math.prod(leading)
        columns = self._rows(arrays, leading)
        targets = [
            x.reshape(states, variable.size) for x, variable in zip(results, self._trace.outputs)
        ]
        if states >= ARRAY_STATES:
            self._run_arrays(columns, targets)
            return
        for i in range(states):
            try:
                self._run_state([x[i] for x in columns], [x[i] for x in targets])
            except (ArithmeticError, ValueError):
                # Machine code and arrays return inf or NaN here, as IEEE 754 defines.
                one = slice(i, i + 1)
                self._run_arrays([x[one] for x in columns], [x[one] for x in targets])

    def _run_state(self, state: Sequence[Array], targets: Sequence[Array]) -> None:
        values = self._function(
            *[
                x.item() if variable.shape == () else x.tolist()
                for x, variable in zip(state, self._trace.inputs)
            ]
        )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            target[:] = value

    def _run_arrays(self, columns: Sequence[Array], targets: Sequence[Array]) -> None:
        with np.errstate(all='ignore'):
            values = self._function.of_arrays(
                *[
                    x[:, 0] if variable.shape == () else list(x.T)
                    for x, variable in zip(columns, self._trace.inputs)
                ]
            )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            for i, element in enumerate(value if isinstance(value, list) else [value]):
                target[:, i] = element
