"""The ROS 2 nodes: they convert, call the library and publish, and hold no mathematics.

What is private of rclpy lies here, in one file.
"""
