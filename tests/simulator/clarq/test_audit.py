import json
from dataclasses import replace

import pytest
from shared_data import SHARED
from typer import Typer
from typer.testing import CliRunner

from logs import LogReader, LogWriter, erase_participant
from logs.rows import Participant
from simulator.clarq.audit import (
    audit,
    audit_left_out,
    audit_provider,
    audit_section,
    decision_tables,
    measures,
    replay,
    replay_table,
)
from simulator.clarq.experts import Choice, Classification, TurnType, Verdict
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.results import Dialogue, ProviderStep, import_results, load_dialogues, read_results
from simulator.clarq.training import training_questions
from simulator.errors import InputError
from simulator.seats import Line
from trees import Background, Frontier, Node, Task, Tree

RESULTS = SHARED / "clarq" / "results"
needs_data = pytest.mark.skipif(
    not RESULTS.is_dir(), reason=f"published results not found at {RESULTS}; set ASKBACK_SHARED"
)
TREE = Tree("Open it.", (Node("1", "One."), Node("1.1", "Inside one."), Node("2", "Two.")))


class Scripted:
    """Experts that give the nodes whose indices the seeker's words name."""

    name = "offline/scripted"

    def __init__(self, changes=()):
        self.changes = dict(changes)

    async def relevant(self, situation):
        return Verdict(True)

    async def classify(self, situation):
        return Classification(TurnType.UNANSWERABLE)

    async def walk(self, situation, *, multi):
        words = situation.utterance.removeprefix("give").split()
        return Choice(tuple(self.changes.get(word, word) for word in words if word != "none"))

    async def join(self, situation, nodes):
        return ""

    async def respond(self, situation, type):
        return "Hm."


def dialogue(*turns, type=1, language="en"):
    """A dialogue whose seeker names the nodes that the provider then gives."""
    task = Task("t", type, language, Background("a", "b"), TREE)
    lines = [Line("provider", "Hello"), Line("seeker", "How?"), Line("provider", TREE.opening)]
    frontier = Frontier(TREE)
    steps = [ProviderStep(2, frontier, (), opens=True)]
    frontier = frontier.open()
    for given in turns:
        lines += [Line("seeker", f"give {' '.join(given) or 'none'}")]
        steps.append(ProviderStep(len(lines), frontier, tuple(given)))
        lines += [Line("provider", "…")]
        frontier = frontier.give(given)
    return Dialogue(f"{type}", task, tuple(lines), tuple(steps))


@pytest.mark.each(
    ("logged", "decided", "errors"),
    [
        (("1",), ("1",), (0, 0, 0)),
        (("1",), ("2",), (1, 0, 0)),
        (("1",), (), (0, 1, 0)),
        ((), ("1",), (0, 0, 1)),
        (("1", "2"), ("2", "1"), (0, 0, 0)),
        (("1", "2", "3"), ("3", "4"), (1, 1, 0)),
        (("1",), ("1", "2", "3"), (0, 0, 2)),
    ],
)
def test_errors_are_counted_by_nodes(logged, decided, errors):
    values = measures(logged, decided)
    assert tuple(values[name] / 100 for name in ("wrong", "missed", "unasked")) == errors
    assert values["agreement"] == (errors == (0, 0, 0))


def rows(table):
    """Return the rows of a table as dictionaries."""
    heads = [getattr(column, "name", column) for column in table.columns]
    return [dict(zip(heads, row, strict=True)) for row in table.rows]


async def test_agreement_and_errors_per_hundred_turns():
    dialogues = [dialogue(["1"], ["2"], [], ["1.1"], type=1), dialogue(["2"], ["1"], type=2)]
    compared = await audit(Scripted({"2": "1"}), dialogues, multi=False)
    # The opening's turn is not a decision. Of six, the two 2s become 1s, which in type 1 is given already.
    assert compared["agrees"].tolist() == [True, False, True, True, False, True]
    by_language, by_type = map(rows, decision_tables(compared))
    (row,) = by_language
    assert row["agreement"].value == pytest.approx(4 / 6)
    assert row["agreement"].low == pytest.approx(0.5)
    assert row["agreement"].high == pytest.approx(0.75)
    assert (row["wrong"].value, row["missed"].value) == pytest.approx((100 / 6, 100 / 6))
    assert [(row["type"], row["turns"]) for row in by_type] == [("en 1", 4), ("en 2", 2)]
    perfect, _ = decision_tables(await audit(Scripted(), dialogues, multi=False))
    assert rows(perfect)[0]["agreement"].value == 1


