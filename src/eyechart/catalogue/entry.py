"""`Entry`: the declaration of a benchmark of the catalogue, with the ways in which kits ask and score it.

questions.py finds its questions: VLMEvalKit's file, what was downloaded from the hub, or what the setting `file`
names. All of them give the same samples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from eyechart.prompt.published import frame
from eyechart.registry import benchmark
from eyechart.types import Benchmark, Card, Prompt, Sample, Source

if TYPE_CHECKING:
    from eyechart.data.source import ChangeRow

VLMEVALKIT = "vlmevalkit"
LMMS_EVAL = "lmms-eval"
# The result files of a kit's own.
_FILES = {LMMS_EVAL: "lm-eval"}  # else VLMEvalKit's
GROUPS = ("split", "l2-category", "category")
# Scorers whose official code evaluates an answer that spells a list; the others compare with the cell's text.
_EVALUATING = (
    "anls", "chartqapro", "gqa", "mmmu", "mmmu-pro-composite-lmms", "mmmu-pro-cot-vlmevalkit", "mmmu-vlmevalkit",
    "ocrbench", "ocrbench-lmms", "ocrbench-v2", "ocrvqa", "relaxed", "rouge-l", "rouge-l-words", "vqa-accuracy",
    "vqa-accuracy-lmms", "vqav2-lmms",
)  # fmt: skip
ALL = "all"  # --set split=all
_MAX_TOKENS = 1024  # in lmms-eval's requests, where a task sets no other number


@dataclass(frozen=True, slots=True)
class Kit:
    """How a kit asks and scores a benchmark; None: as the benchmark's `Entry` says."""

    prompt: Prompt
    scorer: str
    judged_scorer: str = ""  # in a run with a judge; by default the same
    aggregate: str | None = None
    group_by: tuple[str, ...] | None = None
    prepare: Callable[[Sample], Sample] | None = None
    max_tokens: int = _MAX_TOKENS


class Apart(NamedTuple):
    """Images that a hub data set keeps apart from its questions: in another config, an archive or a folder."""

    part: str  # config/split, the name of the archive, or that of the folder with a slash
    column: str = ""  # of the questions: the image's id or path; not for a folder: rows have paths


