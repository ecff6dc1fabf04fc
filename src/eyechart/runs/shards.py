"""Shards: one part of a run per process (``--shard K/N``), and one run of all parts (``eyechart merge``).

A sample's shard is computed from its id, so every process of an array job chooses the same parts without
communicating with the others. Samples that belong together (rotations of one question, the columns that a
benchmark declares as clusters) are in the same shard. A shard keeps the positions that its samples have in
the whole run, so the merged journal is the one that a single process would have written.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyechart.errors import StoreError, UsageError, join_names
from eyechart.files import atomic_write
from eyechart.option import list_options
from eyechart.report.clusters import CIRCLE, IMAGE, choose_rules, find_clusters
from eyechart.runs.evaluate import Session, finish_run
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan
from eyechart.runs.results import Run
from eyechart.store import folder as folders
from eyechart.store.batches import has_pending
from eyechart.store.folder import SHARDS, find_whole, make_file_name
from eyechart.store.journal import FILE_NAME, Journal
from eyechart.store.merge import merging
from eyechart.store.reader import Belonging
from eyechart.terminal import print_note
from eyechart.types import Sample

_MOST = 100_000  # shards of a run
_END_BYTES = 16 * 1024  # of a file, at its beginning and at its end
_MERGED = "merged"  # in the journal of a merged run: a digest of the shards' manifest


class Shard(NamedTuple):
    """Part `number` of `count`, counted from 1.

    >>> Shard.parse("2/8"), str(Shard(2, 8))
    (Shard(number=2, total=8), '2/8')
    """

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``K/N``."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
        shard = cls(int(found[1]), int(found[2])) if found else cls(0, 0)
        if not 1 <= shard.number <= shard.total <= _MOST:
            raise UsageError(
                f"--shard {text!r} is not K/N",
                hint="write the number of the part and how many there are, counted from 1: --shard 3/8",
            )
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def owns(self, key: str) -> bool:
        """Whether the sample or cluster with this id is in this shard."""
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) % self.total == self.number - 1

    def name_folder(self, whole: Path) -> Path:
        """The folder of this shard of the run in `whole`.

        >>> Shard(2, 8).name_folder(Path("runs/demo/openai-m-e4ff4911")).as_posix()
        'runs/demo/openai-m-e4ff4911.shards/2-of-8'
        """
        return whole.with_name(whole.name + SHARDS) / f"{self.number}-of-{self.total}"


# -- Choosing the samples of a shard


def list_rules(plan: Plan) -> list[str]:
    """What keeps samples in one shard: the rules of the run's clusters, except a common image.

    Questions on one image may be answered anywhere; with them, one picture that most rows show would put
    most of a benchmark into one shard.
    """
    chosen = choose_rules(plan.benchmark.cluster, plan.options.cluster)
    return list(dict.fromkeys(rule for rule in (CIRCLE, *plan.benchmark.cluster, *chosen) if rule != IMAGE))


def keep_shard(plan: Plan, shard: Shard, journal: Journal) -> int:
    """Leave only the shard's samples in a journal that holds them all; returns how many there are."""
    clusters = find_clusters(journal.belongings(with_sent=False), list_rules(plan))
    described = {**describe_samples(journal.samples()), "pictures": describe_images(journal.samples())}
    own = (
        sample.position
        for sample in journal.belongings(with_sent=False)
        if shard.owns(clusters.get(sample.position, sample.id))
    )
    n_own = journal.keep_samples(own)
    journal.set_meta("shard", {"number": shard.number, "total": shard.total, "own": n_own, **described})
    return n_own


def describe_samples(samples: Iterable[Sample]) -> dict[str, Any]:
    """How many samples the whole run has, and a digest of their texts: the same in every shard."""
    digest, n = hashlib.sha256(), 0
    encode = msgspec.json.Encoder(order="deterministic").encode
    for sample in samples:
        n += 1
        read = (sample.id, sample.question, sample.golds, sample.choices, sample.hint, sample.meta)
        digest.update(encode((*read, sample.weight, sample.circle, len(sample.images))))
    return {"samples": n, "sha256": digest.hexdigest()}


def describe_images(samples: Iterable[Sample]) -> str:
    """A digest of all images of the whole run, the same on every machine; empty if one cannot be read here.

    Of a file, its size and its ends tell it apart; an image at a URL is known by its URL, one of a hub's data
    set by its place there.
    """
    digest = hashlib.sha256()
    containers: dict[str, bytes] = {}
    try:
        for sample in samples:
            for ref in sample.images:
                digest.update(f"{ref.kind} {ref.box} {bool(ref.refused)} ".encode())
                if ref.content or ref.refused:
                    digest.update(f"{ref.content};".encode())
                elif ref.kind in ("url", "data", "hub"):
                    digest.update(f"{ref.location} {ref.offset} {ref.column};".encode(errors="surrogatepass"))
                elif ref.kind == "file":
                    digest.update(_read_ends(ref.location))
                elif ref.kind == "cell":
                    digest.update(_read_ends(ref.location, ref.offset, ref.length))
                else:  # in a file with many
                    if ref.location not in containers:
                        containers[ref.location] = hashlib.sha256(_read_ends(ref.location)).digest()
                    digest.update(containers[ref.location] + f"{ref.offset} {ref.column};".encode())
    except OSError:
        return ""
    return digest.hexdigest()