async def test_within_a_type_dialogues_are_resampled():
    half = dialogue(["1"], ["2"])
    dialogues = [replace(half, id="half"), replace(half, id="again"), dialogue(["1"], ["1.1"])]
    _, by_type = decision_tables(await audit(Scripted({"2": "1"}), dialogues, multi=False))
    (row,) = rows(by_type)
    assert row["agreement"].n == 6
    assert row["agreement"][:3] == pytest.approx((4 / 6, 0.5, 1))


async def test_the_single_info_provider_is_asked_for_one_node():
    dialogues = [dialogue(["1", "2"], ["1.1"])]
    single = await audit(Scripted(), dialogues, multi=False)
    several = await audit(Scripted(), dialogues, multi=True)
    assert single["decided"].tolist() == [("1",), ("1.1",)]
    assert several["decided"].tolist() == [("1", "2"), ("1.1",)]


async def test_replaying_lets_differences_carry_over():
    dialogues = [dialogue(["1"], ["2"], ["1.1"]), dialogue(["2"], ["1"], [])]

    async def values(experts):
        (row,) = rows(replay_table(await replay(experts, dialogues, multi=False)))
        return row["replayed"].value, row["logged"].value, row["difference"].value

    assert await values(Scripted()) == (0.5, 0.5, 0)
    assert await values(Scripted({"1": "9"})) == (0, 0.5, -0.5)


async def test_nothing_to_audit():
    with pytest.raises(InputError, match="no provider turn"):
        audit_section(await audit(Scripted(), [], multi=False), provider="x", multi=False)


async def test_the_report_names_disagreements():
    compared = await audit(Scripted({"2": "1"}), [dialogue(["1"], ["2"], [])], multi=False)
    text = audit_section(compared, provider="x", multi=False, show=5).text
    assert "1 line 6: available 1.1, 2, logged 2, decided none" in text
    assert "give 2" in text


def record(*lines):
    return {
        "all_response": "Jax: Bake the bread in an oven.\nJax: Use rye flour.\nJax: The mill oven is hot.",
        "gold_structure": ["1", "2"],
        "all_response_exaplain": ["There are two flours. Which flour to use.", "Which oven to use."],
        "background_splitted": ["baker", "bake bread", "Rye flour\nWheat flour", "", "Mill oven\nTown oven"],
        "background": "You are a baker.",
        "l2l": [list(lines)],
    }


@pytest.fixture
def results(tmp_path):
    lines = (
        "Jax: what can help you?", "How do I bake bread?", "Jax: Bake the bread in an oven.",
        "Which flour should I use, rye or wheat?", "Jax: Use rye flour.",
        "Which oven, the mill oven or the town oven?", "Jax: The mill oven is hot.", "Goodbye!",
    )  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps([[record(*lines)]]), encoding="utf-8")
    return path


def test_a_file_and_the_run_imported_from_it_are_the_same(results, tmp_path):
    log = tmp_path / "log.db"
    with LogWriter(log, durable=False) as writer:
        import_results(read_results(results), writer, "published")
    ((from_file,), _) = load_dialogues([str(results)], log)
    ((from_log,), erased) = load_dialogues(["published"], log)
    assert erased == 0
    assert from_file.complete and from_log.complete
    assert from_log.steps == from_file.steps
    assert from_log.lines == from_file.lines


def test_withdrawn_participants_are_not_audited_but_counted(results, tmp_path):
    log = tmp_path / "log.db"
    with LogWriter(log, durable=False) as writer:
        import_results(read_results(results), writer, "published")
        with LogReader(log) as reader:
            (whole,) = reader.episodes("published")
            turns = reader.turns(whole.id)
        writer.put(Participant(id="gone"))
        writer.put(replace(whole, id="taken-back", repeat=1, participant_id="gone"))
        for turn in turns:
            writer.put(replace(turn, episode_id="taken-back", key=None))
    assert len(load_dialogues(["published"], log)[0]) == 2
    erase_participant(log, "gone")
    (remaining,), erased = load_dialogues(["published"], log)
    assert (remaining.id, erased) == (whole.id, 1)
    printed = run("published", "--log", log)
    assert "2 decisions, 1 erased" in printed.output
    (section,) = json.loads(run("published", "--json", "--log", log).output)["sections"]
    assert section["data"]["erased"] == 1


