"""What is published: publishers, rates, messages that are filled in place."""
