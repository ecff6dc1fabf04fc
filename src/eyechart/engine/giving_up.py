"""When to give up: one request, after its last try; the whole run, when no request can succeed."""

from __future__ import annotations

import time

import msgspec

from eyechart.engine.backoff import Backoff
from eyechart.engine.endpoint import TOO_MANY, Endpoint, Refusal, Trouble
from eyechart.engine.endpoints import Endpoints
from eyechart.errors import ModelError
from eyechart.types import Reply, Request, Usage

ODD_REQUEST = frozenset({400, 422, 501})  # what endpoints say to a number of answers they cannot give

_UNREACHABLE_TRIES = 3  # before the first answer, so many refused connections mean a wrong address
_PATIENT_TIMES = 10  # told to wait, while others are answered, a request tries so many times as often
_LATELY_S = 10.0  # others are answered as long as one of them was within this time


class DeadEndpoint(ModelError):
    """Nothing has come back for long: asking on would only make failures."""

    exit_code = 1


class Tries(msgspec.Struct):
    """How often one request has been tried, and with what success."""

    request: Request
    n_wanted: int = 1  # replies
    n: int = 0
    n_patient: int = 0  # of these: refused for now, while others were answered; or nobody was there
    sent_at: float = 0.0
    began_at: float = 0.0  # when the first one failed
    may_go_on: bool = True
    is_waiting: bool = False  # it failed, and has not been sent again yet
    endpoint: Endpoint | None = None  # where the last one failed
    refusals: tuple[Refusal, ...] = ()  # by endpoints that need not be asked again
    replies: list[Reply] = msgspec.field(default_factory=list)
    paid: Usage | None = None  # for the last one
    _n_elsewhere: int = 0

    @property
    def n_counted(self) -> int:
        """The tries that count against the number that is allowed."""
        return self.n - self.n_patient

    @property
    def who(self) -> tuple[str, int]:
        """Whose they are."""
        return self.request.sample.id, self.request.trial

    def begin(self) -> None:
        """Another one is sent."""
        self.n += 1
        self.sent_at = time.monotonic()

    def fail(self, error: ModelError, endpoint: Endpoint, endpoints: Endpoints, backoff: Backoff) -> None:
        """It failed: tell the endpoints, and see whether there may be another one."""
        now = time.monotonic()
        self.began_at = self.began_at or now
        self.endpoint = endpoint
        # To be told to wait, while others get their answers, is no reason to lose hope. Neither is it that
        # nobody listens where somebody did: that is not the sample's fault, and the endpoint's own count.
        is_told = error.status == TOO_MANY and endpoints.answered_at > min(self.sent_at, now - _LATELY_S)
        is_patient = is_told or (error.is_unreachable and not endpoints.is_unheard)
        if is_patient and self.n_patient < _PATIENT_TIMES * backoff.attempts:
            self.n_patient += 1
        self.may_go_on = backoff.may_retry(self.n_counted, error)
        if error.is_retryable:
            trouble = Trouble(who=self.who, sent_at=self.sent_at, began_at=self.began_at)
            endpoints.failed(endpoint, trouble, error, is_last=not self.may_go_on)
        else:
            endpoints.refused(endpoint, error, self.sent_at)
        if not backoff.may_retry(0, error):  # however often it is asked
            self.refusals += (Refusal(endpoint, error, self.sent_at),)
            self.may_go_on = self._may_ask_others(endpoints, backoff)

    def may_go_elsewhere(self, endpoints: Endpoints) -> bool:
        """Whether another endpoint can be asked at once; each is, before there is a wait."""
        self._n_elsewhere += 1
        may_go = self._n_elsewhere % len(endpoints.members) > 0
        return may_go and self.endpoint is not None and endpoints.has_free_besides(self.endpoint)

    def _may_ask_others(self, endpoints: Endpoints, backoff: Backoff) -> bool:
        """Each one in good standing is asked once; the others only if the last refusal says little."""
        others = endpoints.others(self.refusals)
        if not all(other.is_suspect for other in others):
            return True
        says_little = self.endpoint is not None and self.endpoint.is_suspect
        return bool(others) and says_little and self.n_counted < backoff.attempts


class GivingUp:
    """Watches the failures of all requests to one model, and says when asking on is pointless."""

    def __init__(self, endpoints: Endpoints, *, give_up_after: int) -> None:
        self._endpoints = endpoints
        self._give_up_after = give_up_after
        self._n_refused = 0  # requests that nobody wanted, before one was ever answered

    def reason(self, error: ModelError, tries: Tries) -> ModelError | None:
        """What to end the run with after this failure; None to go on."""
        if self._is_hopeless(error, tries):
            return error
        if self.is_dead():
            return self.dead(error)
        if self._is_unwanted(error, tries):
            return DeadEndpoint(
                f"the first {self._n_refused} requests were all refused, the last one: {error.message}",
                hint="change what is sent: the model, its parameters or the images; "
                "--give-up-after N sends more before giving up",
                status=error.status,
            )
        return None

    def is_dead(self) -> bool:
        """Whether no endpoint has answered for as long as the user is willing to try."""
        return all(member.is_dead(self._give_up_after) for member in self._endpoints.members)

    def dead(self, error: ModelError) -> DeadEndpoint:
        """What to tell the user then."""
        n = len(self._endpoints.members)
        many = f" (none of the {n} endpoints answers)" if n > 1 else ""
        return DeadEndpoint(
            f"{self._give_up_after} failures in a row without an answer{many}, the last one: {error.message}"
            f"{self._endpoints.said_before(error)}",
            hint="start the same command again when it answers: all replies are kept; "
            "--give-up-after N tries for longer",
        )

    def _is_hopeless(self, error: ModelError, tries: Tries) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as anyone can tell."""
        members = self._endpoints.members
        if error.is_fatal:
            return all(member.is_barred for member in members)
        if not error.is_unreachable or not self._endpoints.is_unheard:
            return False
        n_failures = min((member.failures for member in members if not member.is_barred), default=0)
        return n_failures >= _UNREACHABLE_TRIES or (n_failures > 0 and not tries.may_go_on)

    def _is_unwanted(self, error: ModelError, tries: Tries) -> bool:
        """Whether whatever is sent is refused: a parameter that is not known there, pictures at all."""
        if error.status is None or error.is_retryable or tries.may_go_on or not self._endpoints.is_new:
            return False
        if tries.n_wanted > 1 and error.status in ODD_REQUEST:  # asked for one at a time, it may answer
            return False
        self._n_refused += 1
        return self._n_refused >= self._give_up_after
