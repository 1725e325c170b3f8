"""Steps and searches of inverse kinematics, and its closed forms for arms of six and seven joints.

One file an algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model`` and
``spatial``.
"""
