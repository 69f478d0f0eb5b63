"""Loading of models by name (``openai/gpt-4o``, ``replay/<run>``, …) with all their layers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from simulator import catalog
from simulator.errors import InputError
from simulator.models.base import ChatModel
from simulator.models.budget import PRICES_VARIABLE, Budget, Metered, Price, find_price
from simulator.models.cache import Cached, Recorded, Recorder, ResponseCache
from simulator.models.decoding import Decoded, Decoding
from simulator.models.fleet import PREFIX, Fleet, FleetServer, Place, address_of, addresses, place_of
from simulator.models.fleet_model import FleetModel
from simulator.models.keys import Identity
from simulator.models.layers import Backend
from simulator.models.limits import Limited
from simulator.models.offline import Latency, ReplayModel, Scorer, Script, ScriptModel
from simulator.models.preflight import BY_LIBRARY, REMOTE, SERVED
from simulator.models.redaction import has_credentials, public_url
from simulator.models.retry import Retried, RetryPolicy
from simulator.models.weights import shipped_folder

_log = logging.getLogger(__name__)
_warn_once = lru_cache(_log.warning)  # a command loads a model for each seat and method


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for reaching a model, and for the layers around it.

    Attributes:
        base_url: another server with the provider's API (vLLM, Ollama, llama.cpp, a proxy), or a fleet.
        api_key: by default ``$OPENAI_API_KEY`` or ``$ANTHROPIC_API_KEY``.
        timeout: seconds that one attempt may take.
        cache_path: SQLite file of the response cache; None for no cache.
        cache: an open cache to use instead of `cache_path`.
        placed: returns the backend of a model whose weights or recordings are in another process.
        max_attempts: most requests sent per call, retries included.
        max_malformed: how many malformed answers are retried.
        max_seconds: seconds after the call in which retries may start.
        concurrency: most requests in flight at one provider; the limit adapts to what the provider takes.
        budget: spending limit, shared by all models with the same `Budget`.
        prices_path: a price file that extends the built-in prices.
        recorder: receives a row for every call; usually the log writer's ``put``.
        extra: body parameters sent with every request (``{"reasoning_effort": "low"}``).
        decoding: overrides the decoding options of requests.
        sampling: whether the model takes temperature, stop sequences and log-probabilities; None to
            infer it from the name (OpenAI's reasoning models and Anthropic's newer models do not).
        recordings: the log in which ``replay/<run>`` finds answers.
        script: the answers of ``offline/script``, as a function of the request.
        scorer: the scores of ``offline/script``, as a function of the request.
        latency: simulated seconds per answer of ``offline/script``.
        device: device of ``transformers/…`` and ``local/…`` (``cpu``, ``cuda``, ``mps``); None to choose.
        threads: their CPU threads per operation; None for torch's default.
        together: answers they generate in parallel. This is much faster, but can change a greedy answer
            where two words are almost equally likely, so it is part of the model's identity in the log
            and in the cache.
    """

    base_url: Place | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    cache_path: Path | None = None
    cache: ResponseCache | None = None
    placed: Callable[[str], Backend] | None = None
    max_attempts: int = 6
    max_malformed: int = 2
    max_seconds: float = 600.0
    concurrency: int = 256
    budget: Budget | None = None
    prices_path: Path | None = None
    recorder: Recorder | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    decoding: Decoding = field(default_factory=Decoding)
    sampling: bool | None = None
    recordings: Path | None = None
    script: Script | None = None
    scorer: Scorer | None = None
    latency: Latency = 0.0
    device: str | None = None
    threads: int | None = None
    together: int = 1


def load_model(name: str, options: ModelOptions | None = None) -> ChatModel:
    """Return the model called `name`, ready for requests; close it when done.

    Args:
        name: ``provider/model``. If the seats of a run use different servers,
            ``provider/model@http://host:8000/v1`` names the model's server, and
            ``provider/model@FILE.yaml`` its fleet.
        options: how to reach the model, and its layers.

    Raises:
        InputError: if the name or an option is wrong; lists the known providers.
        AuthenticationFailed: if a key is missing; names the variable to set.
        BudgetExceeded: if there is a budget and the model has no price.
        Unsupported: if the backend is an extra that is not installed; says how to install it.
    """
    options = options or ModelOptions()
    return add_layers(load_backend(name, options), options)


