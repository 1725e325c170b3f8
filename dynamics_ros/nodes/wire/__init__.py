"""Between messages, their bytes, and arrays: the only room that takes messages apart."""
