"""Motions that tell the most of a robot, and whether its links keep apart over them."""
