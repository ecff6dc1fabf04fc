"""COCO captions (Chen et al., 2015): BLEU, ROUGE-L and CIDEr, as pycocoevalcap computes them.

BLEU: Papineni et al., 2002. ROUGE-L: Lin, 2004. CIDEr: Vedantam et al., 2015
(https://arxiv.org/abs/1411.5726). VLMEvalKit (ms-vlmeval 0.0.20) hands texts over as they are, split at spaces,
without the tokenizer of the COCO evaluation, which lower-cases and drops punctuation: its numbers are lower
than those of papers. ``rouge-l`` and ``captions`` do as VLMEvalKit; ``rouge-l-words`` and ``captions-words``
tokenize first, by rules that follow the Penn Treebank tokenizer for captions as people write them. A row
scores its ROUGE-L; the aggregates have all of them, CIDEr over the whole set, as it weighs words by how many
pictures they describe. METEOR and SPICE are Java programs and are not here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import scorer
from eyechart.score.aggregates import declare_aggregate
from eyechart.score.reading import score_official
from eyechart.score.text import get_answers, list_accepted
from eyechart.types import Card, MetricTable, Reply, Sample, Score, ScoredRow

DESCRIBE = (
    "Please describe this image in general. Directly provide the description, do not include prefix like "
    '"This image depicts". '
)

Entry(
    "coco-caption-val",
    "photographs, five captions each",
    Card("captions", "5,000 images", "https://arxiv.org/abs/1504.00325", "CC BY 4.0"),
    aliases=("coco2017_cap_val",),
    file="COCO_VAL",
    hub="lmms-lab/COCO-Caption2017:val",
    change_row=lambda row: {"index": row["id"], "question": DESCRIBE, "answer": list(row["answer"])},
    change_file_row=lambda row: {"question": row.get("question") or DESCRIBE},
    prompt=ask(),
    scorer="rouge-l",
    aggregate="captions",
    lmms=Kit(
        max_tokens=64,
        prompt=ask_with(lambda sample: "Provide a one-sentence caption for the provided image."),
        scorer="rouge-l-words",
        aggregate="captions-words",
    ),
    metric="CIDEr; BLEU, ROUGE-L",
    parity="VLMEvalKit; lmms-eval but for its tokenizer",
    note="VLMEvalKit compares texts as they are, which gives lower numbers than in papers; lmms-eval compares words without "
    "case and punctuation, which eyechart splits by its own rules instead of a Java program. METEOR and SPICE need Java and are not computed.",
).register()


MAX_WORDS = 2000  # of a caption
MAX_N = 4
_BETA = 1.2
_SIGMA = 6.0
_SMALL, _TINY = 1e-9, 1e-15
Gram = tuple[str, ...]


@scorer("rouge-l", version="2", parity="official")
def score_rouge(reply: Reply, sample: Sample) -> Score:
    """ROUGE-L of a caption against the most similar of its references."""
    return _score(reply, sample, "rouge-l", str)


@scorer("rouge-l-words", version="2")
def score_rouge_words(reply: Reply, sample: Sample) -> Score:
    """ROUGE-L of a caption's words, without case and punctuation."""
    return _score(reply, sample, "rouge-l-words", tokenize)


def _score(reply: Reply, sample: Sample, route: str, prepare: Callable[[str], str]) -> Score:
    references = list_accepted(get_answers(sample)) if sample.golds else []
    value = compute_rouge(prepare(reply.text), list(map(prepare, references)))
    score = score_official(reply, sample, value=value, read=reply.text.strip() or None, route=route)
    return replace(score, detail={"caption": reply.text})


_ENDING = re.compile(r"(n't|'(?:s|m|d|re|ve|ll))(?!\w)")
_WORD = re.compile(r"n't|'(?:s|m|d|re|ve|ll)(?!\w)|\w+(?:[-./]\w+)*|[$%&#@]")


def tokenize(text: str) -> str:
    """The words of a caption, in lower case and without punctuation, separated by spaces.

    >>> tokenize("A man's hat; it isn't well-worn, no.")
    "a man 's hat it is n't well-worn no"
    """
    return " ".join(_WORD.findall(_ENDING.sub(r" \1", text.lower())))


def compute_rouge(caption: str, references: Sequence[str]) -> float:
    """The F-measure of the longest common subsequence: its best precision and its best recall.

    >>> round(compute_rouge("a dog runs", ["the dog runs", "a cat"]), 4)
    0.6667
    """
    from rapidfuzz.distance import LCSseq

    words, *golds = (text.split(" ")[:MAX_WORDS] for text in (caption, *references))
    common = [(LCSseq.similarity(words, gold), len(gold)) for gold in golds]
    precision = max((n / len(words) for n, _ in common), default=0.0)
    recall = max((n / length for n, length in common), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + _BETA**2) * precision * recall / (recall + _BETA**2 * precision)


