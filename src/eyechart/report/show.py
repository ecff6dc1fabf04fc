"""Samples as a list; one in full: images, what was asked, the reply, what was extracted, why this score."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import pybase64
from rich import box
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from eyechart.errors import UsageError
from eyechart.models.prices import Price, format_usd
from eyechart.readers.objects import list_fields, pair_values, read_object
from eyechart.report.looks import covers, list_crops, list_golds, read_look, tell_reply
from eyechart.report.rows import compute_cost, describe_speed, explain_outcome, to_json_text, to_record
from eyechart.store.reader import Call
from eyechart.terminal import escape_controls, to_one_line
from eyechart.types import Reply, Result, Sample

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

    from eyechart.data.images.boxes import Box

Asked = Sequence[Mapping[str, Any]]
Prices = Mapping[str, Price | None]  # of the "model", the "judge", and every "judge:NAME" of the run
NO_PRICES: Prices = MappingProxyType({})

_OUTCOME_STYLES = {
    "correct": "bold green",
    "partial": "bold yellow",
    "wrong": "bold red",
    "failed": "bold red",
}
_FIELD_STYLES = {"right": "green", "wrong": "red", "missing": "yellow", "extra": "yellow"}
_MOST_SHOWN = 100_000  # characters of one text
_FINISHED = {
    "": "(none given)",
    "length": " (cut off at the token limit)",
    "content_filter": " (withheld)",
    "refusal": " (withheld)",
}


def show_sample(
    result: Result, asked: Asked = (), calls: Sequence[Call] = (), prices: Prices = NO_PRICES
) -> RenderableType:
    """The sample for a terminal. `asked` and `calls` are as in the journal."""
    return Stack(*_parts(result, asked, calls, prices))


def show_json(
    result: Result, asked: Asked = (), calls: Sequence[Call] = (), prices: Prices = NO_PRICES
) -> dict[str, Any]:
    """The same as plain values: the record of the exports, the messages, the judge calls, and the reason."""
    return {
        **to_record(result, prices.get("model")),
        "judge_cost": _judge_cost(calls, prices),
        "asked": [dict(message) for message in asked],
        "calls": [
            {
                "purpose": call.purpose,
                "model": call.model,
                "asked": call.messages,
                "reply": call.reply.text,
            }
            for call in calls
        ],
        "why": explain_outcome(result),
        **({"fields": fields} if (fields := _list_fields(result)) else {}),
    }


def make_samples_table(
    results: Sequence[Result], other: Sequence[str] | None = None, *, with_trial: bool = False
) -> RenderableType:
    """A line per sample: outcome, what was read and what is accepted, question and reply in short.

    `other`: the outcomes of another run, in the same order.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), collapse_padding=True)
    table.add_column("id", no_wrap=True, max_width=28, overflow="ellipsis")
    if with_trial:
        table.add_column("trial", justify="right")
    table.add_column("outcome", no_wrap=True)
    if other is not None:
        table.add_column("other run", no_wrap=True)
    table.add_column("read", max_width=14)
    table.add_column("gold", no_wrap=True, max_width=14, overflow="ellipsis")
    for name in ("question", "reply"):
        table.add_column(name)  # these and "read" shrink: rich gives columns that may wrap what is left

    def cut(text: str, style: str = "") -> Text:
        return Text(text, style=style, no_wrap=True, overflow="ellipsis")

    for index, result in enumerate(results):
        sample, score = result.sample, result.score
        outcome = result.outcome or "pending"
        said = result.reply.text if result.reply else result.failure.reason if result.failure else ""
        cells = [Text(_brief(sample.id))]
        cells += [Text(str(result.trial))] if with_trial else []
        cells += [Text(outcome, style=_OUTCOME_STYLES.get(outcome, "yellow"))]
        cells += [Text(other[index], style=_OUTCOME_STYLES.get(other[index], "yellow"))] if other else []
        read = "" if score is None or score.read is None else score.read
        cells += [cut(_brief(read)), Text(_brief(" | ".join(sample.golds)))]
        cells += [cut(_brief(sample.question, 200)), cut(_brief(said, 200), "" if result.reply else "dim")]
        table.add_row(*cells)
    return table


