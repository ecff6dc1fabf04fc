"""Images: pixels, headers, downloads, and what stands in their place."""
