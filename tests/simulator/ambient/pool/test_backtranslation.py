from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from personas.templates import describe
from simulator import studies
from simulator.ambient import assignment, distractors_command
from simulator.ambient.data import load_examples
from simulator.ambient.distractors_command import (
    FolderTranslator,
    ModelTranslator,
    back_translate,
    language_called,
    languages,
    sources,
)
from simulator.ambient.files.dataset import DISTRACTORS, load_distractors
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.prepare import crowd_items
from simulator.errors import InputError
from simulator.models import BadRequest, Capabilities, Completion, Refused, ScriptModel
from simulator.runner.options import ModelFlags
from simulator.studies.quota import quota_of

SENTENCE = "We saw her duck."
YORUBA = language_called("yoruba")


class Scripted:
    """A translator with given back-translations and samples."""

    name = "scripted"

    def __init__(self, back, *draws):
        self.backs, self.drawn, self.seeds = back, draws, []

    async def translate(self, text, *, back, seed=None):
        if not back:
            return [f"[{text}]"]
        if seed is None:
            return [self.backs]
        self.seeds.append(seed)
        return self.drawn


def there_and_back(translator, *, seed=0, readings=()):
    return asyncio.run(back_translate(translator, SENTENCE, seed=seed, readings=readings))


def test_a_different_back_translation_is_used_directly():
    translator = Scripted("We saw her bird. ", "never")
    result = there_and_back(translator)
    assert (result.distractor, result.pivot, result.resampled) == ("We saw her bird.", f"[{SENTENCE}]", False)
    assert translator.seeds == []


@pytest.mark.each("same", [SENTENCE, f" {SENTENCE} ", "", f"[{SENTENCE}]", "We saw her bird."])
def test_invalid_distractors_are_sampled_again(same):
    draws = (SENTENCE, "One.", "", "Two.", "We saw her bird.")
    distractors = {
        there_and_back(Scripted(same, *draws), seed=seed, readings=["We saw her bird."]).distractor
        for seed in range(20)
    }
    assert distractors == {"One.", "Two."}
    translator = Scripted(same, *draws)
    once = there_and_back(translator, seed=4, readings=["We saw her bird."])
    assert once.resampled
    assert once == there_and_back(translator, seed=4, readings=["We saw her bird."])
    assert len(set(translator.seeds)) == 1


def test_without_a_different_back_translation_there_is_no_distractor():
    result = there_and_back(Scripted(SENTENCE, *[SENTENCE] * 5))
    assert result.distractor is None and result.resampled


def test_languages():
    assert language_called("Yoruba").code == "yor_Latn"
    assert "english" in languages()
    for wrong in ("english", "klingon"):
        with pytest.raises(InputError, match="yoruba"):
            language_called(wrong)


@pytest.mark.parametrize("prompts", ["en", "zh"])
def test_a_model_translates_there_and_back_and_is_sampled(prompts):
    seen = []

    def script(request):
        seen.append(request)
        text = request.messages[0].content
        assert "Yoruba" in text or "约鲁巴语" in text
        if request.temperature:
            return f'"Drawn {len(seen)}."'
        return f"<<<{SENTENCE}>>>" if "A ri" in text else "A ri\npepeye re."

    model = ScriptModel(script)
    result = there_and_back(ModelTranslator(model, YORUBA, prompts=prompts))
    assert result.pivot == "A ri pepeye re."
    assert result.resampled and result.distractor.startswith("Drawn ")
    assert [sent.temperature for sent in seen] == [0.0, 0.0, *[2.0] * 5]
    assert seen[0].purpose == "ambient.distractor.translate"
    version = describe("ambient/translate_back", prompts).version
    assert {sent.prompt_version for sent in seen[1:]} == {version}
    assert not any(sent.plain for sent in seen)


def test_a_model_that_only_continues_gets_a_separate_line():
    able = Capabilities(plain=True, schema=False, samples=True)
    seen = []

    def script(request):
        seen.append(request)
        return Completion(text="A bird.", samples=("A bird.",))

    there_and_back(ModelTranslator(ScriptModel(script, capabilities=able), YORUBA))
    assert all(sent.plain and sent.stop == ("\n",) for sent in seen)
    assert all(sent.messages[0].content.endswith("\n") for sent in seen)


