"""People of the golden log: free play in every seat, every built-in study, reviewers and annotators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from logs import LogReader, LogWriter
from simulator.ambibench.coding import CATEGORIES, episode_of, mark, to_code
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.ambient.annotation.categorising import sort_example
from simulator.ambient.annotation.claim_marks import mark_claim, marked_claims
from simulator.ambient.annotation.consolidation import checklist_points, consolidate, to_consolidate
from simulator.ambient.annotation.rules import annotation_payload
from simulator.ambient.data import load_examples, load_qualification
from simulator.ambient.sessions import AmbientSessions
from simulator.ambient.views import Annotation
from simulator.ambik.annotation import desk as pair_desk
from simulator.ambik.data import load_drafts
from simulator.ambik.forms import form_record
from simulator.ambik.sessions import AmbikSessions
from simulator.clarq.data import load_items
from simulator.clarq.review import (
    Pen,
    ProviderMark,
    finish,
    mark_failure,
    mark_provider,
    mark_success,
    read_review,
    write_note,
)
from simulator.clarq.sessions import ClarqSessions
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.models import ModelOptions
from simulator.runner.build import Models
from simulator.seats import Reply
from simulator.studies import Study

PERSON = "person"
Said = Callable[[Any], Reply]


@dataclass
class World:
    """What everybody here needs: the log, and models opposite them."""

    log: LogWriter
    reader: LogReader
    models: Models

    @classmethod
    def of(cls, log: LogWriter, reader: LogReader) -> World:
        return cls(log, reader, Models(options=ModelOptions(recorder=log.put)))


async def play_people(world: World) -> None:
    await dialogues(world)
    await households(world)
    await letters(world)
    await sentences(world)
    await kitchens(world)


async def play(sessions: Any, episode: str, seat: str, said: Said, most: int = 60) -> Any:
    """Let a person speak whenever it is their turn, until the end or `most` times."""
    view = await sessions.view(episode, seat)
    for _ in range(most):
        if getattr(view, "ended", None) or getattr(view, "stage", "") in ("done", "wait"):
            break
        if not getattr(view, "my_turn", True):
            break
        reply = replace(said(view), key=f"{view.number}.{seat}", seconds=1.5)
        view = await sessions.submit(episode, seat, reply, number=view.number)
    return view


def lines(*texts: str) -> Said:
    """Say one text after the other, and the last one again."""
    left = list(texts)
    return lambda view: Reply(text=left.pop(0) if len(left) > 1 else left[0])


# ---- ClarQ-LLM


async def dialogues(world: World) -> None:
    sessions = ClarqSessions(world.log, world.reader, world.models, env={"OPENAI_API_KEY": "x"})
    tasks = {language: load_items("builtin", language) for language in ("en", "zh")}
    asks = ("How do I go about it?", "Which one do I need?", "And where do I go then?", "Goodbye!")
    for language, opposite, said in (
        ("en", "offline/experts", asks),
        ("zh", "offline/experts", ("我该怎么做？", "用哪一个？", "再见！")),
        ("en", "openai/gpt-4o", asks),
    ):
        seats = {"seeker": PERSON, "provider": opposite}
        task = tasks[language][3].id
        episode = await sessions.start(task_id=task, language=language, seats=seats)
        await play(sessions, episode, "seeker", lines(*said))
        await sessions.judge(episode, "seeker", success=language == "en", key=episode.rpartition("/")[2])
        review(world, await sessions.replay(episode, "seeker"), episode, "rea", success=False)
        review(world, await sessions.replay(episode, "seeker"), episode, "bob", success=language == "en")
    seats = {"seeker": "offline/seeker", "provider": PERSON}
    episode = await sessions.start(task_id=tasks["en"][5].id, language="en", seats=seats)
    tree = tasks["en"][5].tree

    def gives(view: Any) -> Reply:
        index = "0" if view.number <= 2 else tree.nodes[min(view.number // 2 - 2, len(tree.nodes) - 1)].index
        return Reply(text="", move={"give": [index]})

    await play(sessions, episode, "provider", gives, most=3)
    both = {"seeker": PERSON, "provider": PERSON}
    episode = await sessions.start(task_id=tasks["en"][6].id, language="en", seats=both)
    await play(sessions, episode, "seeker", lines("How do I begin?"), most=1)
    await play(sessions, episode, "provider", lambda view: Reply(move={"give": ["0"]}), most=1)
    await play(sessions, episode, "seeker", lines("Thanks, goodbye!"), most=1)
    # Left open: nobody comes back to it.
    episode = await sessions.start(task_id=tasks["en"][7].id, language="en", seats=both)
    await play(sessions, episode, "seeker", lines("Hello?"), most=1)


def review(world: World, replay: Any, episode: str, annotator: str, *, success: bool) -> None:
    """A whole review: errors of the provider, failures of the seeker, a verdict, notes."""
    keys = iter(range(100))

    def pen() -> Pen:
        return Pen(annotator, f"{episode.rpartition('/')[2]}-{next(keys)}")

    turn = next(step.number for step in replay.steps if step.seat == "provider" and step.number > 0)
    rows = [
        mark_provider(pen(), episode, replay, turn, ProviderMark(hallucination=not success)),
        mark_success(pen(), episode, success),
        write_note(pen(), episode, replay, "Rather short.", None),
        *(mark_failure(pen(), episode, replay, node, "overlooked") for node in replay.scores.missing),
    ]
    rows.append(finish(pen(), episode, replay, read_review(rows, annotator)))
    for row in rows:
        world.log.put(row)
    world.log.flush()


# ---- HandMeThat


async def households(world: World) -> None:
    sessions = HandMeThatSessions(world.log, world.reader, world.models, env={"OPENAI_API_KEY": "x"})
    tasks = {
        level: next(entry.task_id for entry in sessions.catalog("en") if entry.level == level)
        for level in (1, 2, 3, 4)
    }
    for level, language, opposite, mode in (
        (1, "en", "offline/giver", "partial"),
        (2, "zh", "offline/giver", "full"),
        (3, "en", "openai/gpt-4o", "partial"),
    ):
        episode = await sessions.start(
            task_id=tasks[level],
            language=language,
            seats={"robot": PERSON, "human": opposite},
            options={"mode": mode},
        )
        said = lines("question: where is the object you want", "move to table", "dance", "stop")
        await play(sessions, episode, "robot", said)
    seats = {"robot": "offline/partner", "human": PERSON}
    episode = await sessions.start(task_id=tasks[2], language="en", seats=seats)
    await play(sessions, episode, "human", lines("I do not know.", "The small one."))
    both = {"robot": PERSON, "human": PERSON}
    episode = await sessions.start(task_id=tasks[4], language="en", seats=both)
    await play(sessions, episode, "robot", lines("question: which type do you mean?"), most=1)
    await play(sessions, episode, "human", lines("The red one."), most=1)
    await play(sessions, episode, "robot", lines("stop"), most=1)
    for who, said in (("key-1", lines("move to table", "stop")), ("key-2", lines("look"))):
        begun = await sessions.start_study(who, language="en")
        assert begun is not None
        await play(sessions, begun, "robot", said, most=3)


# ---- AmbiBench


async def letters(world: World) -> None:
    sessions = AmbiBenchSessions(world.log, world.reader, world.models)
    for setting, kind in (("instruction", "informative"), ("multiple", "uninformative")):
        episode = await sessions.start(
            setting=setting, kind=kind, format="arrow", feature="location", language="en"
        )
        await play(sessions, episode, "participant", letter)
    await studies(sessions, letter)
    run = "ambibench-texts-verbalise"
    for rater in ("ann", "bo"):
        for number, output in enumerate(to_code(world.reader, run, rater)):
            category = CATEGORIES[(number if rater == "ann" else number // 2) % len(CATEGORIES)]
            row = mark(episode_of(world.reader, run, output.token), rater, category, key=f"{rater}-{number}")
            world.log.put(row)
        world.log.flush()


def letter(view: Any) -> Reply:
    said = {"consent": "yes", "instructions": "ready", "comment": "Hard, but fun."}.get(view.stage)
    move = {"keys_used": True, "shown_at": "2026-01-05T09:00:00.000+00:00"}
    return Reply(text="XY"[view.number % 3 == 0], move=move) if said is None else Reply(text=said)


async def studies(sessions: Any, said: Said, seat: str | None = None) -> None:
    """In each study one person who finishes, one who withdraws after a while, one who does not consent."""
    for card in sessions.studies():
        own = sessions._desk(card.id).study.seat

        async def enter(who: str, card: Any = card) -> str:
            entry = await sessions.enter(
                card.id, identity={"PROLIFIC_PID": f"{who}-{card.id}"}, participant_key=who, language="en"
            )
            assert entry.episode_id, (card.id, entry)
            return str(entry.episode_id)

        episode = await enter("ann")
        await play(sessions, episode, own, said)
        again = await sessions.next_set(episode)
        if again.episode_id:
            await play(sessions, again.episode_id, own, said)
        episode = await enter("bob")
        await play(sessions, episode, own, said, most=3)
        await sessions.withdraw(episode)
        episode = await enter("cyd")
        await play(sessions, episode, own, lines("no"), most=1)
        episode = await enter("dee")
        await play(sessions, episode, own, said)


# ---- AmbiEnt


async def sentences(world: World) -> None:
    sessions = AmbientSessions(world.log, world.reader, world.models)
    for task in ("crowd", "annotate", "true_false"):
        episode = await sessions.start(task=task, language="zh" if task == "annotate" else "en")
        await play(sessions, episode, "annotator", form)
    await studies(sessions, form)
    entry = await sessions.enter(
        "ambient-crowd", identity={"PROLIFIC_PID": "eve"}, participant_key="eve", language="en"
    )
    await play(sessions, str(entry.episode_id), "annotator", wrong)
    await linguists(world)
    for number, example in enumerate([one for one in load_examples() if one.ambiguous][:6]):
        for who, kinds in (("ann", ["lexical"]), ("bo", ["lexical", "syntactic"][: 1 + number % 2])):
            sorted_ = sort_example(example, who, kinds, data="builtin", submission=f"kind-{who}-{number}")
            for row in (sorted_.item, sorted_.judgment):
                world.log.put(row)
    world.log.flush()
    run = "ambient-imported-claims"
    for who, marks in (("ann", ("a", "f", "a")), ("bo", ("a", "a", "f"))):
        for number, (claim, said) in enumerate(zip(marked_claims(world.reader, run), marks, strict=False)):
            row = mark_claim(world.reader, run, claim.key, who, [said], submission=f"{who}-c{number}")
            world.log.put(row)
    world.log.flush()


def form(view: Any) -> Reply:
    """A good form for each stage of AmbiEnt."""
    gold = {question.premise: question.label for question in load_qualification()}
    moves: dict[str, Callable[[], dict[str, Any]]] = {
        "qualification": lambda: {"label": gold[view.premise]},
        "label": lambda: {"label": "neutral"},
        "plausible": lambda: {"plausible": [place != 1 for place in range(len(view.candidates))]},
        "relabel": lambda: {"labels": (["entailment", "neutral", "contradiction"] * 2)[: len(view.pairs)]},
        "true_false": lambda: {"answer": view.number % 3 > 0},
        "annotate": lambda: {"labels": ["neutral"], "rewrites": [], "comment": "Plain."},
    }
    match view.stage:
        case "consent":
            return Reply(text="yes")
        case "instructions":
            return Reply(text="ready")
    return Reply(move=moves[view.stage]())


def wrong(view: Any) -> Reply:
    if view.stage != "qualification":
        return form(view)
    right = {question.premise: question.label for question in load_qualification()}[view.premise]
    return Reply(move={"label": "neutral" if right != "neutral" else "entailment"})


async def linguists(world: World) -> None:
    """Three examples by two people who differ, and two validators who consolidate what they said."""
    examples = [one for one in load_examples() if one.xor][:3]
    study = Study(
        id="golden-linguists",
        title="Readings",
        benchmark="ambient",
        seat="annotator",
        settings={"task": "annotate"},
        conditions=[one.id for one in examples],
        judgments_per_item=2,
        sets_per_participant=3,
        completion_codes={"complete": "C", "screened_out": "S", "returned": "R"},
        seed=3,
    )
    sessions = AmbientSessions(world.log, world.reader, world.models, studies=[study])
    known = {(one.premise, one.hypothesis): one for one in examples}

    def whole(view: Any) -> Reply:
        if view.stage in ("consent", "instructions"):
            return form(view)
        example = known[view.premise, view.hypothesis]
        return Reply(
            move=annotation_payload(
                Annotation(labels=example.labels, rewrites=example.disambiguations, comment="Both.")
            )
        )

    for who, said in (("fay", whole), ("gus", form)):
        entry = await sessions.enter(
            study.id, identity={"PROLIFIC_PID": who}, participant_key=who, language="en"
        )
        while entry.episode_id:
            await play(sessions, entry.episode_id, "annotator", said)
            entry = await sessions.next_set(entry.episode_id)
    for validator in ("val", "vic"):
        for number, case in enumerate(to_consolidate(world.reader, study.run_id, validator, validators=2)):
            voice = max(case.voices, key=lambda one: len(one.rewrites))
            if validator == "vic" and number == 0:
                chosen = Annotation(labels=frozenset({"neutral"}))
            else:
                rewrites = voice.rewrites
                chosen = Annotation(labels=voice.labels, rewrites=rewrites)
            row = consolidate(
                world.reader,
                study.run_id,
                case.key,
                validator,
                chosen,
                submission=f"{validator}-{number}",
                checklist=checklist_points()[:1],
            )
            world.log.put(row)
        world.log.flush()


# ---- AmbiK


async def kitchens(world: World) -> None:
    sessions = AmbikSessions(world.log, world.reader, world.models, env={"OPENAI_API_KEY": "x"})
    for seat, opposite in (
        ("robot", "offline/item"),
        ("user", "offline/always-asks"),
        ("robot", "openai/gpt-4o"),
        ("annotator", None),
    ):
        episode = await sessions.start(seat=seat, type="preferences", opposite=opposite)
        await play(sessions, episode, seat, kitchen)
    episode = await sessions.start(seat="robot", opposite=PERSON)
    for seat in ("robot", "user", "robot", "user", "robot"):
        await play(sessions, episode, seat, kitchen, most=1)
    await studies(sessions, kitchen)
    run = "study-ambik-annotate"
    for number, case in enumerate(pair_desk.to_consolidate(world.reader, run, "zoe")):
        chosen = next((voice.form for voice in case.voices if voice.form.pair is not None), None)
        move: Mapping[str, Any] = {"delete": "Absurd."} if chosen is None else form_record(chosen)
        row = pair_desk.consolidate(world.reader, run, case.key, "zoe", move, submission=f"zoe-{number}")
        world.log.put(row)
    world.log.flush()


def kitchen(view: Any) -> Reply:
    match view.stage:
        case "consent":
            return Reply(text="yes")
        case "instructions" | "tell":
            return Reply(text="ready")
        case "decide" if view.may_ask and view.number % 2 == 0:
            return Reply(move={"marked": list(view.options[:2]), "ask": "Which of them?", "keys_used": True})
        case "decide":
            return Reply(move={"marked": [view.options[0]], "act": view.options[0]})
        case "answer":
            return Reply(text="The one on the left.")
    return Reply(move=pair_form(view))


def pair_form(view: Any) -> dict[str, Any]:
    """A good form on a draft; of every third draft that it is absurd."""
    drafts = {one.clear: (number, one) for number, one in enumerate(load_drafts())}
    number, draft = drafts[view.draft.clear]
    if number % 3 == 2:
        return {"delete": "It is absurd.", "comment": "Nobody does that."}
    candidate = draft.candidates["common_sense_knowledge"]
    both = zip(draft.plan, draft.ambiguous_plan, strict=True)
    step = next(place for place, (clear, other) in enumerate(both) if clear != other)
    word = draft.plan[step].rstrip(".").split()[-1]
    return {
        "type": candidate.type,
        "passed_over": "Nothing dangerous about it.",
        "one_ambiguity": True,
        "ambiguous": candidate.task,
        "question": candidate.question,
        "answer": candidate.answer,
        "step": step,
        "intent": word,
        "variants": [word],
        "comment": "",
    }