def _read_ends(path: str, start: int = 0, length: int | None = None) -> bytes:
    """The size and both ends of a file, or of a range of it."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the data wrote it
        size = file.seek(0, os.SEEK_END) if length is None else length
        file.seek(start)
        head = file.read(min(size, _END_BYTES))
        file.seek(start + max(len(head), size - _END_BYTES))
        return b"%d:%b%b" % (size, head, file.read(min(size - len(head), _END_BYTES)))


def select_shard(plan: Plan, shard: Shard, samples: Iterable[Sample]) -> Iterator[tuple[int, Sample]]:
    """Position and sample of those in the shard, without a journal; reads the source once before."""
    read = (
        Belonging(position=position, id=one.id, circle=one.circle, meta=one.meta, withheld=one.withheld)
        for position, one in enumerate(plan.benchmark.source)
    )
    clusters = find_clusters(read, list_rules(plan))
    for position, sample in enumerate(samples):
        if shard.owns(clusters.get(position, sample.id)):
            yield position, sample


# -- Merging


class _Kept(msgspec.Struct, frozen=True):
    """What the journal of a shard says of it."""

    number: int
    total: int
    own: int  # samples
    samples: int  # of the whole run
    sha256: str  # of the texts of all samples
    pictures: str | None = None  # a digest of all images of the run; empty if it is not known


class _Part(NamedTuple):
    """A shard on disk."""

    shard: Shard
    kept: _Kept
    run: Run

    @property
    def folder(self) -> Path:
        return self.run.folder


def merge_runs(folders: Sequence[str | Path], *, out: str | Path | None = None) -> Run:
    """Make one run of all shards of a run, and return it.

    `folders` are the folders of shards, or folders that hold them. The merged run gets the folder that the
    whole run would have, beside the shards or below `out`; the command without ``--shard`` then resumes it.
    """
    parts = [_open_part(folder) for folder in _list_folders(folders)]
    _refuse_strangers(parts)
    _refuse_missing(parts)
    first, beside = parts[0], find_whole(parts[0].folder)
    folder = beside
    if out is not None or folder is None:
        name = beside.name if beside else f"{make_file_name(first.run.manifest['model'])}-merged"
        benchmark = make_file_name(str(first.run.manifest.get("benchmark", "")))
        folder = Path("runs" if out is None else out) / benchmark / name
    return _merge(sorted(parts, key=lambda part: part.shard), folder)


def _list_folders(given: Sequence[str | Path]) -> list[Path]:
    found: list[Path] = []
    for one in given:
        path = Path(one)
        path = path.parent if path.name == FILE_NAME else path
        beside = path.with_name(path.name + SHARDS)
        if (path / FILE_NAME).is_file() and not (beside.is_dir() and find_whole(path) is None):
            found.append(path)
            continue
        below = sorted(file.parent for file in path.glob(f"**/{FILE_NAME}")) if path.is_dir() else []
        below = [folder for folder in below if find_whole(folder) is not None]
        if not below and beside.is_dir():  # the whole run's folder stands for the shards beside it
            below = sorted(file.parent for file in beside.glob(f"*/{FILE_NAME}"))
        if not below:
            raise UsageError(f"no shard in {one}", hint="give the folders that eyechart run --shard K/N made")
        found += below
    return list({folder.resolve(): folder for folder in found}.values())


def _open_part(folder: Path) -> _Part:
    run = Run(folder)
    said = run.journal.read_mapping("shard")
    if not said:
        raise UsageError(
            f"{folder} is not a shard", hint="merge takes runs that were started with --shard K/N"
        )
    again = "run the shard again"
    try:
        kept = msgspec.convert(said, _Kept, strict=False)
    except msgspec.ValidationError as err:
        raise StoreError(f"{folder}: the description of the shard is damaged", hint=again) from err
    shard = Shard(kept.number, kept.total)
    if has_pending(run.journal.path):
        raise UsageError(f"{folder}: shard {shard} has a pending batch", hint=f"collect it first: {again}")
    if run.journal.count_samples() != kept.own:
        raise UsageError(f"{folder}: shard {shard} was stopped while it read the data", hint=again)
    return _Part(shard, kept, run)


def _refuse_strangers(parts: Sequence[_Part]) -> None:
    """Refuse shards that are not of one run, naming what differs."""
    first = parts[0]
    seen = next((part for part in parts if part.kept.pictures), first)
    if silent := [str(part.shard) for part in parts if not part.kept.pictures]:
        print_note(
            f"note: the images of shards {join_names(silent, 6)} are not compared: an earlier eyechart asked "
            "them, or not all images of the run could be read there"
        )
    for part in parts[1:]:
        mine, theirs = _describe(first.run.manifest), _describe(part.run.manifest)
        names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        if part.shard.total != first.shard.total:
            what = f"{first.shard} and {part.shard} divide a run differently"
        elif (part.kept.samples, part.kept.sha256) != (first.kept.samples, first.kept.sha256):
            what = "the data changed in between: the questions are not the same"
        elif part.kept.pictures and part.kept.pictures != seen.kept.pictures:
            others = f"their images are not the same (shard {seen.shard} had others)"
            what = f"the data changed in between: {others}"
        elif names:
            what = f"they differ in {join_names(names, 6)}"
        else:
            continue
        raise UsageError(
            f"{first.folder} and {part.folder} are shards of different runs: {what}",
            hint="merge the shards of one command, each started with the same options except --shard",
        )


def _describe(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """All of a manifest that the shards of one run have in common: what changes a reply or a score.

    Each process may ask another endpoint: the identity of the model and of the judge has its name or URL.
    """
    said = {name: value for name, value in manifest.items() if name not in ("options", "kept")}
    options = manifest.get("options")
    if isinstance(options, Mapping):
        own = {
            name
            for name, one in list_options(Options).items()
            if one.affects in ("pace", "output") or one.identified_by == "endpoint"
        }
        said |= {f"--{name}": value for name, value in options.items() if name not in own}
    return said


def _refuse_missing(parts: Sequence[_Part]) -> None:
    by_number: dict[int, _Part] = {}
    for part in parts:
        other = by_number.setdefault(part.shard.number, part)
        if other is not part:
            raise UsageError(
                f"shard {part.shard} is given twice: {other.folder} and {part.folder}",
                hint="leave one of them out",
            )
    count = parts[0].shard.total
    missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise UsageError(
            f"{len(missing)} of {count} shards {'is' if len(missing) == 1 else 'are'} missing: "
            f"{join_names(missing, 20)}",
            hint=f"run the command with --shard {missing[0]}, or name the folder if it is elsewhere",
        )
    n_found, n_whole = sum(part.kept.own for part in parts), parts[0].kept.samples
    if n_found != n_whole:
        raise UsageError(
            f"the shards hold {n_found:,} samples, but the run has {n_whole:,}", hint="run the shards again"
        )


def _merge(parts: Sequence[_Part], folder: Path) -> Run:
    folders.prepare_folder(folder)
    target = folder / FILE_NAME
    with folders.lock_folder(folder):
        try:
            meta = _merge_meta(parts)
            if target.is_file():
                Journal.create(target).close()  # one of an earlier format is brought up to date
            with atomic_write(target) as draft:
                with merging(draft, target) as merge:
                    for part in parts:
                        merge.add(part.folder / FILE_NAME)
                    if target.is_file():
                        if n := merge.count_missing(target):
                            raise UsageError(
                                f"{folder} already holds a run with {n:,} replies that no shard has",
                                hint="choose another folder with --out, so that no reply is lost",
                            )
                        old = Run(folder).journal.list_meta()
                        is_newer = _is_scored_later(folder, meta, old)
                        merge.carry_over(target, is_newer=is_newer)
                        meta = _join_meta(meta, old)
                        meta["manifest"] = old["manifest"] if is_newer else meta["manifest"]
                    merge.set_meta(meta)
                folders.remove_log(target)
        except BaseException:
            if not target.is_file():
                folders.discard_folder(folder)
            raise
        with_files = bool(parts[0].run.manifest.get("files"))
        return finish_run(folder, Session(), with_files=with_files)


def _merge_meta(parts: Sequence[_Part]) -> dict[str, Any]:
    """What a single run would have written about itself."""
    meta = _join_meta(*(part.run.journal.list_meta() for part in parts))
    manifest = dict(meta["manifest"])
    if isinstance(manifest.get("options"), Mapping):
        manifest["options"] = {**manifest["options"], "shard": None}
    if "kept" in manifest:  # earlier scorings that every shard has
        each = [set(part.run.manifest.get("kept", ())) for part in parts]
        manifest["kept"] = [name for name in manifest["kept"] if all(name in one for one in each)]
    del meta["shard"]
    return {**meta, "manifest": manifest, _MERGED: _hash_scoring(manifest)}


def _join_meta(*several: Mapping[str, Any]) -> dict[str, Any]:
    """The first of several manifests, and what all have besides it: a person's verdicts, prices."""
    joined: dict[str, Any] = {}
    for meta in several:
        for name, value in meta.items():
            held = joined.setdefault(name, value)
            if name != "manifest" and isinstance(held, Mapping) and isinstance(value, Mapping):
                joined[name] = {**held, **value}
    return joined


def _hash_scoring(manifest: Mapping[str, Any]) -> str:
    """A digest of all that the shards of a run have in common, the scoring included."""
    said = msgspec.json.encode(_describe(manifest), order="deterministic")
    return hashlib.sha256(said).hexdigest()


def _is_scored_later(folder: Path, new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether an earlier merged run was scored in another way after it was merged, and its shards were not.

    Raises an error if both were, because a run has one scoring.
    """
    before, now = old.get(_MERGED), _hash_scoring(old["manifest"])
    if now in (before, new[_MERGED]):
        return False
    if before == new[_MERGED]:
        return True
    raise UsageError(
        f"{folder} already holds a run that was scored in another way than the shards",
        hint="choose another folder with --out, so that no verdict is lost",
    )
