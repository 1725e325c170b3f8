"""What an identified robot leaves unexplained, learned from free motion.

``learn_unexplained`` runs the observer of external torques over recordings and says how far it is
off, joint by joint, by speed, load and reversals: what ``contact_node`` takes as ``unexplained.*``.
"""

from .learn import Learned, calibrated_robot, learn, learn_unexplained

__all__ = ['Learned', 'calibrated_robot', 'learn', 'learn_unexplained']
