"""Attacks on a running study by strangers and participants: none gains a place, a row or an answer."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlparse

import pytest
from fastapi.testclient import TestClient
from over_http import Browser

from logs import LogReader, LogWriter, load_key
from logs.export import export_log
from logs.schema import TABLES
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.data import load_items
from simulator.clarq.sessions import ClarqSessions
from simulator.studies import Study, StudyDesk
from simulator.studies.known import find_study
from simulator.studies.people import link_key, personal_link, preview_link, study_link
from simulator.studies.places import REFUSED
from ui.limits import Starts
from ui.server import create_server
from ui.tokens import SECRET_FILE, Pass, Signer

SITE = "http://127.0.0.1:7860"
RIGHT = "4711"
KEYS = {who: f"key-of-{who}-0000000" for who in ("anna", "ben", "eve")}
EVIL = (
    "' OR 1=1; DROP TABLE turns; --",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "${7919*7919}#{7919*7919}{% raw %}",
    "\u202eannA",
    "../../../log.sqlite",
    "%s%n%x",
    "anna\x00eve",
)


def signed(**changes: Any) -> Study:
    plain = find_study("clarq-h2l").to_json()
    question = {"id": "code", "text": "Which code?", "kind": "number", "when": "before", "right": RIGHT}
    given = {"id": "attacked", "signed_links": True, "questions": [question], "sets_per_participant": 1}
    return Study.model_validate(plain | given | changes)


@dataclass
class House:
    """A running server with a study of signed links, and anna and ben in it."""

    browser: Browser
    reader: LogReader
    desk: StudyDesk
    home: Path
    links: dict[str, str]
    places: dict[str, str]

    @property
    def key(self) -> bytes:
        return load_key(self.reader.path)

    def call(self, name: str, who: str = "anna", **data: Any) -> Any:
        page = {"path": "/play", "query": self.places.get(who, ""), "language": "en"}
        return self.browser.client.post(f"/api/call/{name}", json=page | data)

    def enter(self, query: str, who: str = "eve") -> Any:
        return self.call("enter_study", path="/study", query=query, participant_key=KEYS[who])

    def token(self, who: str) -> str:
        return parse_qs(self.places[who])["t"][0]

    def rows(self) -> dict[str, int]:
        """Return how many rows each table has; that somebody was sent away is told in one of them."""
        with self.reader.connection() as connection:
            counts = {
                table.name: int(connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0])
                for table in TABLES.values()
            }
        return counts | {"events": counts["events"] - len(self.reader.events(kind=REFUSED))}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("home")
    path = home / "log.sqlite"
    study, other = signed(), signed(id="elsewhere", exclude=[])

    def nothing(name: str) -> Any:
        raise AssertionError(name)

    with LogWriter(path, durable=False, group_seconds=0.0) as writer, LogReader(path) as reader:

        async def build() -> Any:
            sessions = ClarqSessions(CLARQ, writer, reader, nothing, studies=[study, other])
            return sessions, create_server([sessions], home=home, starts=Starts(0))

        sessions, server = asyncio.run(build())
        client = TestClient(server, base_url=SITE, raise_server_exceptions=False)
        house = House(Browser(client), reader, sessions._desks["attacked"], home, {}, {})
        for who in ("anna", "ben"):
            link = personal_link(study, house.key, SITE, who)
            house.links[who] = f"study=attacked&{urlparse(link).query}"
            go = house.enter(house.links[who], who).json()["go"]
            house.places[who] = urlparse(go).query
        yield house


def entries(house: House) -> Iterator[tuple[str, str]]:
    """Links that eve comes by, by what is wrong with them."""
    own = {"PROLIFIC_PID": "eve"}

    def link(**values: str) -> str:
        return urlencode({"study": "attacked", **own, **values})

    key, study = house.key, house.desk.study
    yield "without a key", link()
    yield "an empty key", link(key="")
    yield "a made-up key", link(key="a" * 20)
    yield "a key that is cut", link(key=link_key(study, key, "eve")[:-1])
    yield "another person's key", link(key=link_key(study, key, "anna"))
    yield "another study's key", link(key=link_key(signed(id="elsewhere"), key))
    yield "another server's key", link(key=link_key(study, b"x" * 32, "eve"))
    yield "the key in capitals", link(key=link_key(study, key, "eve").upper())
    yield "a preview's key", link(key=dict(parse_qsl(urlparse(preview_link(study, key, SITE)).query))["key"])
    yield "an alphabet beside ASCII", link(key="é" * 20)
    yield "two keys, the wrong one last", link(key=link_key(study, key, "eve")) + "&key=x"
    yield "two people, another one's key", link(key=link_key(study, key, "anna")) + "&PROLIFIC_PID=eve"
    yield (
        "anna's link in another's browser, unsigned",
        urlencode({"study": "attacked", "PROLIFIC_PID": "anna"}),
    )
    yield "a study that is not there", urlencode({"study": "../attacked", **own})
    yield "a study of two names", f"{link()}&study=nowhere"
    yield "a pseudonym", link(PROLIFIC_PID=house.desk.ledger()[0].participant)
    yield "an id without end", link(PROLIFIC_PID="x" * 1500)
    yield "a link that was not filled in", link(PROLIFIC_PID="{{%PROLIFIC_PID%}}")


def seats(house: House) -> Iterator[tuple[str, str]]:
    """Tokens of seats that this server has given to nobody, by what is wrong with them."""
    good, signer = house.token("anna"), Signer.at(house.home)
    mine = signer.read(good)
    payload, _, signature = good.partition(".")
    yield "no token", ""
    yield "without a signature", payload
    yield "with another's signature", f"{payload}.{house.token('ben').partition('.')[2]}"
    yield "cut", good[:-3]
    yield "with a tail", f"{payload}.{signature}{signature}"
    yield "of another server", Signer(b"another").sign(mine)
    yield "of an episode that is not there", signer.sign(Pass("attacked/99", "seeker", study="attacked"))
    yield (
        "of another benchmark",
        signer.sign(Pass(mine.episode_id, mine.seat, benchmark="ambik", study="attacked")),
    )
    yield "of the run's name", signer.sign(Pass("study-attacked", "seeker", study="attacked"))


CALLS: dict[str, dict[str, Any]] = {
    "page": {},
    "send": {"render": "render-0001", "number": 0, "text": "yes"},
    "withdraw": {},
    "leave": {},
    "wait_again": {},
    "acknowledge": {"message": "0" * 16},
    "next_set": {},
}
FORMS: dict[str, dict[str, Any]] = {
    "a number as text": {"number": "0; DROP TABLE turns"},
    "a number below": {"number": -1},
    "a number beyond": {"number": 10**9},
    "a key with a path": {"render": "../../x"},
    "a key that is too long": {"render": "x" * 65},
    "a text that is too long": {"text": "x" * 4001},
    "a text that is a list": {"text": ["yes"]},
    "too many answers": {"answers": {f"q{number}": "x" for number in range(101)}},
    "an answer that is too long": {"answers": {"code": "x" * 4001}},
    "an answer of objects": {"answers": {"code": {"right": True}}},
    "answers that are a list": {"answers": [["code", RIGHT]]},
    "a time beyond": {"seconds": 1e30},
    "a time that is no number": {"seconds": "NaN"},
    "a day that is none": {"shown_at": "2026-13-45"},
}


def attacks(house: House) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everything that is tried, by name."""
    for name, query in entries(house):
        yield f"enter by {name}", lambda query=query: house.enter(query)
    for what in ("", "short", "x" * 65, "<b>", None, 7):
        body = {"path": "/study", "query": house.links["anna"], "participant_key": what}
        yield f"enter with the browser's key {what!r}", lambda body=body: house.call("enter_study", **body)
    for wrong, token in seats(house):
        for name, fields in CALLS.items():
            query = urlencode({"t": token})
            yield (
                f"{name} with a token {wrong}",
                lambda n=name, q=query, f=fields: house.call(n, query=q, **f),
            )
    for name, fields in FORMS.items():
        yield f"send {name}", lambda f=fields: house.call("send", **(CALLS["send"] | f))
    yield "the answer before the consent", lambda: house.call("send", **CALLS["send"] | {"number": 3})
    yield "anna lets ben's partner wait", lambda: house.call("wait_again")
    yield "anna leaves a pair that there is not", lambda: house.call("leave")
    for name in ("exclude", "free", "send_message", "close", "erase", "mark", "judge_run", "__init__"):
        yield f"a researcher's function {name}", lambda n=name: house.call(n, participant="anna")
    for path in (
        "/api/state",
        f"/api/state?t={house.token('anna')}",
        "/study/attacked",
        "/clarq/study/attacked",
    ):
        yield f"GET {path}", lambda p=path: house.browser.client.get(p, follow_redirects=False)
    yield (
        "a post from another site",
        lambda: house.browser.client.post(
            "/api/call/withdraw", json={}, headers={"origin": "https://evil.example"}
        ),
    )