def load_backend(name: str, options: ModelOptions) -> Backend:
    """Return a model's backend without layers.

    `name`: ``provider/model``, or ``provider/model@http://host/v1`` for its own server (or fleet).

    Raises:
        InputError: if there is no such provider, or the name is not ``provider/model``.
    """
    at_server = _AT_SERVER.fullmatch(name)
    if at_server and any(map(has_credentials, urls := addresses(at_server[2]))):
        raise InputError(
            f"{at_server[1]}@{','.join(map(public_url, urls))}: a model's name goes into the log, so it may "
            "contain no password or key; set OPENAI_API_KEY, or give the URL with --base-url"
        )
    load, provider, model = required_provider(name)
    if options.placed is not None and provider in PLACED:
        return options.placed(name)
    if match := _AT_SERVER.fullmatch(model):
        model, url = match.groups()
        # The log names a run's server without its password; a resumed run has it in its options.
        if url != address_of(options.base_url):
            if url.startswith(PREFIX):
                raise InputError(f"{name}: name the file of this fleet with --base-url FILE.yaml")
            options = replace(options, base_url=place_of(url))
    elif name.startswith(BY_LIBRARY):
        options = replace(options, base_url=None)  # --base-url is for models called openai/…
    if options.extra and not name.startswith(REMOTE):
        named = ", ".join(options.extra)
        raise InputError(f"{name}: {named} is only for models on a server; omit it")
    if isinstance(options.base_url, Fleet) and name.startswith(SERVED):
        return FleetModel(
            options.base_url,
            [load(model, _options_for_server(options, server)) for server in options.base_url.servers],
            concurrency=options.concurrency,
        )
    backend: Backend = load(model, options)
    return backend


def _options_for_server(options: ModelOptions, server: FleetServer) -> ModelOptions:
    """Return the options for one server of a fleet."""
    from simulator.models.remote import find_key  # imports an HTTP client

    variable = server.key_variable
    if not variable:
        return replace(options, base_url=server.url)
    key = find_key(server.address, None, [variable], needed=True)
    return replace(options, base_url=server.url, api_key=key)


def required_provider(name: str) -> tuple[Callable[[str, ModelOptions], Any], str, str]:
    """Return the loading function of a model's provider, the provider's name, and the model's name.

    Raises:
        InputError: if there is no such provider, or it cannot be imported, or the name is not
            ``provider/model``.
    """
    provider, slash, model = name.partition("/")
    added = catalog.extension_names(catalog.MODELS)
    if provider not in PROVIDERS and provider not in added:
        names = ", ".join(f"{each}/…" for each in (*added, *PROVIDERS))
        raise InputError(f"unknown model {name!r}: there is no provider {provider!r}; known: {names}")
    if not slash or not model:
        raise InputError(f"{name!r} names a provider but no model; write {provider}/<model>")
    load = PROVIDERS[provider] if provider in PROVIDERS else catalog.extension(catalog.MODELS, provider)
    return load, provider, model


def bare_name(name: str) -> str:
    """Return a model's name without the address of its server."""
    at_server = _AT_SERVER.fullmatch(name)
    return at_server[1] if at_server else name


def addressed_name(name: str) -> str:
    """Return a model's name for the log: with its fleet's name in place of the file.

    Raises:
        InputError: if that file is missing or wrong.
    """
    at_server = _AT_SERVER.fullmatch(name)
    if at_server is None or at_server[2].startswith(PREFIX):
        return name
    return f"{at_server[1]}@{address_of(place_of(at_server[2]))}"


