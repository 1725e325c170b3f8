# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Control laws in joint space, at an end effector and in contact, as functions over any scalar.

One file per law; ``impedance.py`` combines a complete Cartesian impedance controller. May import
``algorithms``, its linear algebra, ``model`` and ``spatial``.
"""