def _parts(result: Result, asked: Asked, calls: Sequence[Call], prices: Prices) -> Iterator[RenderableType]:
    sample, reply = result.sample, result.reply
    trial = f" · trial {result.trial}" if result.trial else ""
    yield _line(f"sample {sample.id}{trial}", "bold")
    if sample.meta:
        yield _line(" · ".join(f"{key}: {_brief(value)}" for key, value in sample.meta.items()), "dim")
    yield from _section("question")
    yield _body(sample.question)
    if sample.hint:
        yield _body(f"hint: {sample.hint}", "dim")
    yield from _answers(sample)
    if asked:
        yield from _section("asked")
        for message in asked:
            yield from _message(message)
    elif result.sent:
        yield from _section("images")
        for image in result.sent:
            yield _image(image)
    if reply is not None:
        yield from _reply(reply, tell_reply(result), compute_cost(result, prices.get("model")))
    elif result.failure is not None and result.failure.partial:
        yield from _section("what had come of the reply")
        yield _body(result.failure.partial, "dim")
    for call in calls:
        if call.purpose.startswith("judge:"):  # earlier rounds are part of `asked`
            yield from _section(call.purpose)
            for message in call.messages:
                yield from _message(message)
            yield _line(f"{call.model or 'judge'}:", "italic")
            yield _body(call.reply.text or "(empty)")
    if (judge_cost := _judge_cost(calls, prices)) is not None:
        yield _line(f"the judge: {format_usd(judge_cost)} USD", "dim")
    if read_look(result) is not None and (golds := list_golds(result)):
        covered = [any(covers(crop.box, gold) for crop in list_crops(result)) for gold in golds]
        yield _line(f"evidence: a crop covers {sum(covered)} of {len(golds)} gold boxes", "dim")
    yield from _section("outcome")
    outcome = result.outcome or "pending"
    yield _line(outcome, _OUTCOME_STYLES.get(outcome, "bold yellow"))
    yield _body(explain_outcome(result))
    if fields := _list_fields(result):
        yield from _section("fields")
        for one in fields:
            line = f"{one['status']}: {one['name']} · gold {_value(one['gold'])} · read {_value(one['read'])}"
            yield _body(line, _FIELD_STYLES[one["status"]])
    elif result.score is not None and result.score.detail:
        yield _body(to_json_text(result.score.detail), "dim")


def _list_fields(result: Result) -> list[dict[str, Any]]:
    """The fields of an answer that is an object: status, value in the gold, value that was read."""
    score = result.score
    if score is None or "fields" not in score.detail:
        return []
    statuses = score.detail["fields"]
    golds = [gold for text in result.sample.golds if (gold := read_object(text)) is not None]
    answer = read_object(score.read or "") or {}
    names = ("name", "status", "gold", "read")
    gold = max(golds, key=lambda one: len(statuses.keys() & set(list_fields(one))), default={})
    return [dict(zip(names, one, strict=True)) for one in pair_values(statuses, gold, answer)]


def _value(value: Any) -> str:
    return "—" if value is None else _brief(value)


def _answers(sample: Sample) -> Iterator[RenderableType]:
    """Options with the gold marked, or the golds of an open question."""
    for letter, text in sample.choices.items():
        is_gold = letter in sample.golds
        yield _body(f"{'→' if is_gold else ' '} {letter}. {text}", "green" if is_gold else "")
    if not sample.choices and sample.choices_text:
        yield _body(sample.choices_text)
    if not sample.golds:
        yield _body("no public answer", "dim")
    elif not set(sample.golds) <= set(sample.choices):
        yield _body("gold: " + " | ".join(sample.golds), "green")


