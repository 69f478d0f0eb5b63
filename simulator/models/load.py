"""From a model's name to a model: ``openai/gpt-4o``, ``replay/<run>``, … with all its layers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The way to a model, and what is put around it.

    Attributes:
        base_url: another server with the provider's interface (vLLM, Ollama, llama.cpp, a proxy), or a fleet.
        api_key: by default ``$OPENAI_API_KEY`` or ``$ANTHROPIC_API_KEY``.
        timeout: seconds that one attempt may take.
        cache_path: SQLite file of the response cache; None for no cache.
        cache: the cache that is asked instead of one in that file.
        placed: finds a model that is computed from weights or recordings elsewhere than in this process.
        max_attempts: requests sent per call at most, retries included.
        max_malformed: how many answers that break the schema are asked for again.
        max_seconds: no retry starts later than this after the call.
        concurrency: requests under way at one provider at most; it may bear fewer, which is found out.
        budget: money shared by all models that are given the same one.
        prices_path: a price file on top of the built-in prices.
        recorder: gets a row for every call; usually the log writer's ``put``.
        extra: body parameters sent with every request (``{"reasoning_effort": "low"}``).
        decoding: replaces what requests say of how their texts are drawn.
        sampling: whether the model takes temperature, stop sequences and log-probabilities; None to
            decide by its name (the reasoning models of OpenAI and newer ones of Anthropic do not).
        recordings: the log in which ``replay/<run>`` finds answers.
        script: what ``offline/script`` answers.
        scorer: how ``offline/script`` scores a given text.
        latency: simulated seconds per answer of ``offline/script``.
        device: where ``transformers/…`` and ``local/…`` run (``cpu``, ``cuda``, ``mps``); None to choose.
        threads: of the CPU for one operation there; None for as many as torch finds good.
        together: answers written at a time there. More are faster by far; a greedy answer then now and then
            goes another way where two words are all but equally likely, so that this is part of what a
            model is called in the log and in the cache.
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
    """Return the model called `name`, ready to be asked; close it when done.

    Args:
        name: ``provider/model``. Where the seats of one run use different servers,
            ``provider/model@http://host:8000/v1`` names the model's own, and
            ``provider/model@FILE.yaml`` its fleet.
        options: how it is reached and what is put around it.

    Raises:
        InputError: if the name or an option is wrong; says which names there are.
        AuthenticationFailed: if a key is missing; names the variable to set.
        BudgetExceeded: if there is a budget and the model has no price.
        Unsupported: if the backend is an extra that is not installed; says how to install it.
    """
    options = options or ModelOptions()
    return stack(load_backend(name, options), options)


def load_backend(name: str, options: ModelOptions) -> Backend:
    """Return the bare backend, without layers.

    `name`: ``provider/model``, or ``provider/model@http://host/v1`` for a server (or fleet) of its own.

    Raises:
        InputError: if there is no such provider, or the name is not ``provider/model``.
    """
    at_server = _AT_SERVER.fullmatch(name)
    if at_server and any(map(has_credentials, urls := addresses(at_server[2]))):
        raise InputError(
            f"{at_server[1]}@{','.join(map(public_url, urls))}: a model's name goes into the log, so it may "
            "hold no password or key; set OPENAI_API_KEY, or give the address with --base-url"
        )
    load, provider, model = required_provider(name)
    if options.placed is not None and provider in PLACED:
        return options.placed(name)
    if match := _AT_SERVER.fullmatch(model):
        model, url = match.groups()
        # A log names the server of a run without its password; the run itself has it.
        if url != address_of(options.base_url):
            if url.startswith(PREFIX):
                raise InputError(f"{name}: name the file of this fleet with --base-url FILE.yaml")
            options = replace(options, base_url=place_of(url))
    elif name.startswith(BY_LIBRARY):
        options = replace(options, base_url=None)  # what --base-url names has models called openai/…
    if options.extra and not name.startswith(REMOTE):
        named = ", ".join(options.extra)
        raise InputError(f"{name}: {named} is for models of a server, and this is none; leave it out")
    if isinstance(options.base_url, Fleet) and name.startswith(SERVED):
        return FleetModel(
            options.base_url,
            [load(model, _options_for_server(options, server)) for server in options.base_url.servers],
            concurrency=options.concurrency,
        )
    backend: Backend = load(model, options)
    return backend


def _options_for_server(options: ModelOptions, server: FleetServer) -> ModelOptions:
    """Return how a server of a fleet is reached.

    Raises:
        AuthenticationFailed: if its key is not in the environment.
    """
    from simulator.models.remote import find_key  # imports an HTTP client

    variable = server.key_variable
    if not variable:
        return replace(options, base_url=server.url)
    key = find_key(server.address, None, [variable], needed=True)
    return replace(options, base_url=server.url, api_key=key)


def required_provider(name: str) -> tuple[Callable[[str, ModelOptions], Any], str, str]:
    """Return what loads the models of a provider, its name, and the model's.

    Raises:
        InputError: if there is no such provider, or it cannot be imported, or the name is not
            ``provider/model``.
    """
    provider, slash, model = name.partition("/")
    added = catalog.extension_names(catalog.MODELS)
    if provider not in PROVIDERS and provider not in added:
        known = ", ".join(f"{each}/…" for each in (*added, *PROVIDERS))
        raise InputError(f"unknown model {name!r}: there is no provider {provider!r}; known are {known}")
    if not slash or not model:
        raise InputError(f"{name!r} names a provider but no model; write {provider}/<model>")
    load = PROVIDERS[provider] if provider in PROVIDERS else catalog.extension(catalog.MODELS, provider)
    return load, provider, model


def bare_name(name: str) -> str:
    """Return a model's name without the address of its server."""
    at_server = _AT_SERVER.fullmatch(name)
    return at_server[1] if at_server else name


