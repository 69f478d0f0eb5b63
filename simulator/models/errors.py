"""What can go wrong with a language model, and what is done about it.

::

    ModelError                  a model call failed; the episode fails and is run again
    │   ── the server or the way to it; the same request may well succeed later
    ├── RateLimited             429 or overloaded; `retry_after` says how long to stay away
    ├── TimedOut                no answer within the time allowed
    ├── Unavailable             5xx, no connection, or a connection that broke off
    ├── ServerDown              the server was given up; nothing is sent to it for a while
    │   ── the answer
    ├── Malformed               not the JSON, or not the schema, that was asked for; asked again, a few times
    ├── Refused                 the model or a content filter declined; asking again would not help
    │   ── the request or the account; somebody has to change something
    ├── AuthenticationFailed    the key is missing, wrong, without rights or without credit
    │   └── KeyMissing          there is none on this machine; nothing was sent
    ├── BadRequest              the server rejected the request (unknown model, prompt too long, …)
    ├── Unsupported             the backend cannot do what is asked; raised before the run starts
    │   └── TooFewSamples       the server drew fewer samples at once than were asked for
    ├── PreflightFailed         one of the others before a run: nothing has been played
    ├── BudgetExceeded          the next call could cost more than the budget has left
    └── NotRecorded             a replayed run has no answer to this request

`retryable` says whether `retry.Retried` may send the same request again. Retries happen there and nowhere
else (the SDKs' own are switched off), so one place counts attempts and honours Retry-After. By the time an
error leaves the stack of `load_model`, it is final.
"""

from __future__ import annotations

from simulator.errors import AskbackError
from simulator.models.base import Usage

_LONGEST = 10_000  # characters of what a server says that are kept of an answer that is of no use


class ModelError(AskbackError):
    """Base of everything a model call can raise.

    Attributes:
        retryable: whether the same request may be sent again.
        maybe_billed: whether the provider may have charged for the failed request.
        text: the answer as it came, the beginning of one that is very long.
        retry_after: seconds the server asked to wait, if it said.
        attempts: requests sent, where several were.
        usage: tokens known to have been used on the way.
        cost: US dollars known to have been spent on the way; None if unknown.
        server: address of the server of a fleet that failed, else empty.
        elsewhere: whether another server of the fleet may be asked the same now.
    """

    code = "model_failed"
    retryable = False
    maybe_billed = False

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        retry_after: float | None = None,
        usage: Usage | None = None,
        maybe_billed: bool | None = None,
    ) -> None:
        super().__init__(message[:_LONGEST])
        self.text = text[:_LONGEST]
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.maybe_billed = type(self).maybe_billed if maybe_billed is None else maybe_billed
        self.attempts = 0
        self.cost: float | None = None
        self.server = ""
        self.elsewhere = False

    def __str__(self) -> str:
        """Return the message, and how often it was tried."""
        message = super().__str__()
        return f"{message} (after {self.attempts} attempts)" if self.attempts > 1 else message


class RateLimited(ModelError):
    """The server wants fewer requests."""

    code = "model_rate_limited"
    retryable = True


class TimedOut(ModelError):
    """No answer within the time allowed."""

    code = "model_timed_out"
    retryable = True
    maybe_billed = True


class Unavailable(ModelError):
    """The server failed (5xx) or the connection did; one that broke off may be billed."""

    code = "model_unavailable"
    retryable = True


class ServerDown(ModelError):
    """A server has been given up; nothing is sent to it for a while."""

    code = "model_unavailable"


class Malformed(ModelError):
    """The answer is not what was asked for: garbage instead of JSON, or JSON that breaks the schema."""

    code = "model_malformed"
    retryable = True
    maybe_billed = True


class Refused(ModelError):
    """The model or a content filter declined to answer."""

    code = "model_refused"
    maybe_billed = True


class AuthenticationFailed(ModelError):
    """The key is missing, wrong, or its account has no rights or no credit."""

    code = "model_authentication"


class KeyMissing(AuthenticationFailed):
    """There is no key on this machine; nothing was sent."""


class BadRequest(ModelError):
    """The server rejected the request."""

    code = "model_bad_request"


class Unsupported(ModelError):
    """The backend cannot do what is asked."""

    code = "model_unsupported"


class TooFewSamples(Unsupported):
    """The server drew fewer samples at once than were asked for."""


class PreflightFailed(ModelError):
    """A model is not there, or its server cannot do what is needed; nothing has been asked of it but that."""


class BudgetExceeded(ModelError):
    """The next call could cost more than the budget has left."""

    code = "model_budget"


class NotRecorded(ModelError):
    """A replayed run has no answer to this request."""

    code = "model_not_recorded"


def cannot_score(name: str) -> Unsupported:
    """Return the error of a backend that has no such thing."""
    return Unsupported(
        f"{name} cannot give the probabilities of a given text; take transformers/…, local/… or completions/…"
    )


def cannot_continue(name: str) -> Unsupported:
    """Return the error of a backend that knows nothing but chat messages (`Request.plain`)."""
    return Unsupported(
        f"{name} takes chat messages only and cannot continue a plain text; "
        "take transformers/…, local/… or completions/…"
    )
