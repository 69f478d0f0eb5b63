"""Commands give the same figures of `log.sqlite.xz` as the version that recorded it, to the last digit.

`record.py` records; `moved.yaml` says where an option or a figure went; `outputs.py` what a figure is.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import ask_log, ask_shared, run_names, shared_commands
from golden_log import HERE, askback, at_home, unpack
from items import DIGITS, builtin_hashes
from options import options
from outputs import COMMANDS, MOVED, differences, moved, read
from shared_data import shared_path

EXPECTED = HERE / "expected"
SHOWN = 20


def check_figures(name: str, now: dict[str, Any]) -> None:
    changed = list(differences(read(name, EXPECTED), now))
    assert not changed, f"{len(changed)} figures of {name}:\n" + "\n".join(changed[:SHOWN])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_log_of_that_version_has_its_figures(name: str, tmp_path: Path) -> None:
    check_figures(name, ask_log(name, tmp_path / "home"))


SLOW = ("ambient", "ambik")  # more than ten seconds each


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in shared_commands()]
)
def test_published_data_have_their_figures(name: str, tmp_path: Path) -> None:
    shared_path(name)
    check_figures(f"shared-{name}", ask_shared(name, tmp_path / "home"))


def test_every_option_still_exists_and_means_the_same() -> None:
    known = yaml.safe_load((EXPECTED / "options.yaml").read_text(encoding="utf-8"))
    now = options()
    faults = []
    for name, before in known.items():
        place = moved("options", name)
        today = now.get(place)
        if today is None:
            faults.append(f"missing: {place}")
            continue
        if lost := set(before.get("choices", ())) - set(today.get("choices", before.get("choices", ()))):
            faults.append(f"{place}: no longer takes {', '.join(sorted(lost))}")
        for field in ("type", "default", "required"):
            same = {before.get(field)}
            if field == "type":
                # What may be given several times means the same where it is given once; a text that had to be
                # one of some may name them.
                same |= {f"list[{before['type']}]", *(["choice"] if before["type"] == "str" else [])}
            if today.get(field) not in same and place == name:
                faults.append(f"{place}: {field} was {before.get(field)!r}, is {today.get(field)!r}")
    assert not faults, "\n".join(faults)


def test_built_in_items_have_their_hashes() -> None:
    known = json.loads((EXPECTED / "items.json").read_text(encoding="utf-8"))
    now = builtin_hashes()
    changed = [
        f"{benchmark}: {name}"
        for benchmark, hashes in known.items()
        for name, hash in hashes.items()
        if now.get(benchmark, {}).get(name) != hash
    ]
    assert not changed, f"{len(changed)} items are stored otherwise:\n" + "\n".join(changed[:SHOWN])


def exported(folder: Path, table: str) -> list[dict[str, Any]]:
    text = (folder / f"{table}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_log_s_items_are_named_by_their_content(tmp_path: Path) -> None:
    unpack(tmp_path / "home")
    with at_home(tmp_path / "home"):
        assert askback(["export", "all"]).status == 0
    items = exported(tmp_path / "home" / "all", "items")
    builtin = {hash for hashes in builtin_hashes().values() for hash in hashes.values()}
    benchmarks = {"clarq", "handmethat", "ambibench", "ambient", "ambik"}
    assert {item["benchmark"] for item in items} == {*benchmarks, "study"}
    for item in items:
        text = json.dumps(item["data"], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == item["hash"], item["name"]
    for benchmark in ("clarq", "handmethat", "ambik"):
        there = [item["hash"][:DIGITS] for item in items if item["benchmark"] == benchmark]
        assert sum(hash in builtin for hash in there) >= len(there) / 2, benchmark


REPLAYS = {
    "clarq-models": "run clarq --limit 3 --lang both --turn-limit 6"
    " --seeker {run} --provider {run} --judge {run}",
    "handmethat-models": "run handmethat --limit 2 --turn-limit 4 --robot {run} --human {run}",
    "ambibench-model-wug": "run ambibench --setting wug --limit 2 --model {run}",
    "ambibench-plain-multiple-uninformative": "run ambibench --setting multiple --limit 2 --model {run}",
    "ambient-model-generate": "run ambient --task generate --limit 3 --model {run}",
    "ambik-model-binary": "run ambik --method binary --limit 4 --questions 1 --model {run} --user {run}",
}


@pytest.mark.parametrize("run", REPLAYS)
def test_a_logged_run_is_replayed_word_for_word(run: str, tmp_path: Path) -> None:
    """The same prompts are asked, so that every answer is found in the old log."""
    home = tmp_path / "home"
    unpack(home)
    line = moved("commands", f"{REPLAYS[run]} --concurrency 1 --run again").format(run=f"replay/{run}")
    with at_home(home):
        result = askback(line.split())
        assert result.status == 0, result.out + result.err
        assert askback(["export", "both", "--run", run, "--run", "again"]).status == 0
    episodes = {row["id"]: row for row in exported(home / "both", "episodes")}
    played: dict[str, dict[Any, Any]] = {run: {}, "again": {}}
    for turn in exported(home / "both", "turns"):
        row = episodes[turn["episode_id"]]
        place = row["item_hash"], row["language"], row["repeat"], turn["number"], turn["seat"]
        played[row["run_id"]][place] = turn["text"], _moves(turn["payload"])
    assert played[run]
    assert played["again"] == played[run]


WHO = {"service", "decoding", "generator", "chooser"}  # who answered, and what was set at the server
READ = {"p_x", "p_y", "p_valid"}  # out of a table, which is compared; as scores they have golden files


def _moves(payload: Any) -> Any:
    """Return a turn's payload without what a replay says otherwise."""
    if isinstance(payload, dict):
        return {key: _moves(value) for key, value in payload.items() if key not in WHO | READ}
    return [_moves(value) for value in payload] if isinstance(payload, list) else payload


