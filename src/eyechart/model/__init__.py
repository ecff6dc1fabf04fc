"""Messages to reply, one module a provider."""
