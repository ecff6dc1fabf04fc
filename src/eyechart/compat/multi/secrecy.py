"""What an evaluator says must not bring its key onto the disk: errors and messages without it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_SHORTEST = 8  # shorter ones (EMPTY, none) are no secrets, and may be part of any word
_SHOWN = "[key]"
_KEPT = ("prediction",)  # an answer is scored as it was given


class Secrets:
    """The secrets of a class, to be taken out of what it says."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = [
            value for value in values.values() if isinstance(value, str) and len(value) >= _SHORTEST
        ]

    def hide(self, value: Any) -> Any:
        """The same text, list or object without them.

        >>> Secrets({"api_key": "sk-12345"}).hide({"feedback": "sk-12345 is wrong", "prediction": "A"})
        {'feedback': '[key] is wrong', 'prediction': 'A'}
        """
        if isinstance(value, str):
            for secret in self._values:
                value = value.replace(secret, _SHOWN)
            return value
        if isinstance(value, dict):
            return {name: said if name in _KEPT else self.hide(said) for name, said in value.items()}
        return [self.hide(one) for one in value] if isinstance(value, list) else value

    @contextlib.contextmanager
    def in_errors(self) -> Iterator[None]:
        """Errors go on without them, under their own names where that can be."""
        try:
            yield
        except Exception as err:
            text = str(err)
            if (told := self.hide(text)) == text:
                raise
            err.args = tuple(self.hide(one) for one in err.args)
            if str(err) == told:
                raise
            raise RuntimeError(f"{type(err).__name__}: {told}") from None

    def guard(self, evaluator: Any) -> Any:
        """The evaluator, whose answers and errors no longer hold them."""
        answer = getattr(evaluator, "generate_answer", None)
        if self._values and callable(answer):
            with contextlib.suppress(AttributeError):  # a class with slots takes no method of ours
                evaluator.generate_answer = self._guarded(answer)
        return evaluator

    def _guarded(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def generate_later(question: Any) -> Any:
            with self.in_errors():
                return self.hide(await answer(question))

        def generate(question: Any) -> Any:
            with self.in_errors():
                return self.hide(answer(question))

        return generate_later if inspect.iscoroutinefunction(answer) else generate
