"""Whether there is a contact, and where: detector, thresholds, hypotheses, surface of the links.

May import ``robot``, what is below it, and ``estimation.noise``.
"""
