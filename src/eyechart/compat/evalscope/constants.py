"""Names that scripts import from EvalScope's constants, as plain texts."""

from __future__ import annotations


class EvalBackend:
    """The backends; eyechart replaces VLMEvalKit, and Native for two data sets."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


class EvalType:
    """How EvalScope's native backend calls a model."""

    CHECKPOINT = "llm_ckpt"
    OPENAI_API = SERVICE = "openai_api"
    CUSTOM = "custom"


class JudgeStrategy:
    """When EvalScope's native backend calls a judge."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"
