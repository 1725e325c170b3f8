"""One robot as a system of rigid bodies: its kinematics and dynamics, with NumPy in and out.

Here lie the definitions of a robot's quantities (which algorithm, with which inputs), its set of
kernels, the methods that call them, the checks of arguments and the small measures of poses and
Jacobians. May import ``algorithms``, ``kernels``, ``model``, ``spatial`` and ``errors``; knows no
inverse kinematics and no constraints.
"""
