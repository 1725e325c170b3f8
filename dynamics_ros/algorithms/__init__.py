"""Kinematics and dynamics, one file an algorithm, over any scalar."""