def test_an_unknown_source(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_dialogues(["nothing"], tmp_path / "log.db")


def run(*arguments):
    app = Typer()
    app.command()(audit_provider)
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_command(results, tmp_path):
    log = tmp_path / "log.db"
    printed = run(results, "--show", "3", "--log", log)
    assert printed.exit_code == 0, printed.output
    assert "offline/experts" in printed.output
    (section,) = json.loads(run(results, "--json", "--log", log).output)["sections"]
    tables, data = {table["name"]: table["rows"] for table in section["tables"]}, section["data"]
    assert tables["by_language"][0]["agreement"]["value"] == 1
    assert tables["replay"][0]["replayed"]["value"] == 1
    assert [turn["decided"] for turn in data["turns"]] == [["1"], ["2"]]


def test_the_command_refuses_a_player_that_cannot_provide(results, tmp_path):
    result = run(results, "--provider", "offline/seeker", "--log", tmp_path / "log.db")
    assert isinstance(result.exception, InputError)


# Promised agreement of the built-in provider on its training data and on other data.


@needs_data
@pytest.mark.parametrize(
    ("name", "multi", "agreement"),
    [
        pytest.param("l2l_GPT-4o_seeker_vs_GPT-4o_provider.Comp.En", False, 0.84, marks=pytest.mark.slow),
        ("l2l_GPT-4o_seeker_vs_GPT-4o_provider.Comp.Ch", False, 0.85),
        pytest.param(
            "l2l_GPT-4o_seeker_vs_GPT-4o_multi_info_provider.Comp.En", True, 0.67, marks=pytest.mark.slow
        ),
    ],
)
async def test_the_offline_provider_decides_as_the_published_one(name, multi, agreement):
    dialogues = read_results(RESULTS / f"{name}.types1-10.json").dialogues
    experts = OfflineExperts()
    by_language, _ = decision_tables(await audit(experts, dialogues, multi=multi))
    assert rows(by_language)[0]["agreement"].value > agreement
    (replayed,) = rows(replay_table(await replay(experts, dialogues, multi=multi)))
    assert abs(replayed["difference"].value) <= 0.06


@needs_data
@pytest.mark.slow
async def test_left_out_types_agree_too():
    names = ("provider.Comp.En", "provider.Comp.Ch", "multi_info_provider.Comp.En")
    files = [read_results(RESULTS / f"l2l_GPT-4o_seeker_vs_GPT-4o_{name}.types1-10.json") for name in names]
    sections = await audit_left_out([file.dialogues for file in files], training_questions())
    single, several, labelled = ([rows(table) for table in section.tables] for section in sections)
    en, zh = single[0]
    assert en["agreement"].value > 0.83 and zh["agreement"].value > 0.84
    # Turns per hundred that get a node that the log does not give; one in six is a Response II.
    assert en["unasked"].value < 3.5 and zh["unasked"].value < 4.5
    assert en["II kept"].value > 0.78 and zh["II kept"].value > 0.6
    (multi,) = several[0]
    assert multi["agreement"].value > 0.66
    assert abs(several[2][0]["difference"].value) <= 0.05
    for row in labelled[0]:
        assert row["agreement"].value > 0.86
        assert row["II kept"].value > 0.82


async def test_types_can_only_be_left_out_of_several(results):
    with pytest.raises(InputError, match="several task types"):
        await audit_left_out([read_results(results).dialogues], ())


def test_only_what_can_be_trained_is_audited_on_types_left_out(results):
    refused = run(results, "--leave-types-out", "--provider", "openai/gpt-4o")
    assert isinstance(refused.exception, InputError)
    missing = run("a-run", "--leave-types-out")
    assert isinstance(missing.exception, InputError) and "a-run" in str(missing.exception)


async def test_responses_two_are_counted():
    scripted = Scripted({"1": "none", "nothing": "1"})
    by_language, _ = decision_tables(await audit(scripted, [dialogue([], ["1"], ["2"])], multi=False))
    (row,) = rows(by_language)
    assert (row["II kept"].value, row["II kept"].n) == (1, 1)
    assert (row["wrong II"].value, row["unasked"].value) == (pytest.approx(100 / 3), 0)
    never, _ = decision_tables(await audit(Scripted(), [dialogue(["1"])], multi=False))
    assert rows(never)[0]["II kept"] is None
