"""How much of a stranger's pictures is taken, and how long one is waited for."""

MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_SENT_BYTES = 64 * 1024 * 1024  # of an image that is sent as it is: endpoints take less
MAX_DOWNLOAD_BYTES = 64 * 1024 * 1024
DOWNLOAD_TIMEOUT_S = 30.0