def test_quotes_stay_where_the_sentence_has_them():
    model = ScriptModel(lambda request: '"Quoted."')
    translator = ModelTranslator(model, YORUBA)
    assert asyncio.run(translator.translate("Plain.", back=False)) == ("Quoted.",)
    assert asyncio.run(translator.translate('"Plain."', back=False)) == ('"Quoted."',)


@pytest.fixture(scope="module")
def many_to_many(tmp_path_factory):
    """Return a random encoder-decoder model that knows the codes of English and Yoruba."""
    torch = pytest.importorskip("torch", reason="pip install 'askback[local]'")
    transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")
    words = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdehrsuw.", "eng_Latn", "yor_Latn", "<mask>"]
    tokenizer = transformers.NllbTokenizer(
        vocab={word: place for place, word in enumerate(words)},
        merges=[],
        src_lang="eng_Latn",
        additional_special_tokens=["eng_Latn", "yor_Latn"],
    )
    torch.manual_seed(0)
    config = transformers.M2M100Config(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=256,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        init_std=0.5,
    )
    folder = tmp_path_factory.mktemp("nllb")
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_translation_model_in_a_folder(many_to_many):
    translator = FolderTranslator(many_to_many, YORUBA, device="cpu")

    async def all_ways():
        ways = [await translator.translate("We saw her.", back=back) for back in (False, True)]
        return *ways, *[await translator.translate("saw", back=True, seed=3) for _ in range(2)]

    there, back, drawn, again = asyncio.run(all_ways())
    assert [len(there), len(back)] == [1, 1]
    assert len(drawn) == 5 and drawn == again


def test_folders_that_do_not_translate(many_to_many, encoder, tmp_path):
    for folder, language, message in (
        (tmp_path / "gone", "yoruba", "no such folder"),
        (many_to_many, "german", "does not know deu_Latn"),
    ):
        with pytest.raises(InputError, match=message):
            FolderTranslator(folder, language_called(language), device="cpu")


# --- files and the command -----------------------------------------------------------------------------


def row(**more):
    return {"id": 1, "side": "premise", "distractor": "D.", **more}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_files_of_distractors(tmp_path, caplog):
    path = write(
        tmp_path / "d.jsonl",
        row(),
        row(id="2", side="hypothesis", distractor=None),
        row(id="3", side="middle"),
        row(id="4", distractor=""),
        {"id": "5", "side": "premise"},
    )
    read = DISTRACTORS.read(path)
    assert [record.id for record in read.rows] == ["1", "2"]
    assert [fault.line for fault in read.faults] == [3, 4, 5]
    assert TABLES.kind_of(path).name == "distractors"
    # A faulty row costs itself and is told; a file without a good row is refused.
    assert load_distractors(path) == {("1", "premise"): "D."}
    assert "3 rows of" in caplog.text and "left out" in caplog.text
    with pytest.raises(InputError, match="side"):
        load_distractors(write(tmp_path / "bad.jsonl", row(side="middle")))
    assert load_distractors(write(path, row(), row(id=2, distractor=None))) == {("1", "premise"): "D."}


def test_a_file_of_another_version_of_the_data_is_refused(tmp_path):
    example = next(candidate for candidate in load_examples() if candidate.xor)
    side = example.sides[0]
    path = tmp_path / "d.jsonl"
    good = row(id=example.id, side=side, sentence=example.sentence(side))
    assert load_distractors(write(path, good), [example]) == {(example.id, side): "D."}
    with pytest.raises(InputError, match=f"line 1: the {side} of example {example.id} has changed"):
        load_distractors(write(path, {**good, "sentence": "Older."}), [example])


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))

    def invoke(*words, script):
        reached = ModelFlags.options

        def options(flags, log, **named):
            return replace(reached(flags, log, **named), script=script, cache_path=None)

        monkeypatch.setattr(ModelFlags, "options", options)
        app = typer.Typer()
        app.command()(distractors_command.generate_distractors)
        line = ["--out", "d.jsonl", "--log", "log.sqlite", *map(str, words)]
        return CliRunner().invoke(app, line, catch_exceptions=False, env={"COLUMNS": "300"})

    return invoke


