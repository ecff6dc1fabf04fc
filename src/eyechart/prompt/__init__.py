"""Prompts: from a sample to messages; pure."""
