"""Models run in this process with transformers: ``transformers/<path or id>`` and ``local/smollm2``."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

from simulator.models.answers import cut_at_stops
from simulator.models.base import (
    Capabilities,
    Completion,
    Likelihood,
    Position,
    Request,
    Scored,
    ScoreRequest,
    Usage,
)
from simulator.models.errors import BadRequest, Unsupported
from simulator.models.forward import Heads, Prediction, Reader, Row, has_plain_cache, predict, prediction_at
from simulator.models.keys import Identity
from simulator.models.slots import Slots
from simulator.models.tokens import Wording, answer_ids, boundary, continuation, prompt_ids, tokenise
from simulator.models.weights import fingerprint, import_optional, load_weights
from simulator.models.writing import Engine, Gatherer, Job, Writer

# Tokens in a scored batch, padding included. On a CPU, one text keeps a core busy and a batch saves at most a
# few percent, by using more cores; a GPU needs large batches.
_CPU_TOKENS: Final = 2048
_GPU_TOKENS: Final = 32768


class TransformersModel:
    """A language model in this process, which scores texts in batches and generates answers in parallel.

    Decoding is not constrained: a schema goes into the prompt, and the answer is checked as always. By
    default one answer is generated at a time, because a pass over several rows changes the last bits of the
    numbers, and occasionally a word. Samples of one prompt are always generated together: they are one
    answer.

    At temperature 0 the likeliest token is taken, else a token is sampled from the full distribution: the
    model folder's own settings (penalties and the like) are ignored, as they are for log-probabilities.
    Models whose cache is not plain keys and values (`has_plain_cache`) use the library's own loop,
    one prompt at a time, without shared prompt heads.
    """

    def __init__(
        self,
        path: str,
        *,
        device: str | None = None,
        threads: int | None = None,
        together: int = 1,
        identity: Identity | None = None,
    ) -> None:
        """Load weights and tokenizer.

        Args:
            path: a folder or a model hub id; the folder of an adapter is loaded with its base model.
            device: ``cpu``, ``cuda``, ``mps``; None for a GPU if there is one.
            threads: CPU threads per operation; None for torch's default.
            together: answers generated in parallel; part of the identity if more than 1, since it can
                change an answer.
            identity: identity to use; by default ``transformers/<path>``.

        Raises:
            Unsupported: if torch or transformers is missing.
            InputError: if the model cannot be loaded.
        """
        self._torch = import_optional("torch")
        who = identity or Identity("transformers", path, extra=fingerprint(path))
        self.identity = who if together == 1 else replace(who, extra={**who.extra, "together": together})
        self.name = self.identity.name
        cuda, mps = self._torch.cuda, self._torch.backends.mps
        best = "cuda" if cuda.is_available() else "mps" if mps.is_available() else "cpu"
        self._device = device or best
        weights = load_weights(path, self._device)
        self._tokenizer, self._model = weights.tokenizer, weights.model
        self._answers, self._longest = weights.answers, weights.longest
        self._chats = bool(self._tokenizer.chat_template)
        self.capabilities = Capabilities(
            logprobs=True,
            schema=self._chats,
            seed=True,
            scoring=self._tokenizer.is_fast,
            plain=True,
            samples=True,
        )
        self.ignored: frozenset[str] = frozenset()
        pad, end = self._tokenizer.pad_token_id, self._tokenizer.eos_token_id
        self._padding = end if pad is None else pad
        self._wording = Wording(self.name, self._tokenizer, answers=self._answers)
        self._transformers = transformers = import_optional("transformers")
        self._thread = ThreadPoolExecutor(1, "transformers", partial(_use, self._torch, threads))
        budget = _CPU_TOKENS if self._device == "cpu" else _GPU_TOKENS
        self._gatherer = Gatherer(self._thread, self._rows, self._look, budget)
        self._heads = Heads()
        self._writer: Writer[Request, Completion] | None = None
        ends = self._model.generation_config.eos_token_id
        self._ends = frozenset(ends if isinstance(ends, list) else [ends])
        if has_plain_cache(transformers, self._model):
            reader = Reader(self._torch, transformers, self._model, self._heads)
            slots = Slots(self._torch, transformers, self._model)
            engine = Engine(self._torch, reader, slots, self._job, self._completion)
            self._writer = Writer(self._thread, engine, together)

    async def complete(self, request: Request) -> Completion:
        """Answer `request`; a cancelled call stops generating at the next token.

        Raises:
            Unsupported: if it has chat messages and the model has no chat template.
        """
        if not self._chats and not request.plain:
            raise Unsupported(
                f"{self.name} has no chat template, so it can only continue and score plain texts; "
                "for chats use an instruction-tuned model"
            )
        if self._writer is not None:
            return await self._writer(request, request.samples)
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._by_the_library, request, stop)
        finally:
            stop.set()

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, in one pass with other texts requested at the same time.

        A number may change in its sixth digit with the other texts in the batch.

        Raises:
            BadRequest: if the text is too long, or no token can begin at an offset.
            Unsupported: if the tokenizer does not report character offsets.
        """
        if not self.capabilities.scoring:
            raise Unsupported(f"the tokenizer of {self.name} reports no offsets; scoring needs a fast one")
        rows, looks = await self._gatherer(request)
        usage = Usage(sum(len(row.ids) + len(row.written) for row in rows), 0)
        if request.continuations:
            sums = (Likelihood(math.fsum(each.logprob for each in row), len(row)) for row in looks)
            return Scored(likelihoods=tuple(sums), usage=usage)
        pairs = [pair for row, of_row in zip(rows, looks, strict=True) for pair in _pairs(row, of_row)]
        return Scored(
            positions=tuple(
                Position(offset, *self._wording.token_logprob(token, each))
                for offset, (token, each) in zip(request.offsets, pairs, strict=True)
            ),
            usage=usage,
        )

    async def close(self) -> None:
        """Stop the thread and release the weights."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._gatherer.close()
        if self._writer is not None:
            self._writer.close()
        self._heads.clear()
        self._writer = self._model = None

    # --- scoring, in the model's thread ---------------------------------------------------------------

    def _rows(self, request: ScoreRequest) -> list[Row]:
        if request.continuations:
            rows = self._continuation_rows(request)
        elif self._answers:
            rows = self._prefix_rows(request)
        else:
            ids, places = tokenise(self._tokenizer, request.text, request.offsets)
            rows = [Row(ids, (), tuple((place - 1, ids[place]) for place in places), request.top)]
        for row in rows:
            self._refuse_longer(len(row.ids))
        return rows

    def _continuation_rows(self, request: ScoreRequest) -> list[Row]:
        """Return one row per continuation, whose tokens do not depend on the text before it."""
        if self._answers:
            read, start = tuple(self._tokenizer(request.text)["input_ids"]), self._start()
            after = [answer_ids(self._tokenizer, each) for each in request.continuations]
            return [Row(read, (*start, *ids[:-1]), _expected_places(len(start), ids), 0) for ids in after]
        read = prompt_ids(self._tokenizer, request.text)
        if not read:
            raise BadRequest(f"{self.name} cannot score a continuation of an empty text")
        pieces = (continuation(self._tokenizer, each) for each in request.continuations)
        after = [tuple(token.id for token in piece) for piece in pieces]
        return [Row((*read, *ids[:-1]), (), _expected_places(len(read), ids), 0) for ids in after]

    def _start(self) -> tuple[int, ...]:
        """Return the tokens with which an encoder-decoder model's answer begins."""
        forced = self._model.generation_config.forced_bos_token_id
        return (self._model.config.decoder_start_token_id, *([] if forced is None else [forced]))

    def _prefix_rows(self, request: ScoreRequest) -> list[Row]:
        """Return one row per offset: an encoder-decoder model reads the text before it and answers."""
        start, rows = self._start(), []
        for offset in request.offsets:
            end = boundary(request.text, offset)
            # The blanks before the label may be separate tokens; the last token contains the label.
            *before, token = answer_ids(self._tokenizer, request.text[end : offset + 1])
            read = tuple(self._tokenizer(request.text[:end])["input_ids"])
            written = (*start, *before)
            rows.append(Row(read, written, ((len(written) - 1, token),), request.top))
        return rows

    def _look(self, rows: Any) -> list[list[Prediction]]:
        return predict(self._torch, self._model, rows)

    # --- generation, in the model's thread ------------------------------------------------------------

    def _job(self, request: Request) -> Job:
        read = self._wording.read(request)
        most = request.max_tokens
        if self._longest is not None and not self._answers:
            self._refuse_longer(len(read))
            most = min(most, self._longest + 1 - len(read))

        def over(tokens: list[int]) -> bool:
            return tokens[-1] in self._ends or self._wording.is_stopped(request, read, tokens)

        return Job(
            ids=tuple(read),
            head=self._wording.head(request, read),
            samples=request.samples,
            temperature=request.temperature,
            top_p=request.top_p,
            top=request.top_logprobs,
            seed=request.seed,
            most=most,
            over=over,
        )

    def _completion(self, request: Request, job: Job) -> Completion:
        first = job.written[0]
        wordings = tuple(self._wording.answer_text(request, job.ids, tokens) for tokens in job.written)
        texts = tuple(cut_at_stops(text, request.stop) for text in wordings)
        return Completion(
            text=texts[0],
            samples=texts if request.samples > 1 else (),
            logprobs=tuple(map(self._wording.token_logprob, first, job.looks)) if job.looks else (),
            usage=Usage(len(job.ids), sum(map(len, job.written))),
            finish_reason="stop" if first[-1] in self._ends or texts[0] != wordings[0] else "length",
        )

    def _by_the_library(self, request: Request, given_up: threading.Event) -> Completion:
        job = self._job(request)
        _generate(self._torch, self._transformers, self._model, job, padding=self._padding, given_up=given_up)
        return self._completion(request, job)

    def _refuse_longer(self, tokens: int) -> None:
        if self._longest is not None and tokens > self._longest:
            raise BadRequest(f"the text has {tokens} tokens; {self.name} reads at most {self._longest}")


