"""Results to numbers, tables and files."""
