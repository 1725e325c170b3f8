# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a process of nodes runs: its executor, signals, guarded and managed nodes, a worker thread.

Imports ``reporting`` and ``wire``. Executables begin in ``entry``, which loads the rest by name.
"""
