"""What a contact estimate consists of: observer, wrench, excess over thresholds, departing samples.

One file an algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model`` and
``spatial``.
"""
