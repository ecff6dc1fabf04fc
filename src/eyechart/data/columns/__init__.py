"""What the columns of a file mean, and checks of it."""