def turns(request):
    """A translator that changes a sentence on the way back."""
    sentence = request.messages[0].content.split("<<<")[1].split(">>>")[0]
    return f"Pivot: {sentence}" if "into Yoruba" in request.messages[0].content else f"Otherwise {sentence}"


MODEL = ("--model", "offline/script")


def test_distractors_for_all_that_crowdworkers_see(run, tmp_path):
    done = run(*MODEL, script=turns)
    sentences = sources(load_examples())
    assert done.exit_code == 0, done.output
    assert f"{len(sentences)} ambiguous sentences, {len(sentences)} with a distractor; 0 were" in done.output
    loaded = load_distractors("d.jsonl", load_examples())
    assert len(loaded) == len(sentences)
    assert loaded[sentences[0].id, sentences[0].side] == f"Otherwise Pivot: {sentences[0].sentence}"
    items = crowd_items(load_examples(), seed=1, distractors=loaded)
    shown = [candidate.sentence for item in items for candidate in item.candidates if candidate.label is None]
    assert shown and all(text.startswith("Otherwise Pivot: ") for text in shown)


def test_a_study_takes_the_file(run, tmp_path):
    assert run(*MODEL, script=turns).exit_code == 0
    settings = {"task": "crowd", "distractors": str(tmp_path / "d.jsonl")}
    study = {
        "id": "one",
        "title": "One",
        "benchmark": "ambient",
        "seat": "annotator",
        "judgments_per_item": 9,
        "settings": settings,
    }
    path = tmp_path / "study.yaml"

    def read(**changed):
        path.write_text(yaml.safe_dump({**study, "settings": {**settings, **changed}}))
        return studies.read_study(path)

    items = assignment.ExampleStudy(read()).items.values()
    texts = [candidate.sentence for item in items for candidate in item.candidates if candidate.label is None]
    assert texts and all(text.startswith("Otherwise ") for text in texts)
    for changed, message in (
        ({"task": "annotate"}, "for tasks crowd and evaluate"),
        ({"distractors": 3}, "distractors is 3, not a text"),
        ({"distractors": "gone.jsonl"}, "gone"),
    ):
        with pytest.raises(InputError, match=message):
            quota_of(read(**changed), assignment.ExampleStudy(read(**changed)).cells)


def test_it_goes_on_where_it_stopped(run):
    calls = []

    def breaks(request):
        calls.append(request)
        return BadRequest("down") if len(calls) > 4 else turns(request)

    with pytest.raises(BadRequest):
        run(*MODEL, "--limit", "4", "--concurrency", "1", script=breaks)
    assert len(Path("d.jsonl").read_text().splitlines()) == 2
    calls.clear()
    done = run(*MODEL, "--limit", "4", script=lambda request: (calls.append(request), turns(request))[1])
    assert done.exit_code == 0 and len(calls) == 4
    with pytest.raises(InputError, match="another command"):
        run(*MODEL, "--language", "hausa", script=turns)
    with pytest.raises(InputError, match="another translator"):
        run(*MODEL, "--top-p", 0.5, script=turns)


def test_sentences_without_distractor_are_named(run):
    done = run(*MODEL, "--limit", "2", script=lambda request: Refused("no", text=""))
    names = ", ".join(source.id for source in sources(load_examples())[:2])
    assert done.exit_code == 0
    assert (
        "2 ambiguous sentences, 0 with a distractor" in done.output
        and f"No distractor for {names}" in done.output
    )
    rows = [json.loads(line) for line in Path("d.jsonl").read_text().splitlines()]
    assert [row["distractor"] for row in rows] == [None, None] and "refused" in rows[0]


def test_interrupted(run):
    pressed = []

    def stops(request):
        if not pressed:
            pressed.append(request)
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does; a second would leave a task unawaited
        return turns(request)

    done = run(*MODEL, script=stops)
    assert done.exit_code == 130 and "same command continues" in done.output


@pytest.mark.parametrize("words", [(), (*MODEL, "--translator", "folder")])
def test_one_of_two_ways_to_translate_is_named(run, words):
    with pytest.raises(InputError, match="either --model"):
        run(*words, script=turns)
