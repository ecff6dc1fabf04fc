"""Which samples belong together: questions on one image, rotations of one question, parts of one problem.

Answers to questions on one image tend to be right or wrong together, so they carry less information than as
many questions on different images. Intervals count clusters (docs/intervals.md); this module finds them.
Samples that share any key are in one cluster, also by way of a third sample: the clusters are the connected
components.

The keys are named by *rules*: ``image`` (content and place of every image), ``circle`` (rotations of one
question), and any other name is a column of the benchmark's file.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from eyechart.errors import UsageError
from eyechart.registry import suggest_name
from eyechart.store.reader import Belonging
from eyechart.types import ImageRef, Sample

S = TypeVar("S", Belonging, Sample)
Keys: TypeAlias = tuple[str, ...]

IMAGE = "image"
CIRCLE = "circle"
NO_CLUSTERS = "none"
OF_RUN = "cluster-of-run"  # withheld of a sample that was read from an exported run: the cluster it had there
USUAL_RULES = (IMAGE, CIRCLE)
_DIGEST_BYTES = 12  # of a key: with 10 million keys, two agree with a chance of 1 in 10^15

_LONG_CHAIN = 20  # samples; shorter ones are left as they are


def choose_rules(declared: Iterable[str], given: str | None) -> list[str]:
    """The rules of a run: what the user gave, otherwise image, circle and the benchmark's own columns.

    >>> choose_rules(("problem_id",), None), choose_rules(("problem_id",), "page"), choose_rules((), "none")
    (['image', 'circle', 'problem_id'], ['page'], [])
    """
    if given is None:
        return [*USUAL_RULES, *declared]
    return [] if given == NO_CLUSTERS else [given]


def find_clusters(samples: Iterable[Belonging], rules: Sequence[str]) -> dict[int, str]:
    """The cluster of every sample that is not alone, by position: the id of the cluster's first sample.

    An image that every sample has tells no samples apart (an example in the prompt, a single page that all
    questions are about): it makes no cluster. Where questions on several images each are a chain that more
    than half of the samples hang on, each of them counts by one image, the one that most of them share.

    >>> def on(position, image):
    ...     ref = ImageRef(kind="file", location=image)
    ...     return Belonging(position=position, id=f"q{position}", images=(ref,))
    >>> find_clusters([on(0, "a.png"), on(1, "b.png"), on(2, "a.png")], ["image"])
    {0: 'q0', 2: 'q0'}
    """
    columns = [rule for rule in rules if rule not in USUAL_RULES]
    positions, ids, pools = array("q"), list[str](), list[bool]()
    sent, places, others = list[Keys](), list[Keys](), list[Keys]()
    known: dict[str, str] = {}  # every key once, however many samples have it

    def keep(keys: Iterable[str]) -> Keys:
        return tuple(known.setdefault(key, key) for key in dict.fromkeys(keys))

    for sample in samples:
        positions.append(sample.position)
        ids.append(sample.id)
        pools.append(len(sample.images) > 1)
        has_images = IMAGE in rules
        sent.append(keep(digest[: 2 * _DIGEST_BYTES] for digest in sample.sent) if has_images else ())
        places.append(keep(map(_locate, sample.images)) if has_images else ())
        circle = [_hash(CIRCLE, sample.circle)] if CIRCLE in rules and sample.circle else []
        values = {column: value for column in columns if (value := read_column(sample, column)) is not None}
        others.append(keep([*circle, *(_hash("column", column, value) for column, value in values.items())]))
    images = [one + other for one, other in zip(_drop_common(sent), _drop_common(places), strict=True)]
    roots = join_groups(images, others)
    if any(pools):
        [(root, n)] = Counter(roots).most_common(1)
        if n >= _LONG_CHAIN and 2 * n > len(roots):
            n_samples = Counter(
                key for keys, is_pool in zip(images, pools, strict=True) if is_pool for key in keys
            )
            for number, keys in enumerate(images):
                if pools[number] and roots[number] == root and keys:
                    images[number] = (max(keys, key=lambda key: (n_samples[key], key)),)
            roots = join_groups(images, others)
    shared = {root for number, root in enumerate(roots) if root != number}
    return {positions[number]: ids[root] for number, root in enumerate(roots) if root in shared}


def _drop_common(keys: Sequence[Keys]) -> list[Keys]:
    """The keys of each sample but for those that every sample with any has."""
    common: set[str] | None = None
    for own in keys:
        if own and common != set():
            common = set(own) if common is None else common & set(own)
    return [tuple(key for key in own if key not in common) for own in keys] if common else list(keys)


def join_groups(*keys: Sequence[Keys]) -> list[int]:
    """The first sample of each one's component, by union-find over the keys that they share."""
    parents = array("q", range(len(keys[0])))
    holders: dict[str, int] = {}  # the first sample that has a key

    def find(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]  # halve the path
            number = parents[number]
        return number

    for several in keys:
        for number, own in enumerate(several):
            for key in own:
                one, other = sorted((find(number), find(holders.setdefault(key, number))))
                parents[other] = one
    return [find(number) for number in range(len(parents))]


def read_column(sample: Belonging | Sample, column: str) -> str | None:
    """The value of a column as text; None where it is missing or empty."""
    value = sample.meta.get(column, sample.withheld.get(column))
    if value is None or value != value:
        return None
    return str(value).strip() or None


def check_column(samples: Iterable[S], column: str | None) -> Iterator[S]:
    """The same samples; raises at the end if none of them has a value in the column of ``--cluster``."""
    if column is None or column in (*USUAL_RULES, NO_CLUSTERS):
        yield from samples
        return
    is_found = False
    known: dict[str, None] = {}
    sample: S
    for sample in samples:
        yield sample  # its consumer checks that it is one
        if not is_found:
            is_found = read_column(sample, column) is not None
            known |= dict.fromkeys((*sample.meta, *sample.withheld))
    if not is_found:
        if column in known:
            raise UsageError(
                f"--cluster {column}: the column is empty in every row",
                hint="name another column, or: image, circle, none",
            )
        names = [str(name) for name in known]
        found = f"columns: {', '.join(names[:20])}" if names else "the file has no further columns"
        raise UsageError(
            f"--cluster {column}: no sample has a value in this column",
            hint=f"{suggest_name(column, names, otherwise='')} {found}; or: image, circle, none".strip(),
        )


def refuse_unknown_column(samples: Iterable[Sample], column: str | None) -> None:
    """Refuse a column of ``--cluster`` that no sample has."""
    if column is not None:
        for _ in check_column(samples, column):
            pass


def _locate(ref: ImageRef) -> str:
    """Which image it is: by its content if it is embedded, otherwise by its place. A crop is part of one."""
    return ref.content or _hash("place", ref.kind, ref.location, str(ref.offset), ref.column)


def _hash(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