def _message(message: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield _line(f"{message.get('role', '?')}:", "italic")
    if not message.get("parts"):  # a class that takes all rounds at once may not return each
        yield _body("(not recorded)", "dim")
    for part in message.get("parts", ()):
        if "image" in part:
            yield _image(part["image"])
        else:
            yield _body(str(part.get("text", "")))
    for call in message.get("calls") or ():
        yield _body(f"{call.get('name')}({call.get('arguments')})", "cyan")


def _image(image: Mapping[str, Any]) -> RenderableType:
    """Size, changes and origin of an image: enough to find it."""
    size = f"{image.get('width', '?')}×{image.get('height', '?')}"
    n_bytes = image.get("bytes")
    facts = [f"image {size}", str(image.get("mime", "")), f"{n_bytes:,} bytes" if n_bytes else ""]
    facts += [name for name in ("resized", "reencoded") if image.get(name)]
    if isinstance(look := image.get("look"), Mapping) and "parent" in look:
        x1, y1, x2, y2 = look["box"]
        facts += [f"{x1}, {y1} to {x2}, {y2} of the original, cut from image {look['parent']}"]
        facts += [f"asked for: {look['label']}" if look.get("label") else ""]
    facts += [f"from {image['origin']}" if image.get("origin") else ""]
    facts += [f"sha256 {str(image['sha256'])[:12]}" if image.get("sha256") else ""]
    return _body(to_one_line(" · ".join(fact for fact in facts if fact)), "cyan")


def _judge_cost(calls: Sequence[Call], prices: Prices) -> float | None:
    """The cost of the judge's calls in USD; None if a part is not known or there were no calls."""
    total = None
    for call in calls:
        if not call.purpose.startswith("judge:"):
            continue
        price = prices.get(f"judge:{call.model}", prices.get("judge"))
        if price is None or call.reply.usage is None:
            return None
        total = (total or 0.0) + price.cost(call.reply.usage)
    return total


def _reply(reply: Reply, said: str, cost: float | None) -> Iterator[RenderableType]:
    if reply.thinking and reply.thinking not in said:
        yield from _section("thinking")
        yield _body(reply.thinking, "dim")
    yield from _section("reply")
    yield _body(said) if said else _body("(empty)", "dim")
    finished = f"finish: {reply.finish_reason}{_FINISHED.get(reply.finish_reason, '')}"
    facts = [finished, describe_speed(reply), reply.model]
    if usage := reply.usage:
        reasoning = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
        facts.append(f"tokens: {usage.prompt_tokens:,} in, {usage.completion_tokens:,} out{reasoning}")
    facts.append("" if cost is None else f"{format_usd(cost)} USD")
    yield _line(" · ".join(fact for fact in facts if fact), "dim")
    if reply.evidence:
        yield _line(f"evidence: {to_json_text(reply.evidence)}", "dim")


def _section(name: str) -> Iterator[RenderableType]:
    yield Text("")
    yield Rule(Text(name), align="left", style="dim")


def _line(text: str, style: str = "") -> RenderableType:
    """One line; newlines in untrusted text are removed."""
    return Text(to_one_line(text), style=style)


def _body(text: str, style: str = "") -> RenderableType:
    """Untrusted text, indented and wrapped; control characters are shown, not executed."""
    more = len(text) - _MOST_SHOWN  # wrapping more would take minutes
    if more > 0:
        text = f"{text[:_MOST_SHOWN]}… ({more:,} characters more; --json shows them)"
    return Padding(Text(escape_controls(text), style=style, overflow="fold"), (0, 0, 0, 2))


def _brief(value: Any, limit: int = 60) -> str:
    text = to_one_line(value if isinstance(value, str) else to_json_text(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"


# -- Images inside a terminal, where it can show them: the protocols of kitty and iTerm2, and sixel
#
# No terminal is asked what it can do: an answer could arrive late and end up in the shell. What the
# environment says is enough for the common ones; ``--images`` or `EYECHART_IMAGES` decides for the others.
# Inside tmux and screen nothing is sent, unless it is asked for.

Protocol = Literal["kitty", "iterm2", "sixel", "none"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
VARIABLE = "EYECHART_IMAGES"
_CHUNK = 4096  # characters: kitty takes no more at a time
_MAX_SIDE = 640  # pixels
_SIXEL_COLOURS = 128
TARGET_COLOUR, OTHER_COLOUR = "#e5322d", "#2f6fed"  # of boxes, as on pages: red and blue
_OF_SIXEL = ("foot", "mlterm", "contour", "yaft")


def choose_protocol(
    environment: Mapping[str, str], *, is_terminal: bool, asked: str | None = None
) -> Protocol:
    """How to show images here; "none" if it is not known that the terminal can.

    >>> choose_protocol({"TERM": "xterm-kitty"}, is_terminal=True)
    'kitty'
    >>> choose_protocol({"TERM": "xterm-256color"}, is_terminal=True)
    'none'
    """
    said = asked or environment.get(VARIABLE) or "auto"
    if said != "auto":
        if said not in PROTOCOLS:
            raise UsageError(
                f"images: unknown protocol {said!r}", hint=f"use one of auto, {', '.join(PROTOCOLS)}"
            )
        return said
    term = environment.get("TERM", "")
    if not is_terminal or environment.get("TMUX") or term.startswith(("screen", "tmux", "dumb")):
        return "none"
    program = environment.get("TERM_PROGRAM", "")
    if term in ("xterm-kitty", "xterm-ghostty") or environment.get("KITTY_WINDOW_ID") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return "sixel" if term.startswith(_OF_SIXEL) else "none"


def encode_image(
    data: bytes, protocol: Protocol, boxes: Sequence[Box] = (), size: tuple[int, int] = (0, 0)
) -> str:
    """The escape sequence that shows an image; empty if the protocol is "none".

    `data` is a file that was checked (`data.images`): it is decoded here, and made smaller. `boxes` are drawn
    into it; they are in pixels of an image of this `size`.
    """
    if protocol == "none":
        return ""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as opened:
        opened.draft("RGB", (2 * _MAX_SIDE, 2 * _MAX_SIDE))
        pixels = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
    pixels.thumbnail((_MAX_SIDE, _MAX_SIDE))
    if boxes:
        _draw(pixels, boxes, size)
    if protocol == "sixel":
        return _encode_sixel(pixels)
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG")
    text = pybase64.b64encode(buffer.getvalue()).decode()
    if protocol == "iterm2":
        shape = f"size={buffer.tell()};width={pixels.width}px;preserveAspectRatio=1"
        return f"\x1b]1337;File=inline=1;{shape}:{text}\x07\n"
    return "".join(_list_chunks(text)) + "\n"


def _draw(pixels: Pixels, boxes: Sequence[Box], size: tuple[int, int]) -> None:
    from PIL.ImageDraw import Draw

    drawing = Draw(pixels)
    across, down = pixels.width / size[0], pixels.height / size[1]
    for one in boxes:
        corners = (one.left * across, one.top * down, one.right * across, one.bottom * down)
        drawing.rectangle(corners, outline=TARGET_COLOUR if one.is_target else OTHER_COLOUR, width=2)


def _list_chunks(text: str) -> Iterator[str]:
    """PNG for kitty: the first chunk says what to do, all but the last that more follows."""
    for start in range(0, len(text), _CHUNK):
        keys = "a=T,f=100,q=2," if start == 0 else ""
        yield f"\x1b_G{keys}m={int(start + _CHUNK < len(text))};{text[start : start + _CHUNK]}\x1b\\"


def _encode_sixel(pixels: Pixels) -> str:
    """Bands of six rows; in each band one line per colour that occurs, equal columns counted."""
    from PIL import Image

    if pixels.mode == "RGBA":
        white = Image.new("RGB", pixels.size, "white")
        white.paste(pixels, mask=pixels.getchannel("A"))
        pixels = white
    reduced = pixels.quantize(_SIXEL_COLOURS)
    palette = reduced.getpalette() or []
    width, height = reduced.size
    rows = [reduced.crop((0, y, width, y + 1)).tobytes() for y in range(height)]
    used = sorted({colour for row in rows for colour in row})
    parts = ["\x1bPq", f'"1;1;{width};{height}']
    for colour in used:
        red, green, blue = (round(100 * part / 255) for part in palette[3 * colour : 3 * colour + 3])
        parts.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        band = rows[top : top + 6]
        colours = sorted({colour for row in band for colour in row})
        parts += [f"#{colour}{_encode_band(band, colour)}$" for colour in colours]
        parts.append("-")
    return "".join(parts) + "\x1b\\\n"


def _encode_band(band: list[bytes], colour: int) -> str:
    codes = (
        chr(63 + sum(1 << row for row, found in enumerate(column) if found == colour))
        for column in zip(*band, strict=True)
    )
    runs = ((code, len(list(same))) for code, same in groupby(codes))
    return "".join(f"!{n}{code}" if n > 3 else code * n for code, n in runs)