def addressed(name: str) -> str:
    """Return a model's name as a log may have it: with a fleet's name for its file.

    Raises:
        InputError: if that file is missing or wrong.
    """
    at_server = _AT_SERVER.fullmatch(name)
    if at_server is None or at_server[2].startswith(PREFIX):
        return name
    return f"{at_server[1]}@{address_of(place_of(at_server[2]))}"


def stack(backend: Backend, options: ModelOptions) -> Backend:
    """Return `backend` with the layers that `options` ask for (see `simulator.models.layers`)."""
    model: Backend = backend
    if backend.name.startswith(REMOTE) and not isinstance(backend, FleetModel):
        model = Limited(model, options.concurrency)
    price = _price(backend, options)
    _tell(backend, price)
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
    return Decoded(model, options.decoding) if options.decoding.chosen else model


def _tell(backend: Backend, price: Price | None) -> None:
    """Say once what a user might not expect of this model; it is in the log's rows, too."""
    if price is None:
        _log.warning("%s has no price: its cost stays unknown (see $%s)", backend.name, PRICES_VARIABLE)
    if "temperature" in backend.ignored:
        _log.warning("%s takes no temperature: none is sent", backend.name)


def _price(backend: Backend, options: ModelOptions) -> Price | None:
    own_server = backend.identity.base_url not in OFFICIAL
    price = find_price(backend.name, options.prices_path, built_in=not own_server)
    return price or getattr(backend, "listed_price", None)


def _way(options: ModelOptions) -> dict[str, Any]:
    """Return how a server is reached, as backends take it."""
    return {name: getattr(options, name) for name in ("base_url", "api_key", "timeout", "extra")}


def _at_server(provider: str, model: str, options: ModelOptions) -> Backend:
    # The SDKs take a while to import.
    if provider == "anthropic":
        from simulator.models.anthropic_backend import AnthropicModel

        return AnthropicModel(model, **_way(options), sampling=options.sampling)
    if provider == "completions":
        from simulator.models.openai_backend import CompletionsModel

        return CompletionsModel(model, **_way(options))
    from simulator.models.openai_backend import OpenAIModel

    return OpenAIModel(model, **_way(options), sampling=options.sampling)


def _by_library(provider: str, model: str, options: ModelOptions) -> Backend:
    from simulator.models.library_backend import LibraryModel

    if isinstance(options.base_url, Fleet):
        raise InputError(
            f"{provider}/{model}: a fleet's servers have models called openai/… or completions/…"
        )
    return LibraryModel(provider, model, **_way(options))


def _transformers(path: str, options: ModelOptions, identity: Identity | None = None) -> Backend:
    from simulator.models.transformers_backend import TransformersModel

    return TransformersModel(
        path,
        device=options.device,
        threads=options.threads,
        together=options.together,
        identity=identity,
    )


def _local(model: str, options: ModelOptions) -> Backend:
    return _transformers(str(shipped_folder(model)), options, Identity("local", model))


def _load_offline(model: str, options: ModelOptions) -> Backend:
    if options.script is None:
        raise InputError(
            f"offline/{model} answers what a function says, and there is none: pass ModelOptions(script=…)"
        )
    return ScriptModel(options.script, name=model, latency=options.latency, scorer=options.scorer)


def _replay(model: str, options: ModelOptions) -> Backend:
    if options.recordings is None:
        raise InputError(f"replay/{model} needs the log of that run: pass ModelOptions(recordings=…)")
    return ReplayModel(model, options.recordings)


WEIGHTS = ("transformers", "local")
PLACED = (*WEIGHTS, "replay")
"""Providers of models that need something of a machine: its weights and processor, or its log."""
PROVIDERS: dict[str, Callable[[str, ModelOptions], Backend]] = {
    "openai": partial(_at_server, "openai"),
    "completions": partial(_at_server, "completions"),
    "anthropic": partial(_at_server, "anthropic"),
    **{prefix[:-1]: partial(_by_library, prefix[:-1]) for prefix in BY_LIBRARY},
    "transformers": _transformers,
    "local": _local,
    "offline": _load_offline,
    "replay": _replay,
}
_AT_SERVER = re.compile(rf"(.+)@(https?://.+|{PREFIX}.+|.+\.ya?ml(?:#[\w.-]+)?)")
OFFICIAL = frozenset({"", "https://api.openai.com/v1", "https://api.anthropic.com"})
