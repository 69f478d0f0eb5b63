"""Models that write: disambiguations (spec 6.2), paraphrases of claims (spec 10)."""

from __future__ import annotations

from typing import Final

from simulator.ambient.claims import PARAPHRASES, kept, paraphrase_prompt
from simulator.ambient.items import ClaimItem, GenerateItem
from simulator.ambient.parsing import BLANK_LINE
from simulator.ambient.playing import ANNOTATOR, Options
from simulator.ambient.prompts import instruction, prompt
from simulator.models import ChatModel, Message, Request, as_sent, sample
from simulator.models.decoding import drawn
from simulator.seats import Reply, View

SEED: Final = 0


async def generate(model: ChatModel, view: View, item: GenerateItem) -> Reply:
    """A model's disambiguations: the prompt continued if it can do that, else an answer to it."""
    plain, most = model.capabilities.plain, Options.read(view.options).max_tokens
    request = as_sent(
        model,
        Request(
            messages=(Message("user", prompt(item)),),
            plain=plain,
            temperature=0.0,
            max_tokens=most,
            seed=SEED,
            stop=(BLANK_LINE,),
            repeat=view.repeat,
            purpose=f"{ANNOTATOR}.generate",
            prompt_version=instruction(item.side, item.instruction).version,
            episode_id=view.episode_id,
            turn_number=view.number,
        ),
    )
    answer = await model.complete(request)
    decoding = {
        "service": model.name,
        **drawn(request),
        "stop": [BLANK_LINE],
        "plain": plain,
    }
    return Reply(text=answer.text, move={"decoding": decoding}, seconds=answer.seconds)


async def paraphrase(model: ChatModel, view: View, item: ClaimItem) -> Reply:
    """A model's paraphrases of a claim; what goes over a line is put on one."""
    options, plain = Options.read(view.options), model.capabilities.plain
    asked = paraphrase_prompt(item)
    request = as_sent(
        model,
        Request(
            messages=(Message("user", asked.text),),
            plain=plain,
            temperature=1.0,
            top_p=options.top_p,
            max_tokens=options.max_tokens,
            seed=view.seed,
            # A plain model would go on with a text of its own.
            stop=("\n",) if plain else (),
            samples=PARAPHRASES,
            repeat=view.repeat,
            purpose=f"{ANNOTATOR}.paraphrase",
            prompt_version=asked.version,
            episode_id=view.episode_id,
            turn_number=view.number,
        ),
    )
    answers = await sample(model, request)
    texts = [" ".join(text.split()) for text in answers.samples]
    distinct = list(kept(texts, item.cleaned))
    decoding = {
        "service": model.name,
        **drawn(request),
        "top_p": request.top_p,
        "samples": PARAPHRASES,
    }
    move = {"texts": texts, "kept": distinct, "decoding": decoding}
    return Reply(text="\n".join(distinct), move=move, seconds=answers.seconds)