def _count_grams(text: str) -> Mapping[Gram, int]:
    words = text.split()[:MAX_WORDS]
    return Counter(tuple(words[at : at + n]) for n in range(1, MAX_N + 1) for at in range(len(words) - n + 1))


def compute_bleu(pairs: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
    """BLEU-1 to BLEU-4 of a set of captions with their references.

    >>> [round(value, 3) for value in compute_bleu([("a dog runs fast", ["a dog runs fast now"])])]
    [0.779, 0.779, 0.779, 0.779]
    """
    right, said = [0] * MAX_N, [0] * MAX_N
    n_words = n_reference = 0
    for caption, references in pairs:
        length = len(caption.split()[:MAX_WORDS])
        lengths = [len(one.split()[:MAX_WORDS]) for one in references]
        n_words += length
        n_reference += min(lengths, key=lambda other: (abs(other - length), other), default=0)
        most: Counter[Gram] = Counter()
        for one in references:
            most |= Counter(_count_grams(one))
        for gram, n in _count_grams(caption).items():
            right[len(gram) - 1] += min(n, most[gram])
        for n in range(MAX_N):
            said[n] += max(0, length - n)
    product, values = 1.0, []
    for n in range(MAX_N):
        product *= (right[n] + _TINY) / (said[n] + _SMALL)
        values.append(product ** (1 / (n + 1)))
    ratio = (n_words + _TINY) / (n_reference + _SMALL)
    return [value * math.exp(1 - 1 / ratio) for value in values] if ratio < 1 else values


def compute_cider(pairs: Sequence[tuple[str, Sequence[str]]]) -> float:
    """CIDEr of a set of captions; 10 at most. A single caption has no rare words, and scores 0.

    >>> two = [("a red bus", ["a red bus"]), ("two cats sleep", ["two cats sleep"])]
    >>> round(compute_cider(two), 4)
    7.5
    """
    if not pairs:
        return 0.0
    frequency = Counter(
        gram for _, references in pairs for gram in {g for one in references for g in _count_grams(one)}
    )
    log_n = math.log(len(pairs))

    def weigh(text: str) -> tuple[list[dict[Gram, float]], list[float], int]:
        vectors: list[dict[Gram, float]] = [{} for _ in range(MAX_N)]
        length = 0
        for gram, n in _count_grams(text).items():
            vectors[len(gram) - 1][gram] = n * (log_n - math.log(max(1.0, frequency[gram])))
            length += n * (len(gram) == 2)
        return vectors, [math.sqrt(sum(v * v for v in vector.values())) for vector in vectors], length

    total = 0.0
    for caption, references in pairs:
        mine, norms, length = weigh(caption)
        for one in references:
            theirs, their_norms, their_length = weigh(one)
            penalty = math.exp(-((length - their_length) ** 2) / (2 * _SIGMA**2))
            for n in range(MAX_N):
                if norms[n] and their_norms[n]:
                    shared = sum(
                        min(value, theirs[n].get(gram, 0.0)) * theirs[n].get(gram, 0.0)
                        for gram, value in mine[n].items()
                    )
                    total += penalty * shared / (norms[n] * their_norms[n]) / MAX_N / len(references) * 10
    return total / len(pairs)


def _count_pair(rows: Sequence[ScoredRow], *, prepare: Callable[[str], str]) -> Mapping[Hashable, float]:
    found: Counter[Hashable] = Counter()
    for row in rows:
        answers = list_accepted(row.golds[0] if len(row.golds) == 1 else row.golds)
        caption = str(row.detail.get("caption", row.read or ""))
        found[prepare(caption), tuple(map(prepare, answers))] += 1
    return found


@declare_aggregate("captions", partial(_count_pair, prepare=str), headline="CIDEr", has_interval=False)
@declare_aggregate(
    "captions-words", partial(_count_pair, prepare=tokenize), headline="CIDEr", has_interval=False, parity=""
)
def _combine_captions(total: Mapping[Hashable, float]) -> MetricTable:
    """CIDEr, ROUGE-L and BLEU over the whole set: of texts as they are, or of words as `tokenize` finds them."""
    pairs = [pair for pair, n in total.items() for _ in range(int(n)) if isinstance(pair, tuple)]
    rouge = [compute_rouge(caption, references) for caption, references in pairs]
    bleu = compute_bleu(pairs)
    return {
        "": {
            "CIDEr": compute_cider(pairs),
            "ROUGE-L": sum(rouge) / len(rouge) if rouge else None,
            **{f"BLEU-{n}": value for n, value in enumerate(bleu, 1)},
        }
    }
