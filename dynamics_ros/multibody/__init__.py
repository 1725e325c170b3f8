"""The kernels of one robot: which algorithm, with which inputs, is behind which of its quantities.

Here lie the definitions, the set of kernels of a robot, the checks of arguments and the small
measures of poses and Jacobians. May import ``algorithms``, ``kernels``, ``model``, ``spatial`` and
``errors``; knows no inverse kinematics and no constraints.
"""
