# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled code in processes: forks, lifetimes, the queue of the compiler, files on disk.

Imports nothing of this package.
"""
