"""A page that shows a robot and what the nodes say of it; for machines without RViz."""
