# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One robot as a system of rigid bodies: its kinematics and dynamics, with NumPy arrays.

``definitions`` defines each quantity and its algorithm. The files here compile its kernels and call
them (``RigidBodySystem``), check arguments and solve linear systems; ``end_effector`` has measures
of one frame. May import ``algorithms``, ``kernels``, ``model``, ``spatial`` and ``errors``;
independent of inverse kinematics and constraints.
"""
