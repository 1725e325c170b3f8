# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Vectors (3) and matrices (3, 3) over any scalar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .scalar import Scalar, sqrt


class Vector3:
    """A vector (x, y, z). It stores no frame; the name of a variable states the frame."""

    __slots__ = ('x', 'y', 'z')

    # NumPy then leaves ``array * vector`` to ``__rmul__`` of this class.
    __array_ufunc__ = None

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x = x
        self.y = y
        self.z = z

    @classmethod
    def of(cls, components: Iterable[Scalar]) -> Vector3:
        """Vector with three components."""
        x, y, z = components
        return cls(x, y, z)

    @classmethod
    def zero(cls) -> Vector3:
        """The zero vector."""
        return cls(0.0, 0.0, 0.0)

    @classmethod
    def from_array(cls, array: ArrayLike) -> Vector3:
        """Vector with the components (..., 3); leading axes make the components arrays."""
        return cls.of(split(array, (3,), 'vector'))

    def array(self) -> Array:
        """The components as an array (..., 3)."""
        return stack(self)

    def __iter__(self) -> Iterator[Scalar]:
        yield self.x
        yield self.y
        yield self.z

    def __getitem__(self, index: int) -> Scalar:
        return (self.x, self.y, self.z)[index]

    def __add__(self, other: Vector3) -> Vector3:
        return Vector3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector3) -> Vector3:
        return Vector3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vector3:
        return Vector3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vector3:
        return Vector3(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def dot(self, other: Vector3) -> Scalar:
        """Inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector3) -> Vector3:
        """Cross product, [SE3] 6."""
        return Vector3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def norm(self) -> Scalar:
        """Euclidean length."""
        return sqrt(self.dot(self))

    def __repr__(self) -> str:
        return f'Vector3({self.x}, {self.y}, {self.z})'


class Matrix3:
    """A 3x3 matrix, stored as three rows."""

    __slots__ = ('rows',)

    __array_ufunc__ = None

    def __init__(self, rows: Iterable[Iterable[Scalar]]) -> None:
        first, second, third = rows
        self.rows = (Vector3.of(first), Vector3.of(second), Vector3.of(third))

    @classmethod
    def identity(cls) -> Matrix3:
        """The identity matrix."""
        return cls.diagonal(1.0, 1.0, 1.0)

    @classmethod
    def zero(cls) -> Matrix3:
        """The zero matrix."""
        return cls.diagonal(0.0, 0.0, 0.0)

    @classmethod
    def diagonal(cls, x: Scalar, y: Scalar, z: Scalar) -> Matrix3:
        """The diagonal matrix with the given entries."""
        return cls(((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z)))

    @classmethod
    def skew(cls, v: Vector3) -> Matrix3:
        """The skew-symmetric matrix v_x with v_x u = v x u, [RD] eq. 2.73."""
        return cls(((0.0, -v.z, v.y), (v.z, 0.0, -v.x), (-v.y, v.x, 0.0)))

    @classmethod
    def outer(cls, a: Vector3, b: Vector3) -> Matrix3:
        """The outer product a b^T."""
        return cls([b * component for component in a])

    @classmethod
    def from_array(cls, array: ArrayLike) -> Matrix3:
        """Matrix with the entries (..., 3, 3); leading axes make the entries arrays."""
        return cls(split(array, (3, 3), 'matrix'))

    def array(self) -> Array:
        """The entries as an array (..., 3, 3)."""
        return stack(self)

    def unskew(self) -> Vector3:
        """The vector v of a skew-symmetric matrix v_x, the inverse of `skew`, [RD] eq. 2.73.

        For other matrices, the vector of the skew-symmetric part.
        """
        x, y, z = self.rows
        return Vector3(z.y - y.z, x.z - z.x, y.x - x.y) * 0.5

    def determinant(self) -> Scalar:
        """The determinant; 1 for a rotation, -1 for a reflection."""
        return self.rows[0].dot(self.rows[1].cross(self.rows[2]))

    @property
    def T(self) -> Matrix3:
        """The transpose."""
        return Matrix3([self.column(i) for i in range(3)])

    def column(self, index: int) -> Vector3:
        """Column number ``index``, counted from 0."""
        return Vector3.of(row[index] for row in self.rows)

    def __getitem__(self, index: tuple[int, int]) -> Scalar:
        row, column = index
        return self.rows[row][column]

    def __iter__(self) -> Iterator[Vector3]:
        return iter(self.rows)

    def __add__(self, other: Matrix3) -> Matrix3:
        return Matrix3([a + b for a, b in zip(self.rows, other.rows, strict=True)])

    def __sub__(self, other: Matrix3) -> Matrix3:
        return Matrix3([a - b for a, b in zip(self.rows, other.rows, strict=True)])

    def __neg__(self) -> Matrix3:
        return Matrix3([-row for row in self.rows])

    def __mul__(self, factor: Scalar) -> Matrix3:
        return Matrix3([row * factor for row in self.rows])

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vector3):
            return Vector3.of(row.dot(other) for row in self.rows)
        columns = [other.column(i) for i in range(3)]
        return Matrix3([[row.dot(column) for column in columns] for row in self.rows])

    def transpose_apply(self, v: Vector3) -> Vector3:
        """M^T v of this matrix M, without forming the transpose."""
        return self.rows[0] * v.x + self.rows[1] * v.y + self.rows[2] * v.z

    def __repr__(self) -> str:
        return f'Matrix3({[list(row) for row in self.rows]})'
