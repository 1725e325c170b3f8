"""Measurements against named peers: accuracy and speed, each peer run beside ours."""
