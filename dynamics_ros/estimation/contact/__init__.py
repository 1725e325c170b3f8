"""Whether there is a contact, and where: detector, thresholds, hypotheses, surface of the links.

May import ``robot`` and what is below it.
"""
