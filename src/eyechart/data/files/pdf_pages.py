"""Runs in a separate process: prints the number of pages of a PDF file, or one page as a PNG file."""

from __future__ import annotations

import contextlib
import sys

DPI = 150
MAX_PIXELS = 20_000_000  # of a page; larger ones are rendered at a lower resolution


def main(path: str, task: str, max_memory: int, max_cpu_s: int) -> None:
    """Do the task, within limits of memory and CPU time."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
        resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_s, max_cpu_s + 1))
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    if task == "count":
        sys.stdout.buffer.write(str(len(document)).encode())
        return
    if int(task) >= len(document):
        sys.exit(f"it has {len(document)} pages")
    page = document[int(task)]
    width, height = page.get_size()
    scale = DPI / 72
    scale = min(scale, scale * (MAX_PIXELS / max(1.0, width * height * scale * scale)) ** 0.5)
    page.render(scale=scale).to_pil().convert("RGB").save(sys.stdout.buffer, "PNG")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
