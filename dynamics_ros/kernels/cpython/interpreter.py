# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Registration of this interpreter's objects and functions with LLVM."""

from __future__ import annotations

from dataclasses import asdict

from dynamics_ros.kernels.cpython import layout
from dynamics_ros.kernels.llvm import compiler
from dynamics_ros.kernels.process import compile_queue


def provide_interpreter() -> None:
    """Register the addresses of `layout.Addresses` with LLVM for all modules compiled later.

    Raises:
        CompilerUnavailableError: there is no LLVM.
        UnknownLayoutError: the addresses are not available.
    """
    binding, addresses = compiler.load(), asdict(layout.addresses())
    with compile_queue.llvm:
        for name, address in addresses.items():
            binding.add_symbol(layout.symbol(name), address)
