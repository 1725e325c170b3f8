# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of control: joint by joint, at an end effector, in contact; each a function over any scalar.

One file a law; ``impedance.py`` puts a whole Cartesian impedance controller together. May import
``algorithms``, its linear algebra, ``model`` and ``spatial``.
"""