def transcripts(home: Path) -> dict[str, str]:
    """Of every run the first two episodes, as the log shows them."""
    unpack(home)
    shown = {}
    with at_home(home):
        assert run_names()
        first: dict[str, list[str]] = {}
        assert askback(["export", "all"]).status == 0
        for row in exported(home / "all", "episodes"):
            first.setdefault(row["run_id"], []).append(row["id"])
        for episodes in first.values():
            for episode in episodes[:1]:
                result = askback(["log", "show", episode, "--format", "text"])
                assert result.status == 0, result.err
                shown[episode] = result.out
    return shown


def test_transcripts_hold_every_turn(tmp_path: Path) -> None:
    """However a transcript is laid out, all that was said is in it, in order."""
    home = tmp_path / "home"
    shown = transcripts(home)
    texts: dict[str, list[str]] = {}
    for turn in exported(home / "all", "turns"):
        texts.setdefault(turn["episode_id"], []).append(turn["text"])
    for episode, transcript in shown.items():
        squeezed, place = re.sub(r"\s+", "", transcript), 0
        for text in texts.get(episode, []):
            words = re.sub(r"\s+", "", text)
            assert squeezed.find(words, place) >= 0, (episode, text)
            place = squeezed.find(words, place) + len(words)


def test_what_has_moved_is_still_needed() -> None:
    """Each entry of `moved.yaml` leads from something old to something that exists."""
    known = yaml.safe_load((EXPECTED / "options.yaml").read_text(encoding="utf-8"))
    now = options()
    for pattern, place in MOVED["options"]:
        matching = [match for name in known if (match := re.fullmatch(pattern, name))]
        assert matching, f"no old option is like {pattern}"
        for match in matching:
            assert match.expand(place) in now, f"{match.string} leads to {match.expand(place)}, which is not"
    figures = [
        path for file in EXPECTED.glob("*.json") if file.stem != "items" for path in read(file.stem, EXPECTED)
    ]
    for pattern, _ in MOVED["figures"]:
        assert any(re.fullmatch(pattern, path) for path in figures), f"no old figure is like {pattern}"
