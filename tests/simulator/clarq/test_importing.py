import json

import pytest
from typer.testing import CliRunner

from app import cli
from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.clarq.reports import run_section
from simulator.clarq.results import import_results, read_results
from simulator.clarq.score import score_rows, score_run
from simulator.errors import InputError
from trees import Frontier

RECORD = {
    "all_response": "Jax: Bake the bread.\nJax: Use rye flour.\nJax: The mill sells rye flour.",
    "gold_structure": ["1", "1.1"],
    "all_response_exaplain": ["Which flour.", "Where to get it."],
    "background_splitted": ["baker", "bake bread", "Rye flour\nWheat flour", "", "Mill\nMarket"],
    "background": "You are a baker.",
    "l2l": [
        [
            "Jax: what can help you?",
            "How do I bake bread?",
            "Jax: Bake the bread.",
            "Which flour?",
            "Jax: use rye flour, my friend.",
            "Goodbye!",
        ]
    ],
}


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps([[RECORD, RECORD | {"l2l": [RECORD["l2l"][0][:5]]}]]), encoding="utf-8")
    return path


def test_dialogues_become_turns_endings_and_scores(results, log, reader):
    run = import_results(read_results(results), log)
    first, second = reader.episodes(run.id)
    assert first.seats == {"seeker": "published", "provider": "published"}
    turns = reader.turns(first.id)
    assert [turn.seat for turn in turns] == ["provider", "seeker"] * 3
    assert turns[4].text == "use rye flour, my friend."
    assert [turn.payload.get("give") for turn in turns] == [None, None, ["0"], None, ["1"], None]
    assert reader.ending(first.id).status == "completed"
    assert reader.ending(second.id).status == "truncated"
    values = {score.metric: score.value for score in reader.scores(episode_id=first.id)}
    assert values == {"success": 0.0, "aqd": 2 - 3, "aql": pytest.approx((4 + 1 + 0) / 3)}
    assert run_section(reader, run.id).data["unscored"] == 0
    assert reader.progress(run.id).planned == 2


def test_importing_again_adds_nothing(results, log, reader):
    def counts():
        with reader.connection() as connection:
            tables = ("runs", "items", "episodes", "turns", "endings", "scores", "events")
            return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]

    run = import_results(read_results(results), log)
    before = counts()
    assert before == [1, 2, 2, 11, 2, 6, 1]
    assert import_results(read_results(results), log).id == run.id
    assert counts() == before


def test_another_file_is_not_mixed_into_a_run(results, log, reader):
    import_results(read_results(results), log, "mine")
    results.write_text(json.dumps([[RECORD, RECORD, RECORD]]), encoding="utf-8")
    with pytest.raises(InputError, match="--run"):
        import_results(read_results(results), log, "mine")
    assert len(reader.episodes("mine")) == 2


def test_a_file_without_a_readable_dialogue_writes_nothing(tmp_path, log, reader):
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps([[RECORD | {"l2l": []}, RECORD | {"gold_structure": ["1"]}]]), encoding="utf-8"
    )
    with pytest.raises(InputError, match="type 1, task 1: all_response has 3 lines"):
        import_results(read_results(path), log)
    assert reader.runs() == []


def test_a_whole_published_file_is_imported_scored_and_audited(tmp_path):
    """Types 27 to 31 were not played; one row is faulty."""
    unplayed = RECORD | {"gold_structure": ["0", "1", "1.1"], "l2l": [[], []]}
    path, log = tmp_path / "results.json", tmp_path / "log.sqlite"
    types = [[RECORD | {"background": f"Baker {kind}."}] for kind in range(25)]
    types += [[RECORD | {"all_response": 3}, RECORD], *[[unplayed] * 2] * 5]
    path.write_text(json.dumps(types), encoding="utf-8")
    result = CliRunner().invoke(
        cli, ["import", "clarq-results", str(path), "--run", "whole", "--log", str(log)]
    )
    assert result.exit_code == 0, result.output
    assert "26 completed" in result.output
    assert "10 rows without a dialogue" in result.stderr
    assert "type 26, task 0: all_response is 3, not a text" in result.stderr
    with LogReader(log) as reader:
        config = reader.run("whole").config
        assert (config["planned"], config["unplayed"], config["unreadable"]) == (26, 10, 1)
        assert run_section(reader, "whole").tables[0].rows[0][1] == 26
    result = CliRunner().invoke(cli, ["audit", "provider", str(path), "--json", "--log", str(log)])
    assert result.exit_code == 0, result.output
    assert "10 rows without a dialogue" in result.stderr
    assert len({turn["dialogue"] for turn in json.loads(result.stdout)["sections"][0]["data"]["turns"]}) == 26


