"""Files, folders and images to samples."""
