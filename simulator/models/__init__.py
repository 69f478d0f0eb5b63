"""One chat-model interface; openai, anthropic, transformers, offline and replay backends.

`load_model` builds a model from its name. Types are in `base`, errors in `errors`, and the layers around a
backend in `layers`.
"""

from simulator.models.base import (
    Capabilities,
    ChatModel,
    Completion,
    Likelihood,
    Message,
    Request,
    ScoreRequest,
    TokenLogprob,
)
from simulator.models.budget import Budget
from simulator.models.decoding import Decoding, as_sent, sample
from simulator.models.errors import (
    AuthenticationFailed,
    BadRequest,
    BudgetExceeded,
    KeyMissing,
    Malformed,
    ModelError,
    NotRecorded,
    PreflightFailed,
    RateLimited,
    Refused,
    ServerDown,
    TimedOut,
    Unavailable,
    Unsupported,
)
from simulator.models.keys import Identity
from simulator.models.load import ModelOptions, load_model
from simulator.models.offline import ScriptModel
from simulator.models.preflight import Needs, run_preflight
from simulator.models.weights import require_local, weights_of

__all__ = [
    "AuthenticationFailed",
    "BadRequest",
    "Budget",
    "BudgetExceeded",
    "Capabilities",
    "ChatModel",
    "Completion",
    "Decoding",
    "Identity",
    "KeyMissing",
    "Likelihood",
    "Malformed",
    "Message",
    "ModelError",
    "ModelOptions",
    "Needs",
    "NotRecorded",
    "PreflightFailed",
    "RateLimited",
    "Refused",
    "Request",
    "ScoreRequest",
    "ScriptModel",
    "ServerDown",
    "TimedOut",
    "TokenLogprob",
    "Unavailable",
    "Unsupported",
    "as_sent",
    "load_model",
    "require_local",
    "run_preflight",
    "sample",
    "weights_of",
]
