"""The README as a package index shows it, where links into the repository lead nowhere.

With an address of the repository, links and pictures become absolute. Without one, a link to a page becomes
its text and the command that shows the page, and pictures are left out. `hatch_build.py` calls it when the
package is built.
"""

from __future__ import annotations

import re

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")


def adapt_readme(text: str, repository: str = "") -> str:
    """Replace the relative links of a README.

    >>> adapt_readme("See [data](docs/data.md#columns).")
    'See data (`eyechart docs data#columns`).'
    >>> adapt_readme("See [data](docs/data.md).", "https://example.org/eyechart/")
    'See [data](https://example.org/eyechart/blob/main/docs/data.md).'
    """
    base = repository.rstrip("/")

    def replace(found: re.Match[str]) -> str:
        picture, label, path, anchor = found[1], " ".join(found[2].split()), found[3], found[4] or ""
        if base:
            return f"{picture}[{label}]({base}/{'raw' if picture else 'blob'}/main/{path}{anchor})"
        if picture:
            return ""
        if not path.startswith("docs/"):
            return label
        page = path.rpartition("/")[2].removesuffix(".md")
        return f"{label} (`eyechart docs{'' if page == 'index' else ' ' + page}{anchor}`)"

    return _LINK.sub(replace, text)
