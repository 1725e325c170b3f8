# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tells LLVM where machine code finds objects and functions of this interpreter."""

from __future__ import annotations

from dataclasses import asdict

from dynamics_ros.kernels.cpython import layout
from dynamics_ros.kernels.llvm import compiler
from dynamics_ros.kernels.process import compile_queue


def provide_interpreter() -> None:
    """Name the addresses of `layout.Addresses` to LLVM, for all modules that are compiled later.

    Raises:
        CompilerUnavailableError: there is no LLVM.
        UnknownLayoutError: the addresses cannot be had.
    """
    binding, addresses = compiler.load(), asdict(layout.addresses())
    with compile_queue.llvm:
        for name, address in addresses.items():
            binding.add_symbol(layout.symbol(name), address)