def test_no_attack_writes_a_row_or_shows_what_is_hidden(house: House) -> None:
    every = list(attacks(house))
    assert len({name for name, _ in every}) == len(every) >= 60
    hidden = [
        RIGHT,
        house.key.hex(),
        (house.home / SECRET_FILE).read_bytes().hex(),
        "Traceback",
        link_key(house.desk.study, house.key, "ben"),
        *(node.text for task in load_items("builtin", "en") for node in task.tree.nodes),
    ]
    through = []
    for name, attack in every:
        before = house.rows()
        answer = attack()
        if answer.status_code >= 500 and not answer.text.startswith(("{", "Internal")):
            through.append(f"{name}: {answer.status_code} {answer.text[:80]!r}")
        if (after := house.rows()) != before:
            new = {table: count - before[table] for table, count in after.items() if count != before[table]}
            through.append(f"{name}: wrote {new}")
        through += [f"{name}: shows {text[:30]!r}" for text in hidden if text in answer.text]
        if (went := "go" in answer.text and answer.json().get("go")) and name.startswith("enter"):
            through.append(f"{name}: was let in to {went}")
    assert not through, "\n".join(through)
    # And anna, whom most of it was about, goes on.
    assert 'data-stage="consent"' in house.call("page").json()["html"]


def test_a_link_that_comes_again_gives_the_place_that_it_gave(house: House) -> None:
    """A personal link is its holder's in any browser; it never makes a second place, nor anybody else's."""
    before = house.rows()
    again = house.enter(house.links["anna"], "eve").json()
    assert urlparse(again["go"]).query == house.places["anna"]
    after = house.rows()
    assert {table: after[table] for table in ("assignments", "episodes", "participants")} == {
        table: before[table] for table in ("assignments", "episodes", "participants")
    }