@dataclass(frozen=True, eq=False)
class Entry:
    """A benchmark of the catalogue; calling it makes the `Benchmark`, and its parameters are the settings.

    `about` says in a few words what is asked. `prompt`, `scorer`, `judged_scorer`, `aggregate` and `group_by`
    are those of the kit that `kit` names; `lmms` and `kits` have those of others (``--set kit=NAME``). `parity` is by
    default the two kits, as far as they are there.
    """

    name: str
    about: str
    facts: Card
    """Group, size, paper and licence; `card` has the others."""
    _: KW_ONLY
    prompt: Prompt = field(default_factory=frame)
    scorer: str = "choice-vlmevalkit"
    judged_scorer: str = ""
    aggregate: str = ""
    group_by: tuple[str, ...] = GROUPS
    macro: str = ""
    cluster: tuple[str, ...] = ()
    kit: str = VLMEVALKIT
    lmms: Kit | None = None
    """lmms-eval's way, where that is not the `kit`."""
    kits: Mapping[str, Kit] = field(default_factory=dict)
    metric: str = "accuracy"
    parity: str = ""
    note: str = ""
    file: str | Sequence[str] | Mapping[str, str] = ()
    """VLMEvalKit's file, or several names of it; a mapping says in which kit's way a file is asked."""
    hub: str | Sequence[str] = ()
    """``ORG/NAME:split``, ``ORG/NAME:config/split`` or ``ORG/NAME:file.tsv``, or parts that belong together."""
    also_hub: Sequence[str] = ()
    """Copies elsewhere: a repository with the same parts and rows, or parts written out. That of ``lmms-lab``
    in ``lmms-lab-encoder`` is known."""
    aliases: Sequence[str] = ()
    """Names of lmms-eval's tasks that differ from ours by more than case, hyphens and underscores."""
    is_subset: bool = False
    """The benchmark is some of the rows, and the hub's id means another benchmark, with all of them."""
    change_row: ChangeRow | None = None
    """From a row of a Parquet or JSON file on the hub, with its split in ``part`` and its repository in
    ``place``, to the columns that differ from the file's. A list of several or no such rows is allowed."""
    change_file_row: ChangeRow | None = None
    """The same for rows of the file itself."""
    images: Apart | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Columns of other names, as ``--field`` takes them, used where they exist."""
    splits: Sequence[str] = ()
    """Values of the column `split`: rows of the first are asked, others with ``--set split=NAME``."""
    prepare: Callable[[Sample], Sample] | None = None
    """A change of samples, such as moving an answer out of a column."""
    max_tokens: int = _MAX_TOKENS
    """Of replies, in the requests of lmms-eval, if that is the `kit`."""

    def register(self) -> Self:
        """Record the benchmark under its name and its published files."""
        card = self.card
        files = [one for one in (card.file, *card.files) if one]
        hub = [] if self.is_subset else [*card.hub, *card.copies]
        benchmark(self.name, file=files, hub=hub, aliases=self.aliases)(self)
        return self

    @property
    def card(self) -> Card:
        files = [self.file] if isinstance(self.file, str) else list(self.file)
        hub = (self.hub,) if isinstance(self.hub, str) else tuple(self.hub)
        mirrored = {part.partition("/")[2].partition(":")[0] for part in hub if part.startswith("lmms-lab/")}
        copies: list[str] = []
        for copy in (*(f"lmms-lab-encoder/{name}" for name in mirrored), *self.also_hub):
            copies += [copy] if ":" in copy else [part.replace(part.partition(":")[0], copy) for part in hub]
        return replace(
            self.facts,
            file=files[0] if files else "",
            files=tuple(files[1:]),
            hub=hub,
            copies=tuple(copies),
            images=self.images.part if self.images else "",
            metric=self.metric,
            parity=self.parity or ", ".join(_PARITIES[one] for one in _PARITIES if one in self.ways),
            note=self.note,
        )

    @property
    def ways(self) -> Mapping[str, Kit]:
        """The kits, the default one first."""
        return {
            self.kit: Kit(self.prompt, self.scorer, self.judged_scorer, max_tokens=self.max_tokens),
            **({LMMS_EVAL: self.lmms} if self.lmms else {}),
            **self.kits,
        }

    @property
    def kits_by_file(self) -> Mapping[str, str]:
        """The kits of files that are not asked in the way of the default one."""
        return {name: kit for name, kit in self.file.items() if kit} if isinstance(self.file, Mapping) else {}

    def __call__(
        self,
        *,
        file: str | None = None,
        kit: str | None = None,
        split: str = "",
        cells: Literal["text", "pandas"] | None = None,
        image_root: str | None = None,
        allow_urls: bool = True,
    ) -> Benchmark:
        from eyechart.catalogue.questions import Questions
        from eyechart.data.files.formats import resolve_origin
        from eyechart.data.samples import ChangedSource, LazySource
        from eyechart.data.source import SourceOptions

        ways, card = self.ways, self.card
        is_named = kit is not None
        kit = kit or self.kits_by_file.get(Path(file or "").stem) or self.kit
        way = ways[kit]
        options = SourceOptions(
            cells=cells or "text",
            image_root=image_root,
            allow_urls=allow_urls,
            is_official=True,
            spells_lists=way.scorer in _EVALUATING,
        )
        of_tables = ways.get(VLMEVALKIT, way).scorer in _EVALUATING
        questions = Questions(self, card, options, has_cells=cells is not None, spells_tables=of_tables)
        origin = resolve_origin(file) if file else card.file or card.hub[0]
        source: Source = LazySource(self.name, origin, lambda: questions.open(file))
        if change := way.prepare or self.prepare:
            source = ChangedSource(source, lambda samples: map(change, samples))
        split = split or next(iter(self.splits), "")
        if split and split != ALL:  # all samples, if the file has no such column
            source = ChangedSource(
                source, lambda samples: (one for one in samples if str(one.meta.get("split", split)) == split)
            )
        # VLMEvalKit leaves the parameters of requests to the model.
        sampling = {"temperature": 0, "max_tokens": way.max_tokens} if kit.startswith(LMMS_EVAL) else {}
        return Benchmark(
            name=self.name,
            source=source,
            prompt=way.prompt,
            scorer=way.scorer,
            judged_scorer=way.judged_scorer or way.scorer,
            aggregate=self.aggregate if way.aggregate is None else way.aggregate,
            group_by=self.group_by if way.group_by is None else way.group_by,
            macro=self.macro if kit == self.kit else "",
            cluster=self.cluster,
            files=_FILES.get(kit, "vlmevalkit"),
            needs_images=True,
            sampling=sampling if is_named else {},
            settings={"file": file, "kit": kit, **({"split": split} if self.splits else {})},
            about=f"{self.about}; {card.size}",
            card=card,
        )

    @property
    def __signature__(self) -> inspect.Signature:
        """The settings of this benchmark, with the values that they may have."""
        choices = {"kit": tuple(self.ways), "split": (*self.splits, ALL) if self.splits else ()}
        _, *known = inspect.signature(type(self).__call__, eval_str=True).parameters.values()
        shown = []
        for one in known:
            if several := choices.get(one.name):
                default = self.splits[0] if one.name == "split" else one.default
                shown.append(one.replace(annotation=Literal[several] | None, default=default))
            elif one.name not in choices:
                shown.append(one)
        return inspect.Signature(shown)


_PARITIES = {VLMEVALKIT: "VLMEvalKit", LMMS_EVAL: "lmms-eval"}


def withhold(*names: str) -> Callable[[Sample], Sample]:
    """A change of samples: these columns, which give the answer away, are for scorers and reports alone."""

    def change(sample: Sample) -> Sample:
        hidden = {name: sample.meta[name] for name in names if name in sample.meta}
        shown = {name: value for name, value in sample.meta.items() if name not in hidden}
        return replace(sample, meta=shown, withheld={**sample.withheld, **hidden})

    return change


def read_letter(answer: Any, n_options: int = 26) -> str:
    """The letter of an answer that is written as the position of an option, counted from 0.

    >>> read_letter("1"), read_letter(3)
    ('B', 'D')
    """
    text = str(answer).strip()
    if not text.isdigit() or int(text) >= min(n_options, 26):
        raise ValueError(f"{text!r} is not the position of an option")
    return chr(ord("A") + int(text))
