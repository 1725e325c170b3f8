"""What a robot description says, and what is odd about it, on one page of text: ``inspect``."""
