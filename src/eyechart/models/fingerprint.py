"""Checkpoints on disk: finding them, and a digest that tells one from another without reading all of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from eyechart.errors import UsageError

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_TEXTS = (".json", ".jinja", ".txt", ".model", ".py")
_SAMPLES = 64  # places at which a large file of weights is read
_SAMPLE_BYTES = 64 * 1024


def find_weights(name: str, provider: str) -> str:
    """The folder of that name if there is one, else the name on the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        hint = f"write {provider}/PATH for a folder, or {provider}/ORG/NAME for a model of the hub"
        raise UsageError(f"{provider}/{name}: no such folder", hint=hint)
    return name


def hash_checkpoint(folder: Path) -> str:
    """A digest of configuration, tokenizer and weights; of large files, parts all over them.

    Weights change everywhere when a model is trained further, so that a few megabytes tell two checkpoints of
    the same size apart; reading all of them would take minutes.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (*_WEIGHTS, *_TEXTS) or not path.is_file():
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        is_whole = path.suffix in _TEXTS or size <= _SAMPLES * _SAMPLE_BYTES
        with path.open("rb") as file:
            for begin in [0] if is_whole else range(0, size, max(1, (size - _SAMPLE_BYTES) // _SAMPLES)):
                file.seek(begin)
                digest.update(file.read() if is_whole else file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
