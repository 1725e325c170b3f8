# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics of one robot as a rigid body system, with NumPy arrays.

Quantities are declared beside their algorithms; ``quantities`` lists them. The modules here make
their methods, compile and call their kernels (``RigidBodySystem``), check arguments and solve
linear systems; ``end_effector`` has quantities of one frame. May import ``algorithms``,
``kernels``, ``model``, ``spatial`` and ``errors``; independent of inverse kinematics and
constraints.
"""
