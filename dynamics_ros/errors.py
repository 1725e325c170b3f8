# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One root error; its children carry what went wrong and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_CHARACTERS = 1000
"""Characters of a text that quotes what came from outside."""


def shortened(text: str, longest: int = MAX_CHARACTERS) -> str:
    """A text without its middle, if it is longer than that."""
    half = longest // 2
    return text if len(text) <= longest else f'{text[:half]} ... {text[-half:]}'


def printable(text: str, longest: int = MAX_CHARACTERS) -> str:
    """A text as one line that a terminal shows and does not obey, of about so many characters.

    Control characters, line ends, and marks that reorder or hide text become escapes of Python: a
    name from outside can neither forge a line of a log nor move the cursor.
    """
    text = shortened(text, longest)
    if text.isprintable():
        return text
    return ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode() for one in text
    )


class DynamicsRosError(Exception):
    """Root of every error that this package raises on purpose."""

    def __str__(self) -> str:
        """What is wrong, printable; a name of a megabyte is not answered with another one."""
        return printable(super().__str__())


class InvalidArgumentError(DynamicsRosError, ValueError):
    """An argument has a wrong type, shape, range, or is not finite.

    Attributes:
        argument: name of the argument.
        problem: what is wrong with it.
        expected: what would be right.
    """

    def __init__(self, argument: str, problem: str, expected: str) -> None:
        super().__init__(f'{argument}: {problem}; expected {expected}')
        self.argument = argument
        self.problem = problem
        self.expected = expected


class UnknownNameError(InvalidArgumentError):
    """A frame, joint or link name that the model does not have.

    Attributes:
        name: the name that was asked for.
        known: the names that the model has.
    """

    kind = 'name'

    def __init__(self, argument: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        asked = str(name)[:MAX_CHARACTERS]
        close = difflib.get_close_matches(asked, self.known, n=3) or list(self.known[:8])
        more = '' if len(close) == len(self.known) else ', ...'
        super().__init__(
            argument,
            f'unknown {self.kind} {name!r}',
            f'one of {len(self.known)} names: {", ".join(close)}{more}',
        )


class UnknownFrameError(UnknownNameError):
    """A frame that the model does not have."""

    kind = 'frame'


class UnknownJointError(UnknownNameError):
    """A joint that the model does not have."""

    kind = 'joint'


class UnknownOptionError(InvalidArgumentError, TypeError):
    """A keyword argument that a method does not take.

    Attributes:
        option: the name that was given.
        known: the names that the method takes.
    """

    def __init__(self, option: str, known: Iterable[str]) -> None:
        self.option = option
        self.known = tuple(known)
        close = difflib.get_close_matches(option[:MAX_CHARACTERS], self.known, n=1)
        meant = f'{close[0]}, or ' if close else ''
        super().__init__(option, 'no such option', f'{meant}one of {", ".join(self.known)}')


class FixedAttributeError(DynamicsRosError, AttributeError):
    """An attribute that cannot be set or deleted, because what it belongs to never changes.

    Attributes:
        attribute: its name.
    """

    def __init__(self, attribute: str, instead: str) -> None:
        self.attribute = attribute
        super().__init__(f'{attribute}: cannot be changed; {instead}')


class ModelError(DynamicsRosError):
    """A robot description that cannot become a model.

    Attributes:
        element: the element at fault, e.g. ``joint 'elbow' axis``.
        reason: why it is refused.
    """

    def __init__(self, element: str, reason: str) -> None:
        super().__init__(f'{element}: {reason}')
        self.element = element
        self.reason = reason


class TooLargeError(DynamicsRosError):
    """A function that takes more operations than are compiled or computed at one time.

    Attributes:
        function: which one, of what.
        operations: after how many it was given up.
    """

    def __init__(self, function: str, operations: int) -> None:
        super().__init__(
            f'{function}: takes more than {operations} operations; the robot has too many joints '
            'for this'
        )
        self.function = function
        self.operations = operations


class SingularError(DynamicsRosError):
    """A matrix that has to be inverted is singular.

    Attributes:
        quantity: what is singular, e.g. ``mass matrix``.
        reason: why, and what would help.
    """

    def __init__(self, quantity: str, reason: str) -> None:
        super().__init__(f'{quantity} is singular: {reason}')
        self.quantity = quantity
        self.reason = reason


class SingularParametrizationError(SingularError):
    """Parameters at which a velocity does not determine their rates.

    Attributes:
        parametrization: its name, e.g. ``euler_zyx``.
    """

    def __init__(self, parametrization: str, reason: str) -> None:
        super().__init__(f'the map from velocity to rates of {parametrization}', reason)
        self.parametrization = parametrization


class RankDeficientError(SingularError):
    """A Jacobian of too low a rank for what is asked.

    Attributes:
        rank: rank that it has.
        needed: rank that it would need.
    """

    def __init__(self, quantity: str, rank: int, needed: int, advice: str) -> None:
        super().__init__(quantity, f'rank {rank} where {needed} is needed; {advice}')
        self.rank = rank
        self.needed = needed


class InfeasibleError(DynamicsRosError):
    """Demands that no solution meets: constraints that contradict each other or the motion.

    Attributes:
        problem: what contradicts what, and what would help.
        residual: the largest violation that is left, in the units of the demand.
    """

    def __init__(self, problem: str, residual: float) -> None:
        super().__init__(f'{problem} (violated by {residual:.3g})')
        self.problem = problem
        self.residual = residual
