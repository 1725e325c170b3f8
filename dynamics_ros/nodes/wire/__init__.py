"""Messages to arrays and back, as objects and as bytes, and everything private of rclpy.

Imports no other room of the nodes.
"""
