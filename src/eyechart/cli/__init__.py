"""Arguments in, one library call, text out."""
