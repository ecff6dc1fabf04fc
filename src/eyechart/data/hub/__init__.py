"""Data sets of the Hugging Face hub: their names, the library that opens them, their rows."""
