"""What runs in a ROS graph and what is wrong with it, on one screen: ``doctor``."""