def add_layers(backend: Backend, options: ModelOptions) -> Backend:
    """Return `backend` with the layers that `options` ask for (see `simulator.models.layers`)."""
    model: Backend = backend
    if backend.name.startswith(REMOTE) and not isinstance(backend, FleetModel):
        model = Limited(model, options.concurrency)
    price = _price(backend, options)
    if price is None:
        _warn_once("%s has no price, so its cost is unknown (see $%s)", backend.name, PRICES_VARIABLE)
    if "temperature" in backend.ignored:
        _warn_once("%s takes no temperature, so none is sent", backend.name)
    model = Metered(model, price, options.budget)
    policy = RetryPolicy(
        max_attempts=options.max_attempts,
        max_malformed=options.max_malformed,
        max_seconds=options.max_seconds,
    )
    model = Retried(model, policy)
    if options.cache is not None:
        model = Cached(model, options.cache)
    elif options.cache_path is not None:
        model = Cached(model, ResponseCache(options.cache_path))
    if options.recorder is not None:
        model = Recorded(model, options.recorder)
    served = backend.name.startswith((*REMOTE, "replay/"))
    return Decoded(model, options.decoding) if served or options.decoding.chosen else model


def _price(backend: Backend, options: ModelOptions) -> Price | None:
    own_server = backend.identity.base_url not in OFFICIAL
    price = find_price(backend.name, options.prices_path, built_in=not own_server)
    return price or getattr(backend, "listed_price", None)


def _connection(options: ModelOptions) -> dict[str, Any]:
    """Return the arguments with which backends reach a server."""
    return {name: getattr(options, name) for name in ("base_url", "api_key", "timeout", "extra")}


def _at_server(provider: str, model: str, options: ModelOptions) -> Backend:
    # The SDKs are slow to import.
    if provider == "anthropic":
        from simulator.models.anthropic_backend import AnthropicModel

        return AnthropicModel(model, **_connection(options), sampling=options.sampling)
    if provider == "completions":
        from simulator.models.openai_backend import CompletionsModel

        return CompletionsModel(model, **_connection(options))
    from simulator.models.openai_backend import OpenAIModel

    return OpenAIModel(model, **_connection(options), sampling=options.sampling)


def _by_library(provider: str, model: str, options: ModelOptions) -> Backend:
    from simulator.models.library_backend import LibraryModel

    if isinstance(options.base_url, Fleet):
        raise InputError(
            f"{provider}/{model}: a fleet only serves models called openai/…, completions/… or anthropic/…"
        )
    return LibraryModel(provider, model, **_connection(options))


def _transformers(path: str, options: ModelOptions, identity: Identity | None = None) -> Backend:
    from simulator.models.transformers_backend import TransformersModel

    return TransformersModel(
        path,
        device=options.device,
        threads=options.threads,
        together=options.together,
        identity=identity,
    )


def _load_offline(model: str, options: ModelOptions) -> Backend:
    if options.script is None:
        raise InputError(f"offline/{model} needs a function that answers: pass ModelOptions(script=…)")
    return ScriptModel(options.script, name=model, latency=options.latency, scorer=options.scorer)


def _replay(model: str, options: ModelOptions) -> Backend:
    if options.recordings is None:
        raise InputError(f"replay/{model} needs the log of that run: pass ModelOptions(recordings=…)")
    return ReplayModel(model, options.recordings)


WEIGHTS = ("transformers", "local")
PLACED = (*WEIGHTS, "replay")
"""Providers of models tied to a machine: to its weights and processors, or to its log."""
PROVIDERS: dict[str, Callable[[str, ModelOptions], Backend]] = {
    "openai": partial(_at_server, "openai"),
    "completions": partial(_at_server, "completions"),
    "anthropic": partial(_at_server, "anthropic"),
    **{prefix[:-1]: partial(_by_library, prefix[:-1]) for prefix in BY_LIBRARY},
    "transformers": _transformers,
    "local": lambda name, options: _transformers(str(shipped_folder(name)), options, Identity("local", name)),
    "offline": _load_offline,
    "replay": _replay,
}
_AT_SERVER = re.compile(rf"(.+)@(https?://.+|{PREFIX}.+|.+\.ya?ml(?:#[\w.-]+)?)")
OFFICIAL = frozenset({"", "https://api.openai.com/v1", "https://api.anthropic.com"})
