# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Computations as data: expressions, their graph in normal form, loops, traces.

Independent of printers and compilers. May import ``errors``.
"""
