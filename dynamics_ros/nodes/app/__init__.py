# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The process of the nodes: its executor, signals, guarded and managed nodes, a worker thread.

Imports ``reporting`` and ``wire``. Executables begin in ``entry``, which loads the rest by name.
"""
