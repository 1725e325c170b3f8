# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exception classes with one common root; each carries the fault and the expected value."""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Iterable
from typing import Any

MAX_CHARACTERS = 1000
"""Maximum length, in characters, of a text that quotes external input."""


def shortened(text: str, longest: int = MAX_CHARACTERS) -> str:
    """Returns the text, with its middle cut out if it is longer than ``longest`` characters."""
    half = longest // 2
    return text if len(text) <= longest else f'{text[:half]} ... {text[-half:]}'


def printable(text: str, longest: int = MAX_CHARACTERS) -> str:
    """Returns the text as one line of about ``longest`` characters that is safe in a terminal.

    Control characters, line ends, and Unicode marks that reorder or hide text are replaced by
    Python escapes, so that an external name can neither forge a log line nor move the cursor.
    """
    text = shortened(text, longest)
    if text.isprintable():
        return text
    return ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode() for one in text
    )


def closest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Returns the known names that resemble a name, the most similar first.

    Upper and lower case count as equal, and names that contain the whole name resemble it.
    """
    names = list(known)
    asked, folded = name[:MAX_CHARACTERS].casefold(), [other.casefold() for other in names]
    close = difflib.get_close_matches(asked, folded, n=most)
    close += [other for other in folded if asked and asked in other]
    return list(dict.fromkeys(names[folded.index(other)] for other in close))[:most]


def meant(name: str, known: Iterable[str]) -> str:
    """Returns the closest known name as the end of a sentence, for a suggestion."""
    close = closest(name, known, most=1)
    return f'; was {close[0]!r} meant?' if close else ''


class DynamicsRosError(Exception):
    """Base class of every error that this package raises on purpose."""

    def __str__(self) -> str:
        """The message, printable and shortened, since it may quote a very long external name."""
        return printable(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles: a subclass takes other arguments than the message in ``args``."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidArgumentError(DynamicsRosError, ValueError):
    """An argument has a wrong type, shape or range, or is not finite.

    Attributes:
        argument: name of the argument.
        problem: what is wrong with it.
        expected: description of a valid value.
    """

    def __init__(self, argument: str, problem: str, expected: str) -> None:
        super().__init__(f'{argument}: {problem}; expected {expected}')
        self.argument = argument
        self.problem = problem
        self.expected = expected


class UnknownNameError(InvalidArgumentError):
    """The model has no frame, joint or link of the given name.

    Attributes:
        name: the requested name.
        known: the names that the model has.
    """

    kind = 'name'

    def __init__(self, argument: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        close = closest(str(name), self.known) or list(self.known[:8])
        more = '' if len(close) == len(self.known) else ', ...'
        super().__init__(
            argument,
            f'unknown {self.kind} {name!r}',
            f'one of {len(self.known)} names: {", ".join(close)}{more}',
        )


class UnknownFrameError(UnknownNameError):
    """The model has no frame of the given name."""

    kind = 'frame'


class UnknownJointError(UnknownNameError):
    """The model has no joint of the given name."""

    kind = 'joint'


class UnknownOptionError(InvalidArgumentError, TypeError):
    """A method does not accept a given keyword argument.

    Attributes:
        option: the name that was given.
        known: the names that the method accepts.
    """

    def __init__(self, option: str, known: Iterable[str]) -> None:
        self.option = option
        self.known = tuple(known)
        close = closest(option, self.known, most=1)
        first = f'{close[0]}, or ' if close else ''
        super().__init__(option, 'no such option', f'{first}one of {", ".join(self.known)}')


class FixedAttributeError(DynamicsRosError, AttributeError):
    """An attribute cannot be set or deleted because its object is immutable, or unknown to it.

    Attributes:
        attribute: name of the attribute.
    """

    def __init__(self, attribute: str, instead: str, problem: str = 'cannot be changed') -> None:
        self.attribute = attribute
        super().__init__(f'{attribute}: {problem}; {instead}')


class ModelError(DynamicsRosError):
    """A robot description cannot be converted to a model.

    Attributes:
        element: the faulty element, e.g. ``joint 'elbow' axis``.
        reason: why it is rejected.
    """

    def __init__(self, element: str, reason: str) -> None:
        super().__init__(f'{element}: {reason}')
        self.element = element
        self.reason = reason


class TooLargeError(DynamicsRosError):
    """A function exceeds the limit of operations for one compilation or computation.

    Attributes:
        function: name of the function and of its subject.
        operations: number of operations at which it was aborted.
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
        quantity: the singular quantity, e.g. ``mass matrix``.
        reason: the cause and a remedy.
    """

    def __init__(self, quantity: str, reason: str) -> None:
        super().__init__(f'{quantity} is singular: {reason}')
        self.quantity = quantity
        self.reason = reason


class SingularParametrizationError(SingularError):
    """The parametrization is singular: a velocity does not determine the parameter rates.

    Attributes:
        parametrization: its name, e.g. ``euler_zyx``.
    """

    def __init__(self, parametrization: str, reason: str) -> None:
        super().__init__(f'the map from velocity to rates of {parametrization}', reason)
        self.parametrization = parametrization


class RankDeficientError(SingularError):
    """The rank of a Jacobian is too low for the requested computation.

    Attributes:
        rank: actual rank.
        needed: required rank.
    """

    def __init__(self, quantity: str, rank: int, needed: int, advice: str) -> None:
        super().__init__(quantity, f'rank {rank} where {needed} is needed; {advice}')
        self.rank = rank
        self.needed = needed


class InfeasibleError(DynamicsRosError):
    """No solution exists: constraints contradict each other or the requested motion.

    Attributes:
        problem: description of the contradiction and a remedy.
        residual: the largest remaining violation, in the units of the constraint.
    """

    def __init__(self, problem: str, residual: float) -> None:
        super().__init__(f'{problem} (violated by {residual:.3g})')
        self.problem = problem
        self.residual = residual


class NoModelError(DynamicsRosError):
    """No robot description has been accepted yet."""


class NoStateError(DynamicsRosError):
    """A request needs the latest joint state, which is not complete yet."""


class StaleStateError(DynamicsRosError):
    """The latest joint state is older than the node allows."""
