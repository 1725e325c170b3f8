"""Kernels of a robot as C, for controllers that have no Python."""

from .files import export_kernels

__all__ = ['export_kernels']
