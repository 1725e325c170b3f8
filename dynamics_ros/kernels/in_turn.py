# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sequential computation of states, each with the memory left by the previous one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.machine_code import LlvmBackend

if TYPE_CHECKING:
    from dynamics_ros.kernels.kernel import Kernel

MEMORY, NEXT = 'memory', 'next_memory'
"""Names of the input that a state takes from the previous one, and of the output for the next one;
the output may have the name of the input.
"""


class InTurn:
    """A kernel with a memory, run over many states in one call of machine code."""

    def __init__(self, kernel: Kernel) -> None:
        """Find the memory among inputs and outputs of a kernel.

        Raises:
            ValueError: the kernel has no input ``memory``, or no matching output.
        """
        self.kernel = kernel
        self._before = [x.name for x in kernel.trace.arguments].index(MEMORY)
        outputs = [x.name for x in kernel.trace.outputs]
        self._after = outputs.index(NEXT if NEXT in outputs else MEMORY)

    def __call__(self, *values: Any) -> tuple[Array, ...]:
        """Compute states one after the other.

        Args:
            values: one array per input: with one leading axis of states, or of the input's own
                shape if
                all states share it; for the memory, the value before the first state.

        Returns:
            Each output with a leading axis of states; row k of the memory is its value after state
            k.

        Raises:
            InvalidArgumentError: an argument has a wrong shape or is not finite.
            Exception: the error of the trace for inputs and results that it does not allow.
        """
        kernel, before = self.kernel, self._before
        trace = kernel.trace
        arrays = [arguments.as_input(x, value) for x, value in zip(trace.arguments, values)]
        others = [x for i, x in enumerate(arrays) if i != before]
        variables = [x for i, x in enumerate(trace.arguments) if i != before]
        (count,) = arguments.leading_shape(variables, others)
        results = [np.empty((count, *x.shape)) for x in trace.outputs]
        # The memory output of a state is stored where the next state reads its input.
        chain = np.empty((count + 1, *trace.arguments[before].shape))
        chain[0], results[self._after] = arrays[before], chain[1:]
        arrays[before] = chain[:-1]
        run = kernel.runner
        if isinstance(run, LlvmBackend):
            done = run.run_in_turn(arrays, () if kernel.bound is None else (kernel.bound,), results)
        else:
            done = 0
        for i in range(done, count):
            # Without machine code, or if a state is refused: the ordinary call raises the error.
            found = kernel.call(
                *(x[i] if x.ndim > len(y.shape) else x for x, y in zip(arrays, trace.arguments))
            )
            for result, one in zip(results, found if len(results) > 1 else (found,)):
                result[i] = one
        return tuple(results)
