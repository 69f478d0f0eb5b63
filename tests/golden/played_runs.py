"""What is played for the golden log on the command line: runs of every benchmark, and imported files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Play = Callable[[str], None]

MODEL, OTHER, PLAIN = "openai/gpt-4o", "openai/gpt-4o-mini", "completions/davinci-002"
SILENT, BROKEN = "openai/silent", "openai/broken"
MODELS = "--no-cache --concurrency 1"


def play_runs(play: Play, folder: Path) -> None:
    """Play every run of the log; `play` carries out a command."""
    for line in (*clarq(folder), *handmethat(folder), *ambibench(folder), *ambient(folder), *ambik(folder)):
        play(line)


def clarq(folder: Path) -> Iterator[str]:
    seeker = write(folder / "seeker.json", ["How do I do this?", "Which one do I take?", "Goodbye!"])
    provider = write(
        folder / "provider.json",
        [{"give": ["0"]}, {"text": "I am not sure.", "give": []}, {"give": ["1"], "before": "Well,"}],
    )
    run = f"run clarq {MODELS}"
    yield f"{run} --lang both --limit 4 --run clarq-offline"
    yield f"{run} --types 27-28 --multi --seeker offline/seeker:hasty --run clarq-multi"
    yield f"{run} --limit 2 --turn-limit 2 --seeker offline/seeker:verbose --run clarq-truncated"
    yield f"{run} --limit 2 --seeker script:{seeker} --provider script:{provider} --run clarq-script"
    yield (
        f"{run} --limit 3 --lang both --seeker {MODEL} --provider {OTHER} --judge {OTHER} --turn-limit 6"
        " --run clarq-models"
    )
    yield (
        f"{run} --limit 2 --seeker {MODEL} --mode chat --personas paper --temperature 0.5 --seed 3"
        " --provider experts:type=openai/gpt-4o,walk=offline/experts,respond=openai/gpt-4o-mini"
        " --turn-limit 5 --run clarq-mixed"
    )
    yield f"{run} --limit 2 --seeker {SILENT} --run clarq-aborted"
    yield f"{run} --limit 1 --seeker {BROKEN} --run clarq-failed"
    yield f"{run} --limit 2 --seeker {MODEL} --judge {OTHER} --repeat 2 --turn-limit 4 --run clarq-judged"
    results = write(folder / "clarq-results.json", clarq_results())
    yield f"import clarq-results {results} --run clarq-imported"


def handmethat(folder: Path) -> Iterator[str]:
    lines = write(folder / "robot.json", ["look", "question: where is the object you want", "stop"])
    answers = write(folder / "human.json", ["It is in the kitchen."])
    run = f"run handmethat {MODELS}"
    yield f"{run} --robot offline/asker:2 --per-level 1 --mode both --run handmethat-asker"
    yield f"{run} --robot offline/heuristic --per-level 1 --mode full --run handmethat-heuristic"
    yield f"{run} --robot offline/expert --per-level 1 --run handmethat-expert"
    yield f"{run} --robot offline/random --limit 2 --turn-limit 5 --run handmethat-random"
    yield f"{run} --robot offline/partner --limit 2 --protocol free --lang zh --run handmethat-partner"
    yield f"{run} --robot script:{lines} --human script:{answers} --limit 2 --run handmethat-script"
    yield f"{run} --robot {MODEL} --human {OTHER} --limit 2 --turn-limit 4 --run handmethat-models"
    yield f"{run} --robot {SILENT} --limit 1 --run handmethat-aborted"
    yield f"{run} --robot {BROKEN} --limit 1 --run handmethat-failed"


def ambibench(folder: Path) -> Iterator[str]:
    said = write(folder / "letters.json", ["X", "Y", "X"])
    run = f"run ambibench {MODELS}"
    yield f"{run} --model offline/oracle --setting instruction,multiple --limit 4 --run ambibench-oracle"
    both = "--setting instruction,multiple --kind both"
    yield f"{run} --model offline/random {both} --limit 3 --run ambibench-random"
    yield f"{run} --model {MODEL} --setting instruction,multiple,wug --limit 2 --run ambibench-model"
    yield f"{run} --model {PLAIN} --setting multiple,ft_eval --limit 2 --run ambibench-plain"
    yield f"{run} --model {MODEL} --setting verbalise,aws --limit 6 --run ambibench-texts"
    yield f"{run} --model script:{said} --setting instruction --limit 2 --run ambibench-script"
    yield f"{run} --model {BROKEN} --setting instruction --limit 1 --run ambibench-failed"


def ambient(folder: Path) -> Iterator[str]:
    run = f"run ambient {MODELS}"
    forms = write(
        folder / "forms.json",
        [{"label": "neutral"}, {"plausible": [True, True, True]}, {"labels": ["neutral"] * 3}],
    )
    tasks = "generate,true-false,crowd,annotate"
    yield f"{run} --model offline/gold --task {tasks},nli --limit 4 --run ambient-gold"
    yield f"{run} --model offline/random --task {tasks} --limit 3 --run ambient-random"
    yield f"{run} --model {MODEL} --task {tasks},nli --limit 3 --run ambient-model"
    yield f"{run} --model {PLAIN} --task continue --continuations 4 --limit 2 --run ambient-plain"
    judged = "--task evaluate --results ambient-model-generate"
    yield f"{run} --model offline/gold {judged} --run ambient-evaluated"
    yield f"{run} --model script:{forms} --task crowd --limit 2 --run ambient-script"
    yield f"{run} --model {SILENT} --task generate --limit 1 --run ambient-silent"
    yield f"{run} --model {BROKEN} --task generate --limit 1 --run ambient-failed"
    data = ambient_files(folder / "ambient")
    results = folder / "ambient" / "results"
    for file in sorted(results.rglob("*.jsonl")):
        name = file.relative_to(results).parts[0].removesuffix(".jsonl").partition("_")[0]
        yield f"import ambient-results {file} --data {data} --run ambient-imported-{name}"


def ambik(folder: Path) -> Iterator[str]:
    run = f"run ambik {MODELS}"
    robot = write(
        folder / "kitchen.json",
        [{"marked": ["Take the cup."], "ask": "Which one?"}, {"marked": [], "act": "Take the cup."}],
    )
    user = write(folder / "user.json", ["The one on the left."])
    yield f"{run} --limit 8 --run ambik-kitchen"
    yield f"{run} --limit 6 --questions 1 --dialogue after --model offline/kitchen --run ambik-asked"
    yield f"{run} --model offline/always-asks --questions 2 --limit 3 --run ambik-always"
    yield f"{run} --model offline/never-asks --limit 3 --run ambik-never"
    yield (
        f"{run} --model {MODEL} --method all --limit 4 --calibration-limit 4 --questions 1 --user {OTHER}"
        " --run ambik-model"
    )
    yield (
        f"{run} --model {MODEL} --method knowno --dataset knowno --limit 3 --calibration-limit 3"
        " --run ambik-scenarios"
    )
    yield f"{run} --model script:{robot} --user script:{user} --questions 1 --limit 2 --run ambik-script"
    yield f"{run} --model {MODEL} --task annotate --limit 1 --run ambik-annotated"
    yield f"{run} --model {SILENT} --method nohelp --limit 1 --run ambik-silent"
    yield f"{run} --model {BROKEN} --method nohelp --limit 1 --run ambik-failed"
    lines = folder / "decisions.jsonl"
    yield f"report ambik ambik-model-knowno ambik-model-binary --lines {lines}"
    yield f"import ambik-results {lines} --run ambik-imported"


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def clarq_results() -> list[Any]:
    """Dialogues of our own in the published form: one that succeeds, one that does not, one cut off."""
    told = ["Jax: Row to the lighthouse.", "Jax: Take the red boat.", "Jax: The oars are in the shed."]
    said = ["Jax: What can I do for you?", "How do I get to the lighthouse?", told[0], "Which boat?", told[1]]
    record = {
        "all_response": "\n".join(told),
        "gold_structure": ["1", "1.1"],
        "all_response_exaplain": ["Which of the boats.", "Where the oars are."],
        "background_splitted": ["keeper", "reach the lighthouse", "Red boat\nBlue boat", "Row", "Shed\nPier"],
        "background": "You keep the lighthouse.",
    }
    whole = [*said, "Where are the oars?", told[2], "Goodbye!"]
    return [
        [record | {"l2l": [whole]}, record | {"l2l": [[*said, "Goodbye!"]]}],
        [record | {"l2l": [said]}, record | {"l2l": [[]]}],
    ]


PREMISE, HYPOTHESIS = "Nobody has seen the last ferry.", "The ferry is late."
READINGS = {
    "entailment": "Nobody has seen the ferry that should have come last.",
    "neutral": "Nobody has ever seen the final ferry of a day.",
}


def ambient_files(folder: Path) -> Path:
    """A file of every kind that can be imported, of our own making, and the examples that they are of."""
    both = [{"premise": text, "hypothesis": HYPOTHESIS, "label": label} for label, text in READINGS.items()]
    pair = {"premise": PREMISE, "hypothesis": HYPOTHESIS}
    sides = {"premise_ambiguous": True, "hypothesis_ambiguous": False}
    examples = [
        {"id": id, **pair, **sides, "labels": "neutral, entailment", "disambiguations": both} for id in (1, 2)
    ]
    data = write_lines(folder / "data" / "dev.jsonl", examples)
    results = folder / "results"
    words = {"entailment": "true", "neutral": "inconclusive"}
    told = [
        f"{n}. {READINGS[label]} Then the claim is {words[label]}." for n, label in enumerate(READINGS, 1)
    ]
    good = {**pair, **sides, "prompt": "Say.", "gold_rewrites": READINGS, "predicted_rewrites": READINGS}
    bad = {"generation": "1. Hm.", "predicted_rewrites": {}, "edit_f1": 0.0}
    write_lines(
        results / "generative_evaluation" / "own-n4.jsonl",
        [{"id": 1, **good, "generation": "\n".join(told), "edit_f1": 1.0}, {"id": 2, **good, **bad}],
    )
    phrases = ("may mean", "does not necessarily mean", "cannot mean", "can only mean")
    write_lines(
        results / "TF_evaluation" / "own.jsonl",
        [
            {
                "example_id": id,
                "template_id": place,
                "prompt": f"Q: {PREMISE} This {phrase}: {reading} True or False?\nA:",
                "prediction": place < id + 1,
                "answer": place < 2,
                "ambiguous_sentence_key": "premise",
                "disambiguation": reading,
                "TF_prob_mass": 0.5,
            }
            for id in (1, 2)
            for reading in READINGS.values()
            for place, phrase in enumerate(phrases)
        ],
    )
    names = dict(zip(("y0", "y1", "d"), (*READINGS.values(), "No lady saw the last ferry."), strict=True))
    write_lines(
        results / "continuation_evaluation" / "own" / "results.jsonl",
        [
            {
                "id": id,
                "ambiguous_sentence": f'"{PREMISE}',
                "options": {
                    name: {"sentence": f'"{text}', "KL_div": value + id / 10}
                    for (name, text), value in zip(names.items(), (0.1, 0.2, 0.3), strict=True)
                },
                "num_conts": 40,
            }
            for id in (1, 2)
        ],
    )
    votes: dict[str, Any] = {"q0_gold": ["neutral"] * 5 + ["entailment"] * 4}
    candidates = [
        ("entailment", READINGS["entailment"]),
        (None, "A bell rang."),
        ("neutral", READINGS["neutral"]),
    ]
    for place, (label, _) in enumerate(candidates, start=1):
        votes[f"q{place}_gold"] = [label or "neutral"] * 8 + ["contradiction"]
        votes[f"d{place}_gold"] = [label is not None or worker < 3 for worker in range(9)]
    shown = {
        "labels": [label for label, _ in candidates],
        "interpretations": [text for _, text in candidates],
    }
    write_lines(
        results / "crowd.jsonl",
        [{"id": 1, **pair, "ambiguous_sent": "premise", "distractor_idx": 1.0, **shown, **votes}],
    )
    rewrites = {label: [{"premise": text, "hypothesis": HYPOTHESIS}] for label, text in READINGS.items()}
    write_lines(
        results / "linguists.jsonl",
        [
            {"id": 1, "worker_ids": ["ann", "bo"], **pair, "annotations": ["neutral, entailment", "neutral"],
             "disambiguations": rewrites},
            {"id": 2, "worker_ids": ["ann"], **pair, "annotations": ["neutral"], "disambiguations": rewrites},
        ],
    )  # fmt: skip
    write_lines(
        results / "multilabel" / "own" / "predictions.jsonl",
        [
            {"id": id, **pair, "labels": "neutral, entailment", "prediction": said}
            for id, said in ((1, "neutral, entailment"), (2, "neutral"))
        ],
    )
    write_lines(
        results / "claims.jsonl",
        [
            {
                "example_id": id,
                "label": "half-true",
                "url": "",
                "claim": f"Says ferries were late {id} times.",
                "person": "somebody",
                "venue": "a speech",
                "justification": "They were.",
                "cleaned_claim": f"Ferries were late {id} times.",
                "ambiguity_score": 0.5 / id,
                "paraphrases": [[f"Boats came late {id} times.", 0.5 / id], ["Boats came late.", 0.01]],
                "annotations": ["a"] if id == 1 else ["f"],
            }
            for id in (1, 2, 9)
        ],
    )
    return data
