"""Advice about flags, in the words of one who has written a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from eyechart.compat.wording import in_words

# The flags of `eyechart run` that a configuration has a key for.
KEYS: Mapping[str, str] = {
    "--judge-base-url": "judge_base_url", "--judge-api-key": "judge_key", "--judge": "judge:",
    "--base-url": "api_base", "--api-key": "key", "--concurrency": "nproc", "--timeout": "timeout",
    "--limit": "limit:", "--max-tokens": "max_tokens", "--temperature": "temperature",
    "--system": "system_prompt", "--max-side": "img_size:", "--out": "work_dir",
    "--allow-private-urls": "allow_private_urls: true in eval_config",
}  # fmt: skip


def in_words_of_a_task() -> AbstractContextManager[None]:
    """Whatever of ours is raised inside speaks of keys rather than of flags."""
    return in_words(KEYS)