def test_ids_of_any_form_are_data_and_nothing_else(house: House, tmp_path: Path) -> None:
    study, key = house.desk.study, house.key
    for evil in EVIL:
        query = f"study=attacked&{urlparse(personal_link(study, key, SITE, evil)).query}"
        answer = house.enter(query).json()
        assert "go" in answer, (evil, answer)
        go = answer["go"]
        page = house.call("page", query=urlparse(go).query).json()["html"]
        assert evil not in page and str(7919**2) not in page, evil
    assert house.rows()["participants"] == len(house.desk.ledger()) == 2 + len(EVIL)
    values = {row.value for row in house.reader.identities(kind="prolific_pid")}
    assert values == {"anna", "ben", *(evil.strip() for evil in EVIL)}
    # Neither links, the log of what happened nor exports hold them, unless identities are asked for.
    assert study_link(study, key, SITE).count("PROLIFIC_PID") == 2
    export_log(house.reader, tmp_path / "plain", format="csv")
    plain = "".join(file.read_text("utf-8-sig") for file in (tmp_path / "plain").glob("*.csv"))
    assert not [evil for evil in EVIL if evil in plain]
    export_log(house.reader, tmp_path / "named", format="csv", identities=True)
    with (tmp_path / "named" / "identities.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "-", "\t"))]


def test_neither_page_source_nor_configuration_nor_state_tells_what_comes(house: House) -> None:
    texts = [node.text for task in load_items("builtin", "en") for node in task.tree.nodes]
    seen = [
        house.browser.client.get(path, headers={"accept": "text/html"}).text
        for path in (
            "/",
            "/config",
            "/gradio_api/info",
            f"/play?{house.places['ben']}",
            "/study?study=attacked",
        )
    ]
    state = house.browser.client.get("/api/state", headers={"x-askback-seat": house.token("ben")})
    assert state.status_code == 200
    seen += [state.text, house.call("page", "ben").json()["html"]]
    for text in seen:
        assert RIGHT not in text and not [node for node in texts if node in text]
        assert "anna" not in text


def test_a_study_that_is_not_there_has_a_page(house: House) -> None:
    get, html = house.browser.client.get, {"accept": "text/html"}
    for path in (
        "/clarq/study/none",
        "/clarq/study/..%2fattacked",
        "/ambik/study/attacked",
        "/none/study/attacked",
    ):
        answer = get(path, headers=html, follow_redirects=False)
        assert (answer.status_code, "Page not found" in answer.text) == (404, True), path
    assert get("/clarq/study/none", follow_redirects=False).headers["content-type"] == "application/json"
    assert get("/clarq/study/attacked", headers=html, follow_redirects=False).status_code == 307
