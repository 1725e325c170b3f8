# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot for its quantities, made of their declarations.

``quantity_methods.pyi`` has the same methods for type checkers; ``python -m
dynamics_ros.multibody.quantity_methods`` prints it.
"""

from __future__ import annotations

from typing import Any

from dynamics_ros.algorithms.quantity import (
    DEFAULT_REFERENCE,
    DEFINITIONS,
    Definition,
    Options,
    for_each_quantity,
)

from . import quantities as quantities  # declares those of this package
from .kernel_methods import KernelMethods, kernel_method

_FRAME = "'{name}', frame"
_AFTER = {
    Options.NONE: ({}, "('{name}',)"),
    Options.FRAME: ({'frame': 'Frames | None = None'}, 'self._of_frame({frame})'),
    Options.FRAME_AND_REFERENCE: (
        {'frame': 'Frames | None = None', 'reference': 'Reference = DEFAULT_REFERENCE'},
        'self._of_frame({frame}, reference)',
    ),
    Options.WRENCHES: ({'external_wrenches': 'Wrenches | None = None'}, "('{name}',)"),
}
"""Parameters after the inputs of a kernel, and the key of the kernel, by kind of options."""


class QuantityMethods(KernelMethods):
    """A method for each quantity that is not written otherwise."""


def signature(definition: Definition) -> str:
    """Return the definition of a method without its body."""
    inputs = [f'{name}: ArrayLike' for name in definition.inputs]
    after = [f'{name}: {text}' for name, text in _AFTER[definition.options][0].items()]
    several = len(definition.outputs) > 1
    given, made = ('Arrays', _tuple(definition)) if several else ('Array', 'Array')
    parameters = ', '.join(['self', *inputs, *after, '*', f'out: {given} | None = None'])
    return f'def {definition.name}({parameters}) -> {made}:'


def documentation(definition: Definition) -> str:
    """Return the docstring of a method."""
    head = f'{definition.summary[0].upper()}{definition.summary[1:]}.'
    lines = [head, *(['', definition.notes] if definition.notes else []), '', 'Args:']
    for name, x in definition.inputs.items():
        lines.append(f'    {name}: ({", ".join(["...", *x.names])}) {x.meaning}.')
    if definition.names_a_frame:
        lines += [
            '    frame: its name, or a list of m names for results (..., m, ...) of one kernel;',
            '        None is ``tool_frame``.',
        ]
    if definition.options is Options.FRAME_AND_REFERENCE:
        lines += [
            "    reference: 'world' (spatial), 'local' (body), or 'local_world_aligned' (velocity",
            "        of the frame's origin and angular velocity, in root axes).",
        ]
    if definition.options is Options.WRENCHES:
        lines += [
            '    external_wrenches: frame name to the wrench (..., 6) of the environment on the',
            '        robot at that frame, in that frame: force [N], then torque [Nm].',
        ]
    lines += ['', 'Returns:']
    for (name, meaning), shape in zip(definition.outputs.items(), definition.shapes, strict=True):
        lines.append(f'    {"" if name == "result" else f"{name} "}{shape}: {meaning}.')
    if definition.finite_results:
        lines += ['', 'Raises:']
    if definition.may_be_singular:
        lines.append('    SingularError: a joint moves neither mass nor inertia.')
    if definition.finite_results:
        lines.append('    InvalidArgumentError: numbers so large that the result overflows.')
    return '\n'.join(lines)


def _tuple(definition: Definition) -> str:
    return f'tuple[{", ".join(["Array"] * len(definition.outputs))}]'


def _source(definition: Definition) -> str:
    name, arrays = definition.name, ', '.join(definition.inputs)
    _, key = _AFTER[definition.options]
    run = f'self._run({key.format(name=name, frame=_FRAME.format(name=name))}, {arrays}, out=out)'
    lines = [signature(definition)]
    if definition.options is Options.WRENCHES:
        under = f'self._under_wrenches({name!r}, external_wrenches, {arrays}, out=out)'
        lines += ['    if external_wrenches is not None:', f'        return {under}']
    return '\n'.join([*lines, f'    return {run}'])


def _add(definition: Definition) -> None:
    """Add the method of a quantity."""
    if definition.internal or definition.written:
        return
    namespace: dict[str, Any] = {'DEFAULT_REFERENCE': DEFAULT_REFERENCE}
    source = f'from __future__ import annotations\n{_source(definition)}'
    exec(compile(source, f'<method {definition.name}>', 'exec'), namespace)
    method = namespace[definition.name]
    method.__module__ = __name__
    method.__qualname__ = f'{QuantityMethods.__name__}.{definition.name}'
    method.__doc__ = documentation(definition)
    setattr(QuantityMethods, definition.name, kernel_method(method))


for_each_quantity(_add)


def stub() -> str:
    """Return the file for type checkers."""
    methods = []
    for x in sorted(DEFINITIONS.values(), key=lambda x: x.name):
        if not x.internal and not x.written:
            methods.append(f'    {signature(x)} ...')
    return '\n'.join([_STUB, *methods, ''])


_STUB = '''# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
# Written by `python -m dynamics_ros.multibody.quantity_methods`, then formatted.

from numpy.typing import ArrayLike

from dynamics_ros.algorithms.quantity import DEFAULT_REFERENCE, Definition, Reference

from .kernel_methods import Array, Arrays, Frames, KernelMethods, Wrenches

def signature(definition: Definition) -> str: ...
def documentation(definition: Definition) -> str: ...
def stub() -> str: ...

class QuantityMethods(KernelMethods):
    """A method for each quantity that is not written otherwise."""
'''


if __name__ == '__main__':
    print(stub(), end='')
