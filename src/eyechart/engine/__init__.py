"""The engine: sends many requests at once, retries, and writes the replies."""
