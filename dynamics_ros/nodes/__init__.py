"""The ROS 2 nodes: they convert, call the library and publish, and hold no mathematics."""