# The published files against an independent implementation of the rules of spec section 5


def straightforward(record, language):
    """Return success, whether it is open, D and L of one record of a published file."""

    def clean(text):
        text = text.strip()
        text = text[len("Jax:") :].strip() if text.startswith("Jax:") else text
        return text.lower() if language == "en" else text

    responses = [clean(line) for line in record["all_response"].split("\n") if line.strip()]
    gold = [text.rstrip("，。？！,.?!") for text in responses[1:]]
    provider, seeker = record["l2l"][0][0::2], record["l2l"][0][1::2]
    replies = [clean(line) for line in provider[2:]]
    missing = [text for text in gold if not any(text in line for line in replies)]
    other = [line for line in replies if not any(text in line for text in gold)]
    lengths = [line.strip().count(" ") if language == "en" else len(line.strip()) for line in seeker]
    return {
        "success": not missing,
        "needs_judge": bool(missing and other),
        "aqd": len(provider) - 1 - len(responses),
        "aql": sum(lengths) / len(lengths),
    }


FILES = ("provider.Comp.En", "provider.Comp.Ch", "multi_info_provider.Comp.En")


@pytest.mark.parametrize("name", FILES)
def test_published_dialogues_score_as_the_rules_say(published, tmp_path, name):
    (path,) = (published / "results").glob(f"*seeker_vs_GPT-4o_{name}.*.json")
    language = "zh" if name.endswith("Ch") else "en"
    records = [record for tasks in json.loads(path.read_text(encoding="utf-8")) for record in tasks]
    expected = [straightforward(record, language) for record in records]
    with LogWriter(tmp_path / "log.sqlite", durable=False) as log:
        run = import_results(read_results(path), log)
    with LogReader(tmp_path / "log.sqlite") as reader:
        scored = score_run(reader, run.id)
        stored = {(score.episode_id, score.metric): score.value for score in reader.scores(run_id=run.id)}
        ((label, _, success, aqd, aql, needs_judge, _),) = run_section(reader, run.id).tables[0].rows
    for scored_episode, want in zip(scored, expected, strict=True):
        assert {key: getattr(scored_episode.scores, key) for key in want} == want
        rows = score_rows(scored_episode.episode.id, scored_episode.scores)
        assert {(r.episode_id, r.metric): r.value for r in rows}.items() <= stored.items()
    n = len(records)
    assert success.value == pytest.approx(sum(want["success"] for want in expected) / n)
    assert aqd.value == pytest.approx(sum(want["aqd"] for want in expected) / n)
    assert aql.value == pytest.approx(sum(want["aql"] for want in expected) / n)
    assert needs_judge == sum(want["needs_judge"] for want in expected) > 0
    assert (label, success.n) == (language, n)
    assert success.low < success.value < success.high


@pytest.mark.parametrize("name", FILES)
def test_published_dialogues_replay(published, tmp_path, name):
    (path,) = (published / "results").glob(f"*seeker_vs_GPT-4o_{name}.*.json")
    with LogWriter(tmp_path / "log.sqlite", durable=False) as log:
        run = import_results(read_results(path), log)
    with LogReader(tmp_path / "log.sqlite") as reader:
        items = {row.hash: MACHINE.read_item(row) for row in reader.items(run.id)}
        for played in reader.turns_of_run(run.id):
            task = items[played.episode.item_hash]
            shown = MACHINE.replay(task, played.turns, ())
            given = tuple(index for step in shown.steps for index in step.gave if index != "0")
            assert (
                Frontier(task.tree, True, given).withheld
                == Frontier(task.tree, True, shown.scores.obtained).withheld
            )
