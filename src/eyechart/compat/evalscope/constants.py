"""Names that scripts import from EvalScope's constants, as plain texts."""

from __future__ import annotations


class EvalBackend:
    """Who evaluates. Only one of them has its place taken here."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


class EvalType:
    """How a model is reached by EvalScope's native backend."""

    CHECKPOINT = "checkpoint"
    SERVICE = "openai_api"
    CUSTOM = "custom"


class JudgeStrategy:
    """When EvalScope's native backend asks a judge."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"
