"""A function over scalars, run once on symbols: a straight line of scalar operations."""

from __future__ import annotations

import gc
import keyword
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple, cast

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.expression import Expression, Node, Operand
from dynamics_ros.kernels.graph.graph import Graph
from dynamics_ros.kernels.graph.lowering import Instruction, depends, lower
from dynamics_ros.kernels.graph.operations import (
    ARRAY_FUNCTIONS,
    ELEMENT,
    INPUT,
    SCALAR_FUNCTIONS,
    Loop,
)
from dynamics_ros.kernels.graph.requirement import Limits, Requirement
from dynamics_ros.kernels.llvm import source as llvm_source
from dynamics_ros.kernels.llvm.dialect import Dialect
from dynamics_ros.kernels.llvm.processor import PLAIN
from dynamics_ros.kernels.source import c as c_source
from dynamics_ros.kernels.source import python as python_source

Shape = tuple[int, ...]


class Variable(NamedTuple):
    """An input or output: its name and the shape of its array; () is a scalar."""

    name: str
    shape: Shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The straight line of a function: what emitters print and kernels run.

    Attributes:
        name: name of the function.
        description: one line on what it computes, for the header of printed code.
        inputs: the arguments, in order.
        outputs: the results, in order.
        nodes: the instructions, operands first; all input elements lead.
        results: for each element of each output in order, the position of the instruction that
            computes it (int) or its constant value (float).
        required: the trace of the values that requirements limit; None without requirements.
        requirements: the limits of these values, in order.
        finite_results: makes the error to raise when a result is NaN or infinite; None where such
            results are answers.
        bound: whether the last input is bound to an array by the kernel, not passed by its callers.
    """

    name: str
    description: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    nodes: tuple[Instruction, ...]
    results: tuple[int | float, ...]
    required: Trace | None = None
    requirements: tuple[Limits, ...] = ()
    finite_results: Callable[[], Exception] | None = None
    bound: bool = False

    def __repr__(self) -> str:
        inputs = ', '.join(f'{x.name}{x.shape}' for x in self.inputs)
        return f'<Trace {self.name}({inputs}): {self.operation_count} operations>'

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The inputs that callers of a kernel pass."""
        return self.inputs[:-1] if self.bound else self.inputs

    @cached_property
    def operation_counts(self) -> dict[str, int]:
        """Number of operations of each kind, the most frequent first; of a loop those of a turn."""
        counts = Counter(
            x.operation.name for x in self.nodes if x.operation not in (INPUT, ELEMENT)
        )
        for loop in self.loops:
            counts.update(loop.body.operation_counts)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def operation_count(self) -> int:
        """Number of operations."""
        return sum(self.operation_counts.values())

    @property
    def loops(self) -> list[Loop]:
        """The loops, without those inside others."""
        return [x.operation for x in self.nodes if isinstance(x.operation, Loop)]

    def python_source(self) -> str:
        """Return the trace as a plain Python function of flat lists."""
        return python_source.emit(self)

    def c_source(self) -> str:
        """Return the trace as a C99 file that needs nothing but math.h."""
        return c_source.emit(self)

    def llvm_ir(self, opaque_pointers: bool = True) -> str:
        """Return the trace as a module of LLVM IR for any processor.

        Args:
            opaque_pointers: whether pointers are written ``ptr``, as LLVM wants it from 16 on.
        """
        return llvm_source.emit(self, Dialect(opaque_pointers), PLAIN)

    @cached_property
    def _scalar_function(self) -> FunctionType:
        namespace: dict[str, Any] = dict(SCALAR_FUNCTIONS)
        exec(compile(self.python_source(), f'<trace {self.name}>', 'exec'), namespace)
        return cast(FunctionType, namespace[self.name])

    @cached_property
    def _array_function(self) -> FunctionType:
        return FunctionType(self._scalar_function.__code__, dict(ARRAY_FUNCTIONS), self.name)

    def forget_functions(self) -> None:
        """Give back the memory of the plain Python functions, which are made anew when needed."""
        for trace in (self, self.required):
            if trace is not None:
                trace.__dict__.pop('_scalar_function', None)
                trace.__dict__.pop('_array_function', None)

    def evaluate(self, *arguments: Sequence[float] | float) -> Any:
        """Return the outputs by the plain Python function.

        Args:
            arguments: one flat list of floats an input; a float for a scalar input.

        Returns:
            A flat list (a float for a scalar output); with several outputs a tuple of them.

        Raises:
            ArithmeticError, ValueError: where the mathematics has no answer, as Python does.
        """
        return self._scalar_function(*arguments)

    def evaluate_arrays(self, *arguments: Any) -> Any:
        """Return the outputs of many states at once, by the same function on arrays.

        Like `evaluate` with an array, one element a state, in place of each float. What Python
        refuses (a division by zero, the root of a negative number) is inf or NaN here.
        """
        return self._array_function(*arguments)

    def interpret(self, elements: Sequence[float]) -> list[float]:
        """Return all output elements, one after the other, without compiling anything.

        Args:
            elements: all input elements, one after the other.
        """
        values: list[Any] = list(elements)
        for operation, operands in self.nodes[len(values) :]:
            values.append(
                operation.evaluate(*[values[x] if isinstance(x, int) else x for x in operands])
            )
        return [values[x] if isinstance(x, int) else x for x in self.results]


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, int | Shape],
    name: str,
    description: str = '',
    requirements: Callable[..., Iterable[Requirement]] | None = None,
    finite_results: Callable[[], Exception] | None = None,
    bound: bool = False,
) -> Trace:
    """Run a function once on symbols and keep what it computed.

    Args:
        function: called with one argument an input, in order: an `Expression` for shape (), a
            list for one axis, nested lists for more. Returns a scalar, a nested list, or a dict of
            these by output name.
        inputs: shape of each input by name; an int n is the shape (n,).
        name: a Python identifier, the name of the printed function.
        description: one line for the header of printed code.
        requirements: called like the function; returns what the inputs must be like. A kernel of
            the trace raises the error of a requirement that is not met.
        finite_results: makes the error that a kernel raises when a result is NaN or infinite;
            without it such results are returned.
        bound: whether the last input is one that a kernel binds to an array (see
            `Kernel.bound_to`); the trace leaves it out where nothing depends on it.

    Raises:
        InvalidArgumentError: a name or shape that cannot be printed, or ragged results.
        TooLargeError: the function takes more operations than a trace may have.
        TypeError: the function branches on a traced value.
    """
    variables = tuple(
        Variable(key, (shape,) if isinstance(shape, int) else tuple(shape))
        for key, shape in inputs.items()
    )
    for identifier in (name, *inputs):
        if not identifier.isidentifier() or keyword.iskeyword(identifier):
            raise InvalidArgumentError('name', f'{identifier!r} given', 'a Python identifier')
    with _collector_paused():
        return _traced(function, variables, name, description, requirements, finite_results, bound)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking a growing graph, which takes half of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _traced(
    function: Callable[..., Any],
    variables: tuple[Variable, ...],
    name: str,
    description: str,
    requirements: Callable[..., Iterable[Requirement]] | None,
    finite_results: Callable[[], Exception] | None,
    bound: bool,
) -> Trace:
    graph = Graph(description or name)
    origins: list[Instruction] = []
    symbols = []
    for argument, variable in enumerate(variables):
        elements = iter([graph.symbol() for _ in range(variable.size)])
        origins += [Instruction(INPUT, (argument, i)) for i in range(variable.size)]
        symbols.append(_nested(elements, variable.shape))

    returned = function(*symbols)
    named = returned if isinstance(returned, Mapping) else {'result': returned}
    outputs = []
    values: list[Operand] = []
    for key, value in named.items():
        shape, flat = _flattened(value, str(key))
        outputs.append(Variable(str(key), shape))
        values += [operand_of(x, graph, str(key)) for x in flat]
    demanded = [] if requirements is None else _undecided(requirements(*symbols))
    conditions = [x.value for x in demanded]
    if bound and not depends([*values, *conditions], len(origins) - variables[-1].size):
        bound, variables = False, variables[:-1]
        del origins[sum(x.size for x in variables) :]
    nodes, results = lower(values, origins)
    required = None
    if demanded:
        steps, limited = lower(conditions, origins)
        required = Trace(
            f'{name}_requirements',
            f'what {name} requires',
            variables,
            (Variable('values', (len(demanded),)),),
            tuple(steps),
            tuple(limited),
        )
    return Trace(
        name,
        description,
        variables,
        tuple(outputs),
        tuple(nodes),
        tuple(results),
        required,
        tuple(Limits(x.low, x.high, x.error) for x in demanded),
        finite_results,
        bound,
    )


