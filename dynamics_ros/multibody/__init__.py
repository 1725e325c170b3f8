# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics of one robot as a rigid body system, with NumPy arrays.

``definitions`` defines each quantity and its algorithm. The modules here compile its kernels and
call
them (``RigidBodySystem``), check arguments and solve linear systems; ``end_effector`` has
quantities
of one frame. May import ``algorithms``, ``kernels``, ``model``, ``spatial`` and ``errors``;
independent of inverse kinematics and constraints.
"""
