"""Errors of language models, and how each is handled.

::

    ModelError                  a model call failed; the episode fails and is run again
    │   ── the server or the connection; the same request may succeed later
    ├── RateLimited             429 or overloaded; `retry_after` says how long to wait
    ├── TimedOut                no answer within the time allowed
    ├── Unavailable             5xx, no connection, or a broken connection
    ├── ServerDown              the server was given up; nothing is sent to it for a while
    │   ── the answer
    ├── Malformed               not JSON, or not what the schema describes; retried a few times
    ├── Refused                 the model or a content filter declined; a retry would not help
    │   ── the request or the account; a person has to change something
    ├── AuthenticationFailed    the key is missing, wrong, without rights or without credit
    │   └── KeyMissing          no key on this machine; nothing was sent
    ├── BadRequest              the server rejected the request (unknown model, prompt too long, …)
    ├── Unsupported             the backend lacks the ability; raised before the run starts
    │   └── TooFewSamples       the server drew fewer samples in one call than requested
    ├── PreflightFailed         any of the above before a run: nothing has been played
    ├── BudgetExceeded          the next call could cost more than the budget has left
    └── NotRecorded             a replayed run has no answer to this request

`retryable` says whether `retry.Retried` may send the same request again. It alone retries (the SDKs' own
retries are off), so attempts are counted and Retry-After is honoured in one place. An error that leaves the
stack of `load_model` is final.
"""

from __future__ import annotations

from simulator.errors import AskbackError
from simulator.models.base import Usage

_LONGEST = 10_000  # characters kept of a server's message or of a useless answer


class ModelError(AskbackError):
    """Base class of every error of a model call.

    Attributes:
        retryable: whether the same request may be sent again.
        maybe_billed: whether the provider may have charged for the failed request.
        text: the raw answer, truncated if very long.
        retry_after: seconds the server asked to wait, if any.
        attempts: requests sent; 0 until `Retried` has counted them.
        usage: tokens known to have been used by all attempts.
        cost: US dollars known to have been spent by all attempts; None if unknown.
        server: address of the fleet server that failed, else empty.
        has_alternative: whether another server of the fleet can be sent the same request now.
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
        self.cost: float | None = None if self.maybe_billed else 0.0
        self.server = ""
        self.has_alternative = False

    def __str__(self) -> str:
        """Return the message with the number of attempts, if more than one."""
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
    """A failure of the server (5xx) or the connection; a connection that broke off may be billed."""

    code = "model_unavailable"
    retryable = True


class ServerDown(ModelError):
    """A server that has been given up; nothing is sent to it for a while."""

    code = "model_unavailable"


class Malformed(ModelError):
    """An answer that is not JSON, or that does not match the schema."""

    code = "model_malformed"
    retryable = True
    maybe_billed = True


class Refused(ModelError):
    """A refusal by the model or a content filter."""

    code = "model_refused"
    maybe_billed = True


class AuthenticationFailed(ModelError):
    """A key that is missing or wrong, or an account without rights or credit."""

    code = "model_authentication"


class KeyMissing(AuthenticationFailed):
    """No key on this machine; nothing was sent."""


class BadRequest(ModelError):
    """A request that the server rejected."""

    code = "model_bad_request"


class Unsupported(ModelError):
    """A request for an ability that the backend lacks."""

    code = "model_unsupported"


class TooFewSamples(Unsupported):
    """Fewer samples from one call than requested."""


class PreflightFailed(ModelError):
    """A model that is absent, or whose server lacks what the run needs; nothing has been played."""


class BudgetExceeded(ModelError):
    """A call that could cost more than the budget has left."""

    code = "model_budget"


class NotRecorded(ModelError):
    """A request that the replayed run has no answer to."""

    code = "model_not_recorded"


def cannot_score(name: str) -> Unsupported:
    """Return the error of a backend that cannot score a given text."""
    return Unsupported(f"{name} cannot score a given text; use transformers/…, local/… or completions/…")


def cannot_continue(name: str) -> Unsupported:
    """Return the error of a backend that takes only chat messages (`Request.plain`)."""
    return Unsupported(
        f"{name} takes chat messages only and cannot continue a plain text; "
        "use transformers/…, local/… or completions/…"
    )
