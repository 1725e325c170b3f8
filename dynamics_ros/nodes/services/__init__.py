"""What services have in common: requests read, answered, refused."""
