"""Models: from messages to a reply, one module per provider."""