def _undecided(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Return the requirements that depend on inputs; of the others one that is not met raises."""
    kept = []
    for x in requirements:
        if isinstance(x.value, Expression):
            kept.append(x)
        elif not x.low <= x.value <= x.high:
            raise x.error(x.value)
    return kept


def _nested(elements: Iterator[Expression], shape: Shape) -> Any:
    """Return the next elements as nested lists."""
    if not shape:
        return next(elements)
    return [_nested(elements, shape[1:]) for _ in range(shape[0])]


def _flattened(value: Any, name: str) -> tuple[Shape, list[Any]]:
    """Return the shape and the elements of nested lists, tuples or an array."""
    if hasattr(value, 'tolist'):  # an array knows its shape where it has no elements, too
        return tuple(value.shape), value.ravel().tolist()
    if not isinstance(value, (list, tuple)):
        return (), [value]
    parts = [_flattened(x, name) for x in value]
    shapes = {shape for shape, _ in parts} or {()}
    if len(shapes) > 1:
        raise InvalidArgumentError(name, f'rows of shapes {sorted(shapes)}', 'equal rows')
    return (len(parts), *shapes.pop()), [x for _, elements in parts for x in elements]


def operand_of(value: Any, graph: Graph, name: str) -> Operand:
    """Return an element of an output as an operand of the graph.

    Raises:
        InvalidArgumentError: it is no finite number of this graph.
    """
    if isinstance(value, Node) and not isinstance(value, Expression):
        raise InvalidArgumentError(name, 'a condition is no output', 'numbers')
    try:
        return graph.operand(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(name, str(error), 'finite numbers of this trace') from None
