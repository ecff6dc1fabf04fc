"""The command line: each command reads its arguments, makes one library call and prints the result."""
