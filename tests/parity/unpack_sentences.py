"""Unpacks nltk's English sentence model from a wheel: python unpack_sentences.py WHEELS FOLDER."""

import sys
import zipfile
from pathlib import Path

PART = "tokenizers/punkt_tab/english/"

wheels, folder = map(Path, sys.argv[1:])
with zipfile.ZipFile(next(wheels.glob("llama_index_core-*.whl"))) as wheel:
    for name in wheel.namelist():
        _, found, file = name.partition(PART)
        if found and file:
            target = folder / PART / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.read(name))
