"""What nodes that command a robot share: targets in any frame, pause, and the life of the node."""
