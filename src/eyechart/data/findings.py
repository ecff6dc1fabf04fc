"""What is found wrong with a benchmark file: kinds of trouble, how grave they are, and the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

_EXAMPLES = 5
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

SEVERITY: dict[str, Severity] = {
    "stopped": "error",
    "malformed-row": "error",
    "duplicate-id": "error",
    "other-benchmark": "error",
    "unused-images": "error",
    "unused-media": "error",
    "no-images": "error",
    "missing-image": "error",
    "bad-image": "error",
    "no-image": "error",
    "answer-not-an-option": "error",
    "empty-question": "error",
    "answer-case": "warning",
    "several-letters": "warning",
    "no-answer": "note",
    "one-option": "warning",
    "repeated-option": "warning",
    "unread-options": "warning",
    "unused-options": "warning",
    "one-option-column": "warning",
    "option-images": "warning",
    "text-images": "warning",
    "unread-images": "warning",
    "unfilled-placeholder": "warning",
    "unplaced-image": "warning",
    "rotations": "warning",
    "published-file": "warning",
    "large-image": "warning",
    "remark": "warning",
    "letter-balance": "note",
    "repeated-id": "note",
}
ABOUT = {
    "stopped": "the file cannot be read further",
    "malformed-row": "rows that cannot be read",
    "duplicate-id": "rows whose id was used before",
    "other-benchmark": "the columns are those of a benchmark, which asks and scores in its own way",
    "unused-images": "columns that look like images and are not sent",
    "unused-media": "columns of videos, audio or documents, which cannot be sent",
    "no-images": "none of the pictures is there (if they lie elsewhere: --image-root)",
    "missing-image": "pictures that are not there",
    "bad-image": "pictures that cannot be sent",
    "answer-not-an-option": "answers that are none of the options",
    "empty-question": "rows without a question",
    "answer-case": "answers in small letters where the options are capital",
    "several-letters": "answers of several letters, which scorers of single choices never accept",
    "no-answer": "rows without an answer; they will be asked but not scored",
    "one-option": "rows with a single option",
    "repeated-option": "rows with two options of the same text",
    "unread-options": "option texts in which no letters were found",
    "unused-options": "columns that look like options; the questions are asked without them",
    "one-option-column": "a single column of options; the questions are asked without it",
    "option-images": "options that look like images; they are sent as text",
    "text-images": "questions with an image in Markdown or HTML; it is sent as text",
    "unread-images": "columns named after images, which hold nothing that can be sent",
    "no-image": "rows without an image",
    "unfilled-placeholder": "rows with more placeholders for images than images",
    "unplaced-image": "rows with an image that none of the placeholders means",
    "rotations": "rotations of other rows, each asked as a question of its own",
    "published-file": "a published file, asked by another rule",
    "large-image": "pictures over 20 MB or 50 million pixels",
    "remark": "what can move the score",
    "letter-balance": "one letter is the answer unusually often",
    "repeated-id": "repeated ids, told apart by a number",
}


@dataclass(slots=True)
class Finding:
    """One kind of trouble: how often, and where first."""

    severity: Severity
    code: str
    about: str
    count: int = 0
    rows: list[int] = field(default_factory=list)  # the first few
    examples: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)  # what to do about them, each said once

    def add(self, row: int, example: str, hint: str) -> None:
        """One more case, of which the first few are kept."""
        self.count += 1
        if len(self.rows) < _EXAMPLES and row:
            self.rows.append(row)
        if len(self.examples) < _EXAMPLES and example:
            self.examples.append(example)
        if len(self.hints) < _EXAMPLES and hint and hint not in self.hints:
            self.hints.append(hint)


@dataclass(slots=True)
class Report:
    """What a look through a file found."""

    name: str
    origin: str
    n_rows: int = 0
    n_images: int = 0
    presence: Counter[str] = field(default_factory=Counter)  # rows that have a question, answer, ...
    letters: Counter[str] = field(default_factory=Counter)  # gold letters
    findings: list[Finding] = field(default_factory=list)
    reasons: tuple[str, ...] = ()  # why the file was taken for what it is

    @property
    def is_clean(self) -> bool:
        """Whether nothing needs to be mended before a run."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "origin": self.origin,
            "n_rows": self.n_rows,
            "n_images": self.n_images,
            "is_clean": self.is_clean,
            "presence": dict(self.presence),
            "letters": dict(self.letters),
            "findings": [asdict(finding) for finding in self.findings],
            "reasons": list(self.reasons),
        }

    def in_order(self) -> list[Finding]:
        """The findings, the gravest first."""
        order = list(SEVERITY)
        return sorted(self.findings, key=lambda one: (_SEVERITIES.index(one.severity), order.index(one.code)))

    def lines(self) -> list[str]:
        lines = [f"{self.name}: {self.n_rows} rows, {self.n_images} pictures ({self.origin})"]
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"  {name}: {count} of {self.n_rows}" for name, count in self.presence.items()]
        if self.letters:
            total = self.letters.total()
            counts = ", ".join(f"{letter} {count}" for letter, count in sorted(self.letters.items()))
            top, most = self.letters.most_common(1)[0]
            lines.append(f"  answers by letter: {counts} (always {top}: {most / total:.1%})")
        for finding in self.findings:
            where = f"; rows {', '.join(map(str, finding.rows))}" if finding.rows else ""
            more = ", ..." if finding.count > len(finding.rows) > 0 else ""
            lines.append(
                f"{finding.severity}: {finding.about}: {finding.count}{where}{more} [{finding.code}]"
            )
            lines += [f"    {example}" for example in finding.examples]
            lines += [f"    hint: {hint}" for hint in finding.hints]
        return lines if self.findings else [*lines, "nothing to complain about"]
