"""The look loop as the vectors ask for it: every function calls the package and holds no rules of its own."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import math
from typing import Any, get_args

import numpy as np
from PIL import Image

from eyechart.look import crops as c
from eyechart.look import dialogue as d
from eyechart.look import evidence as e
from eyechart.look import records as k
from eyechart.look import replies as r
from eyechart.pipelines.insight_o3 import report as o3
from eyechart.types import ToolCall

REFUSALS = (c.ProtocolError,)


def boxes(kind: str, input: dict[str, Any]) -> Any:
    match kind:
        case "o3_first":
            return c.present_whole(tuple(input["size"]), input["max_area"]).size
        case "o3_crop":
            v = c.cut_region(tuple(input["size"]), input["box"], crop_rules(input))
            return v and {"box": v.box, "size": v.size}
        case "o3_to_original":
            return c.to_original(input["box"], tuple(input["source"]), tuple(input["target"]))
        case "o3v2_zoom":
            p = c.View(
                source=0,
                original=tuple(input["original"]),
                box=tuple(input["parent_box"]),
                sizes=(tuple(input["display"]),),
            )
            rules = c.Rules(zoom=input["zoom"], crop_max_area=input["max_area"])
            v = c.zoom_found(p, 0, input["box"], tuple(input["processed"]), rules)
            return v and {"on_presented": v.on_parent, "on_original": v.box, "size": v.size}
        case "doc_present":
            return c.present_small(tuple(input["size"]), input["rescale"], input["max_area"])
        case "doc_rescale":
            return c.raise_scale(
                input["sizes"], input["rescale"], input["pixels_at_least"], input["max_area"]
            )
        case "doc_shrink":
            s = tuple(input["size"])
            out = []
            for _ in range(4):
                s = c.shrink_to_half(s, input["max_area"])
                out.append(s)
            return out
        case "doc_zoom":
            views = [
                c.show(c.View(source=i, original=tuple(o), box=(0, 0, *o)), tuple(p), c.ZOOM_RULES)
                for i, (o, p) in enumerate(zip(input["originals"], input["presented"], strict=True))
            ]
            return [zoomed(views, x, input) for x in input["calls"]]
        case "verl_tool":
            return c.verl_box(input["size"], input["box"])
        case "qwen_tool":
            try:
                b = c.qwen_box(input["size"], input["box"])
                return {"box": b, "size": c.qwen_size(b)}
            except Exception as e:
                return {"error": type(e).__name__}
    raise NotImplementedError


def crop_rules(input: dict[str, Any]) -> c.Rules:
    return c.Rules(
        margin=input["expand_ratio"],
        min_side=input["min_side"],
        min_area=input["min_area"],
        crop_max_area=input["max_area"],
    )


def zoomed(views: list[c.View], call: Any, input: dict[str, Any]) -> dict[str, Any]:
    rules = c.Rules(
        zoom=input["zoom"], max_area=input["presented_max_area"], crop_max_area=input["crop_max_area"]
    )
    v = d.run_tool(ToolCall(d.TOOL, call if isinstance(call, str) else json.dumps(call)), views, rules)
    if not isinstance(v, c.View):
        return {"error": v}
    views.append(v)
    return {
        "image": len(views) - 1,
        "parent": v.parent,
        "source": v.source,
        "on_presented": v.on_parent,
        "on_original": v.box,
        "size": v.size,
        "before_zoom": c.side_lengths(v.on_parent or ()),
    }


WORDS = {
    k: f"[{k.replace('_', ' ')}]"
    for k in (
        "system",
        "crop",
        "not_found",
        "last",
        "format",
        "no_such_image",
        "not_located",
        "no_usable_view",
        "separator",
    )
} | {"refine": "[refine {n}]", "crop_n": "[crop {n}]"}
CODES = {k: f"[{k}]" for k in get_args(c.ToolError)}


def short(turn: d.Turn, kind: str) -> str:
    def one(p: str | c.View) -> str:
        if isinstance(p, str):
            return p.strip()
        w = "x".join(map(str, p.size))
        return f"<{w}>" if kind == "doc" else f"<{p.mime[6:]} {w}>"

    return f"{turn.role}: " + " ".join(map(one, turn.parts)) if turn.parts else ""


def crop(v: c.View) -> dict[str, Any]:
    return {"parent": v.parent, "source": v.source, "on_original": v.box, "size": v.size}


def loop(kind: str, input: dict[str, Any]) -> Any:
    s = input["settings"]
    sizes = [tuple(x) for x in input["images"]]
    names = {
        "max_tool_calls": "max_looks",
        "max_user_turns": "max_looks",
        "max_round_retries": "attempts",
        "rescale": "scale",
        "max_parallel_calls": "calls_per_turn",
    }
    same = {"zoom", "crop_max_area", "png_max_area", "feedback", "max_area"}
    rules = dataclasses.replace(
        c.ZOOM_RULES if kind.startswith("doc") else c.Rules(),
        **{names.get(k, k): v for k, v in s.items() if k in names or k in same},
    )
    if kind == "o3":
        rules = dataclasses.replace(rules, crop_max_area=rules.max_area)
        g = d.search_one(input["question"], sizes[0], rules, WORDS)
    elif kind == "o3v2":
        rules = dataclasses.replace(rules, crop_max_area=rules.max_area)
        g = d.search_several(input["question"], sizes, rules, WORDS)
    else:
        tokens = {CODES["empty_box"]: 37, CODES["empty_on_original"]: 66}

        def count(p: str | c.View) -> int:
            return (
                tokens.get(p, len(p))
                if isinstance(p, str)
                else math.ceil(p.size[0] / 32) * math.ceil(p.size[1] / 32)
            )

        limits = (
            d.Limits(
                context=s["prompt_length"],
                response=s["response_length"],
                max_tokens=s["max_tokens"],
                count=count,
            )
            if kind == "doc_length"
            else None
        )
        g = d.zoom_by_tool(
            input["question"], sizes, rules, CODES, max_assistant=s["max_assistant_turns"], limits=limits
        )
    requests, located = [], []
    replies, boxes_ = iter(input.get("reasoner") or input["replies"]), iter(input.get("searcher", ()))
    send: Any = None
    o: d.Outcome | None = None
    try:
        while True:
            step = g.send(send)
            if isinstance(step, d.Ask):
                requests.append([short(t, kind) for t in step.turns])
                got = next(replies)
                if isinstance(got, str):
                    got = {"text": got[: step.max_tokens]}
                send = got and d.Heard(got["text"], got.get("finish", "stop"))
            else:
                located.append(step.description if kind == "o3" else [step.number, step.description])
                b = next(boxes_)
                send = b and d.Found(tuple(b), tuple(input.get("processed", (1000, 1000))))
    except StopIteration as ended:
        o = ended.value
    assert o is not None
    if kind.startswith("doc"):
        out = {
            "messages": [short(t, "doc") for t in o.turns],
            "stop": o.stop,
            "failure_reasons": o.reasons,
            "critical_failure": o.is_critical,
            "truncated": o.is_truncated,
            "assistant_turns": len(o.said),
            "num_turns": o.n_calls + len(o.said) + 1,
            "n_tool_calls": max((o.n_calls + len(o.said) - 1) // 2, 0),
            "crops": [crop(v) for v in o.crops],
        }
        return out | (
            {"shrunk": o.n_shrunk, "prompt_tokens": o.prompt_tokens} if kind == "doc_length" else {}
        )
    out = {
        "requests": (requests if len(requests) <= 3 else [requests[0], requests[-1]])
        if kind == "o3"
        else (requests if len(requests) <= 2 else requests[-1:]),
        "n_requests": len(requests),
        "located": located,
        "n_tool_calls": o.n_calls,
        "critical_failure": o.is_critical,
        "failure_reasons": o.reasons,
        "answer": o.answer,
        "stop": o.stop,
    }
    if kind == "o3v2":
        out["crops"] = [crop(v) for v in o.crops]
    if s.get("feedback"):
        out["feedback"] = o.feedback
    return out


def calls(kind: str, input: dict[str, Any]) -> Any:
    match kind:
        case "o3":
            return r.read_description(input["reply"])
        case "o3v2":
            x = r.read_indexed_call(input["reply"])
            return x and {"description": x.description, "img_idx": x.image}
        case "o3v2_closed":
            return r.close_tags(input["reply"])
        case "o3_feedback":
            return r.read_feedback(input["reply"])
        case "hermes":
            cs, content = r.read_tool_calls(input["reply"])
            return {"calls": [{"name": x.name, "arguments": x.arguments} for x in cs], "content": content}
        case "searcher":
            return r.read_own_zoom(input["reply"])
        case "native":
            return r.write_tool_calls(input["content"], input["tool_calls"])


def answers(kind: str, input: dict[str, Any]) -> Any:
    match kind:
        case "o3":
            return r.read_boxed(input["reply"])
        case "o3v2":
            return r.read_last_answer(input["reply"])
        case "searcher":
            return r.read_found_box(input["reply"])
        case "final":
            a = r.read_final_answer(input["dialogue"], is_plain_allowed=input["plain_allowed"])
            return {"answer": a, "has_answer": bool(a)}
        case "format":
            strict, simple = r.rate_format(input["dialogue"], must_answer=input["must_have_answer"])
            return {"strict": strict, "simple": simple}
        case "doc_judged_text":
            return r.text_to_judge(input["reply"])
        case "doc_judge_reply":
            return r.read_judge(input["reply"])


def metrics(kind: str, input: dict[str, Any]) -> Any:
    match kind:
        case "iou":
            return e.iou(input["a"], input["b"])
        case "mean_overlap":
            return e.mean_overlap(input["boxes"])
        case "tool_iou":
            return e.tool_iou(
                input["crops"], input["gold"], tuple(input["processed"]), tuple(input["original"])
            )
        case "evidence":
            return e.measure(
                input["pages"],
                [
                    e.Crop(x["source_original_img_idx"], x["bbox_on_original"], x["parent_presented_img_idx"])
                    for x in input["crops"]
                ],
                [e.Evidence(x["page_id"], x["bbox"]) for x in input["evidence"]],
                limit=input["limit"],
                coverage=input["coverage"],
                redundant_iou=input["redundant_iou"],
            )
        case "cell":
            rows, summary = e.summarize_cell(
                input["samples"], n_expected=input["expected_samples"], n_trials=input["trials"]
            )
            same = {"benchmark": "b", "rescale": "0.25"}
            return {"trials": [same | row for row in rows], "summary": same | summary}


def records(kind: str, input: dict[str, Any]) -> Any:
    match kind:
        case "doc_image_ref":
            names = {"index": "number"}
            return k.write_image_ref(**{names.get(a, a): b for a, b in input.items()})
        case "export_assistant":
            return k.type_reply(input["reply"])
        case "native_messages":
            fmt = input["image_format"]
            try:
                files = [encode(Image.new("RGB", tuple(s)), fmt) for s in input["images"]]
            except KeyError:  # Pillow knows no such format, here and there
                return {"raises": "KeyError"}
            return name_images(
                k.write_native(
                    input["messages"],
                    files,
                    f"image/{fmt.lower()}",
                    detail=input["image_detail"],
                    tool_as_user=input["tool_as_user"],
                )
            )
        case "plain":
            if input["fails"]:
                return [o3.make_inference_result(fail_reason="api_error")]
            p = input["image"]
            view = c.present_whole((p["width"], p["height"]), input["max_pixels"] or 0)
            image = k.image_part(view.encode(draw(**p)), view.mime, input["image_url_extra"])["image_url"]
            asked = [("system", [{"text": input["system"]}])] if input["system"] else []
            asked.append(("user", [{"image": {}}, {"text": input["prompt"]}]))
            turns = [{"role": role, "parts": parts} for role, parts in asked]
            results = []
            for choice in input["choices"][: input["n"]]:
                said = choice["message"]
                talk = o3.make_conversation(input["model"], turns, iter([image]), said)
                results.append(o3.make_inference_result([talk], choice["finish_reason"], said.get("content")))
            return name_images(results)


def encode(image: Image.Image, fmt: str) -> bytes:
    f = io.BytesIO()
    image.save(f, fmt)
    return f.getvalue()


def name_images(value: Any) -> Any:
    if isinstance(value, list):
        return [name_images(x) for x in value]
    if isinstance(value, dict):
        return {a: name_images(b) for a, b in value.items()}
    if isinstance(value, str) and value.startswith("data:image/"):
        head, data = value.split(",", 1)
        w, h = Image.open(io.BytesIO(base64.b64decode(data))).size
        return f"{head},<{w}x{h}>"
    return value


def draw(width: int, height: int, seed: int, mode: str = "RGB") -> Image.Image:
    """The drawing that the vectors speak of."""
    y, x = np.mgrid[:height, :width]
    r_ = 7 * x + 3 * y + seed
    bands = (
        [r_]
        if mode == "L"
        else [r_, (x * x + 5 * y + 11 * seed) >> 3, (x ^ y) * 5 + 29 * seed, x + y][: len(mode)]
    )
    data = np.stack([band & 255 for band in bands], axis=-1).astype(np.uint8)
    return Image.frombytes(mode, (width, height), data.tobytes())


def digest(image: Image.Image) -> str:
    return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


def decoded(data: bytes) -> str:
    return digest(Image.open(io.BytesIO(data)))


def crops(kind: str, input: dict[str, Any]) -> Any:
    if kind == "doc_zoom":
        images = [draw(**p) for p in input["images"]]
        views = [
            c.show(
                c.View(source=i, original=im.size, box=(0, 0, *im.size)),
                c.present_small(im.size, input["rescale"], input["presented_max_area"]),
                c.ZOOM_RULES,
            )
            for i, im in enumerate(images)
        ]
        out = []
        for call in input["calls"]:
            got = zoomed(views, call, input)
            out.append(
                got
                if "error" in got
                else {
                    "on_original": got["on_original"],
                    "size": got["size"],
                    "pixels": digest(views[-1].draw(images[got["source"]])),
                }
            )
        return out
    image = draw(**input["image"])
    match kind:
        case "o3_first" | "plain":
            view = c.present_whole(image.size, input["max_pixels" if kind == "plain" else "max_area"] or 0)
            return {
                "size": view.size,
                "pixels": digest(view.draw(image)),
                "jpeg": decoded(view.encode(image)),
            }
        case "o3_crop":
            cut = c.cut_region(image.size, input["box"], crop_rules(input))
            return cut and {
                "size": cut.size,
                "pixels": digest(cut.draw(image)),
                "jpeg": decoded(cut.encode(image)),
            }
        case "o3v2_present":
            view = c.show(
                c.View(source=0, original=image.size, box=(0, 0, *image.size)),
                c.limit_area(image.size, input["max_area"]),
                c.Rules(png_max_area=input["png_max_area"]),
            )
            return {"mime": view.mime, "size": view.size, "decoded": decoded(view.encode(image))}
        case "doc_present":
            view = c.show(
                c.View(source=0, original=image.size, box=(0, 0, *image.size)),
                c.present_small(image.size, input["rescale"], input["max_area"]),
                c.ZOOM_RULES,
            )
            return {"size": view.size, "pixels": digest(view.draw(image))}
        case "qwen_tool":
            try:
                size, zoomed_in = c.qwen_crop(image, input["box"])
            except Exception as err:
                return {"error": type(err).__name__}
            return {"size": size, "pixels": digest(zoomed_in)}
        case "verl_tool":
            box = c.verl_box(image.size, input["box"])
            return box and {"box": box, "pixels": digest(image.crop(box))}
