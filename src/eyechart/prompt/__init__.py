"""Sample to messages; pure."""
