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
from typing import TypeVar

from eyechart.errors import UsageError
from eyechart.registry import suggest_name
from eyechart.store.reader import Belonging
from eyechart.types import ImageRef, Sample

S = TypeVar("S", Belonging, Sample)

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
    joined = _Components()
    chains = _Chains()
    sent, places = _SharedByAll(), _SharedByAll()
    ids: list[str] = []
    columns = [rule for rule in rules if rule not in USUAL_RULES]
    for sample in samples:
        number = len(ids)
        ids.append(sample.id)
        joined.add(sample.position)
        if IMAGE in rules:
            if len(sample.images) > 1:
                chains.begin(number, joined)
            for key in sent.filter(number, {digest[: 2 * _DIGEST_BYTES] for digest in sample.sent}):
                joined.link(number, key)
                chains.link_image(number, key)
            for key in places.filter(number, {_locate(ref) for ref in sample.images}):
                joined.link(number, key)
                chains.link_image(number, key)
        if CIRCLE in rules and sample.circle:
            joined.link(number, _hash(CIRCLE, sample.circle))
            chains.link(number, _hash(CIRCLE, sample.circle))
        for column in columns:
            if (value := read_column(sample, column)) is not None:
                joined.link(number, _hash("column", column, value))
                chains.link(number, _hash("column", column, value))
    for kind in (sent, places):
        for key, numbers in kind.list_partial():
            for number in numbers:
                joined.link(number, key)
                chains.link_image(number, key)
    return chains.undo(joined).name_groups(ids)


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


class _SharedByAll:
    """Holds back the first sample's images until it is known whether every sample has them."""

    def __init__(self) -> None:
        self._n_samples = 0  # that have an image
        self._numbers: dict[str, list[int]] = {}  # of the first one's images: who else has them

    def filter(self, number: int, keys: set[str]) -> set[str]:
        """The keys that are known not to be in every sample."""
        self._n_samples += bool(keys)
        if self._n_samples == 1:
            self._numbers |= {key: [] for key in keys}
        common = keys & self._numbers.keys()
        for key in common:
            self._numbers[key].append(number)
        return keys - common

    def list_partial(self) -> Iterator[tuple[str, list[int]]]:
        for key, numbers in self._numbers.items():
            if len(numbers) < self._n_samples:
                yield key, numbers


class _Chains:
    """The components without the images of samples that have several; begins with the first such sample."""

    def __init__(self) -> None:
        self._apart: _Components | None = None
        self._several: dict[int, list[str]] = {}  # a sample with several images to their keys

    def begin(self, number: int, joined: _Components) -> None:
        self._several[number] = []
        if self._apart is None:
            self._apart = joined.copy()

    def link(self, number: int, key: str) -> None:
        if self._apart is not None:
            self._apart.link(number, key)

    def link_image(self, number: int, key: str) -> None:
        if number in self._several:
            self._several[number].append(key)
        else:
            self.link(number, key)

    def undo(self, joined: _Components) -> _Components:
        """The components; if the largest is a chain of more than half of the samples, with it cut."""
        if self._apart is None:
            return joined
        root, n = joined.find_largest()
        if n < _LONG_CHAIN or 2 * n <= len(joined):
            return joined
        n_samples = Counter(key for keys in self._several.values() for key in keys)
        for number, keys in self._several.items():
            is_chained = joined.find(number) == root
            most = max(keys, key=lambda key: (n_samples[key], key), default=None)
            for key in [most] if is_chained and most is not None else keys:
                self._apart.link(number, key)
        return self._apart


class _Components:
    """Connected components of samples, by union-find; the root of a component is its first sample."""

    def __init__(self) -> None:
        self._positions = array("q")
        self._parents = array("q")
        self._holders: dict[str, int] = {}  # a key to the first sample that has it

    def add(self, position: int) -> None:
        self._parents.append(len(self._parents))
        self._positions.append(position)

    def link(self, number: int, key: str) -> None:
        holder = self._holders.setdefault(key, number)
        if holder != number:
            one, other = sorted((self.find(number), self.find(holder)))
            self._parents[other] = one

    def copy(self) -> _Components:
        """The same components. Samples that follow are added to one of them and are in both."""
        same = _Components()
        same._positions = self._positions
        same._parents, same._holders = array("q", self._parents), dict(self._holders)
        return same

    def __len__(self) -> int:
        return len(self._positions)

    def find_largest(self) -> tuple[int, int]:
        """The root of the largest component, and the number of its samples."""
        return Counter(map(self.find, range(len(self._positions)))).most_common(1)[0]

    def name_groups(self, ids: Sequence[str]) -> dict[int, str]:
        roots = [self.find(number) for number in range(len(self._positions))]
        shared = {root for number, root in enumerate(roots) if root != number}
        return {self._positions[n]: ids[root] for n, root in enumerate(roots) if root in shared}

    def find(self, number: int) -> int:
        """The first sample of the component."""
        parents = self._parents
        while len(parents) <= number:
            parents.append(len(parents))
        while parents[number] != number:
            parents[number] = parents[parents[number]]  # halve the path
            number = parents[number]
        return number
