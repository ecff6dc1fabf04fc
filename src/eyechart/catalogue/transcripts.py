"""Transcripts and captions: OCRBench v2, CC-OCR, OmniDocBench, COCO captions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare, withhold
from eyechart.catalogue.prompts import ask, ask_with
from eyechart.types import Sample

_hide_boxes = withhold("bbox", "content")


def prepare_ocrbench(sample: Sample) -> Sample:
    """Boxes and texts are the answer; Chinese transcripts need the words of Chinese text."""
    if str(sample.meta.get("category", "")).endswith(" cn"):
        from eyechart.score.chinese_words import require_jieba

        require_jieba("the Chinese part of OCRBench v2")
    if not sample.golds and sample.meta.get("content"):  # text spotting: the texts at their places
        sample = replace(sample, golds=(str(sample.meta["content"]),))
    return _hide_boxes(sample)


def change_ocrbench(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of VLMEvalKit's file."""
    without = {name: row.get(name) or f"without {name}" for name in ("eval", "bbox", "content")}
    answers = row["answers"]
    listed = answers if isinstance(answers, list) else [answers]
    return {"index": row["id"], "category": row["type"], "answer": str(listed)} | {
        name: value if isinstance(value, str) else str(value) for name, value in without.items()
    }


for _name, _file, _size in (
    ("ocrbench-v2", "OCRBench_v2", "10,000 questions"),
    ("ocrbench-v2-mini", "OCRBench_v2_MINI", "a part of 10,000 questions"),
):
    declare(
        _name,
        "31 kinds of tasks on text in images, English and Chinese",
        group="documents",
        size=_size,
        paper="https://arxiv.org/abs/2501.00321",
        licence="MIT",
        file=_file,
        hub="ling99/OCRBench_v2:test" if _name == "ocrbench-v2" else (),
        also_hub=["QYWH/ocrbench_v2:OCRBench_v2.tsv"] if _name == "ocrbench-v2" else (),
        change_row=change_ocrbench,
        prepare=prepare_ocrbench,
        prompt=ask(),
        scorer="ocrbench-v2",
        group_by=("category",),
        aggregate="ocrbench-v2",
        metric="by task: words found, TEDS, IoU, BLEU, edit distance; means of 8 English and 5 Chinese parts",
        parity="VLMEvalKit",
        note="METEOR of transcripts matches words exactly, without WordNet's stems and synonyms, so transcripts score slightly lower. "
        "The Chinese part needs the extra `[multi]`.",
    )

declare(
    "ccocr",
    "text in scenes and ten languages, documents, key information",
    group="documents",
    size="7,058 images in 39 parts",
    paper="https://arxiv.org/abs/2412.02210",
    licence="MIT",
    file="CCOCR",
    prompt=ask(),
    scorer="ccocr",
    group_by=("category", "l2-category"),
    aggregate="ccocr",
    metric="F1 of words, edit distance, TEDS, tree edit distance of fields; mean of four kinds",
    parity="VLMEvalKit",
)

_TO_MARKDOWN = r"""You are an AI assistant specialized in converting PDF images to Markdown format. Please follow these instructions for the conversion:

    1. Text Processing:
    - Accurately recognize all text content in the PDF image without guessing or inferring.
    - Convert the recognized text into Markdown format.
    - Maintain the original document structure, including headings, paragraphs, lists, etc.

    2. Mathematical Formula Processing:
    - Convert all mathematical formulas to LaTeX format.
    # - Enclose inline formulas with \( \). For example: This is an inline formula \( E = mc^2 \)
    - Enclose block formulas with \\[ \\]. For example: \[ \frac{-b \pm \sqrt{b^2 - 4ac}}{2a} \]

    3. Table Processing:
    - Convert tables to HTML format.
    - Wrap the entire table with <table> and </table>.

    4. Figure Handling:
    - Ignore figures content in the PDF image. Do not attempt to describe or convert images.

    5. Output Format:
    - Ensure the output Markdown document has a clear structure with appropriate line breaks between elements.
    - For complex layouts, try to maintain the original document's structure and format as closely as possible.

    Please strictly follow these guidelines to ensure accuracy and consistency in the conversion. Your task is to accurately convert the content of the PDF image into Markdown format without adding any extra explanations or comments.
    """


declare(
    "omnidocbench",
    "pages of nine kinds of documents, to be written in Markdown",
    group="documents",
    size="981 pages",
    paper="https://arxiv.org/abs/2412.07626",
    licence="see its page",
    file="OmniDocBench",
    hub="ouyanglinke/OmniDocBench_tsv:OmniDocBench.tsv",
    change_file_row=lambda row: {"question": row.get("question") or "Write this page in Markdown."},
    prompt=ask_with(lambda sample: _TO_MARKDOWN),
    scorer="omnidocbench",
    aggregate="omnidocbench",
    metric="edit distance of texts, formulas, tables and order; TEDS",
    parity="VLMEvalKit (prompt and metrics); the matching of blocks is eyechart's own",
    note="The official matching of blocks is more elaborate, so numbers differ from published ones. CDM, which compares "
    "rendered formulas, needs LaTeX and is not computed.",
)

DESCRIBE = (
    "Please describe this image in general. Directly provide the description, do not include prefix like "
    '"This image depicts". '
)

declare(
    "coco-caption-val",
    "photographs, five captions each",
    group="captions",
    size="5,000 images",
    paper="https://arxiv.org/abs/1504.00325",
    licence="CC BY 4.0",
    file="COCO_VAL",
    hub="lmms-lab/COCO-Caption2017:val",
    also_hub=["lmms-lab-encoder/COCO-Caption2017"],
    change_row=lambda row: {"index": row["id"], "question": DESCRIBE, "answer": list(row["answer"])},
    change_file_row=lambda row: {"question": row.get("question") or DESCRIBE},
    prompt=ask(),
    scorer="rouge-l",
    aggregate="captions",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_with(lambda sample: "Provide a one-sentence caption for the provided image."),
            scorer="rouge-l-words",
            more={"aggregate": "captions-words"},
        )
    },
    metric="CIDEr; BLEU, ROUGE-L",
    parity="VLMEvalKit; lmms-eval but for its tokenizer",
    note="VLMEvalKit compares texts as they are, which gives lower numbers than in papers; lmms-eval compares words without "
    "case and punctuation, which eyechart splits by its own rules instead of a Java program. METEOR and SPICE need Java and are not computed.",
)