def _generate(
    torch: Any, transformers: Any, model: Any, job: Job, *, padding: int, given_up: threading.Event
) -> None:
    """Generate a job's answer with the library's own loop, for models whose cache only the library knows."""
    # The output of an encoder-decoder model begins with its start token, not with the prompt.
    before = 1 if model.config.is_encoder_decoder else len(job.ids)

    def over(ids: Any, scores: Any, **_: Any) -> Any:
        ended = [given_up.is_set() or job.ended(row) for row in ids[:, before:].tolist()]
        return torch.tensor(ended, device=ids.device)

    settings: dict[str, Any] = {
        "max_new_tokens": job.most,
        "do_sample": job.temperature > 0,
        "return_dict_in_generate": True,
        "output_logits": job.top is not None,
        "stopping_criteria": transformers.StoppingCriteriaList([over]),
        "pad_token_id": padding,
    }
    if job.temperature > 0:
        # Sample from the full distribution, not from what the library's or the model's settings leave of it.
        settings["num_return_sequences"] = job.samples
        settings |= {"temperature": job.temperature, "top_p": job.top_p, "top_k": 0}
    prompt = torch.tensor([job.ids], device=model.device)
    with torch.random.fork_rng(), torch.inference_mode():
        if job.seed is not None:
            torch.manual_seed(job.seed)
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)
    job.written = [_without_padding(job, row) for row in out.sequences[:, before:].tolist()]
    if job.top is not None:
        pairs = zip(job.written[0], out.logits, strict=False)
        job.looks = [prediction_at(torch, row[0].float(), token, job.top) for token, row in pairs]


def _without_padding(job: Job, row: list[int]) -> list[int]:
    """Return the generated tokens without the padding after them."""
    ends = (number for number in range(1, len(row)) if job.ended(row[:number]))
    return row[: next(ends, len(row))]


def _expected_places(before: int, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return, for each of `ids` after `before` other tokens, the position that predicts it, and the token."""
    return tuple((before - 1 + number, id) for number, id in enumerate(ids))


def _pairs(row: Row, looks: list[Prediction]) -> list[tuple[int, Prediction]]:
    """Return the token at each position looked at, with its log-probability."""
    return [(token, each) for (_, token), each in zip(row.looks, looks, strict=True)]


def _use(torch: Any, threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
