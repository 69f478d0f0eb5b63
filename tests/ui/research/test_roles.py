"""Accounts, what each role may do, and who a proxy says that somebody is."""

import asyncio
import itertools

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from test_guard import HTML, app, client
from typer.testing import CliRunner

from app import cli
from simulator.errors import InputError
from ui.accounts import ACCOUNTS_FILE, ROLES, Accounts, NotAllowedError, User
from ui.gradio_setup import mount_blocks
from ui.limits import Throttle
from ui.research import guard
from ui.research.guard import COOKIE, Guard, LogIns, action_event, current_user, require_permission
from ui.security import Access

ADDRESSES = (f"192.0.2.{number}" for number in itertools.count(1))
MARK = {"path": "/research/desk", "query": "desk=review&data=one&reviewer=A", "key": "key-00000001"}
ALLOWED = {
    "viewer": (),
    "editor": ("judge", "study", "run"),
    "owner": ("judge", "study", "run", "payment", "erase"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for role in ROLES:
        Accounts(home / ACCOUNTS_FILE).add(role[:3], role, f"the {role}'s word")
    return home


@pytest.fixture(scope="module")
def bench(unchanging):
    """The module's log, which is this module's to change."""
    return unchanging


@pytest.fixture(scope="module")
def server(bench, home):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASKBACK_RESEARCH_PASSWORD", raising=False)
        return app(bench, home, access=Access(proxies=("192.0.2.200",), addresses=True))


def log_in(server, name, password):
    browser = client(server, next(ADDRESSES))
    answer = browser.post("/research/login", data={"name": name, "password": password}, headers=HTML)
    return browser, answer.status_code


def writes(component):
    """Return True if a component's functions save what is judged."""
    return "call_judge_desk" in component["props"].get("server_fns", ())


def judge(browser, bench, **changes):
    """Send a note on the newest dialogue, as the page of desks does."""
    episode = bench.reader.episodes("one")[0].id
    config = browser.get("/research/config").json()
    component = next(each["id"] for each in config["components"] if writes(each))
    call = {"component_id": component, "fn_name": "call_judge_desk", "session_hash": "s"}
    data = {**MARK, "item": episode, "form": {"dialogue.note": str(changes)}, **changes}
    answer = browser.post("/research/gradio_api/component_server/", json={**call, "data": data})
    assert answer.status_code == 200
    return answer.json()


@pytest.mark.parametrize("role", ROLES)
def test_each_role_reaches_so_far(role):
    assert tuple(action for action in ALLOWED["owner"] if User("A", role).may(action)) == ALLOWED[role]


@pytest.mark.parametrize("role", ROLES)
def test_everybody_reads_and_who_judges_is_in_the_log(server, bench, role):
    before = len(bench.reader.judgments(run_id="one"))
    browser, status = log_in(server, role[:3], f"the {role}'s word")
    assert status == 303
    assert browser.get("/research/config").status_code == 200
    answer = judge(browser, bench, key=f"key-of-{role}")
    events = [each.details for each in bench.reader.events(kind="researcher.judge")]
    if role == "viewer":
        assert answer["saved"] is False and "your role" in answer["problem"]
        assert len(bench.reader.judgments(run_id="one")) == before and not events
    else:
        assert answer["saved"] is True
        assert len(bench.reader.judgments(run_id="one")) == before + 1
        assert events[-1:] == [{"by": role[:3], "call": "judge_desk", "key": f"key-of-{role}"}]


def test_no_function_that_writes_listens_to_a_viewer(server, bench):
    browser, _ = log_in(server, "vie", "the viewer's word")
    components = browser.get("/research/config").json()["components"]
    functions = {(each["id"], name) for each in components for name in each["props"].get("server_fns", ())}
    functions = {(id, name) for id, name in functions if name != "call_page"}
    assert {name for _, name in functions} >= {"call_judge_desk"}
    with bench.reader.connection() as connection:
        before = connection.execute("PRAGMA data_version").fetchone()
        for id, name in functions:
            for data in ({}, MARK, [], None, "x", {"language": "zh"}):
                call = {"component_id": id, "fn_name": name, "session_hash": "s", "data": data}
                answer = browser.post("/research/gradio_api/component_server/", json=call).json()
                assert answer["saved"] is False and answer["problem"], (name, data)
        assert connection.execute("PRAGMA data_version").fetchone() == before


def test_a_name_and_its_password_belong_together(server, bench):
    for name, password in (
        ("own", "the viewer's word"),
        ("nobody", "the owner's word"),
        ("", "the owner's word"),
        ("owner", "the owner's word"),
        ("own", ""),
    ):
        assert log_in(server, name, password)[1] == 401, (name, password)
    page = client(server).get("/research", headers=HTML | {"accept-language": "en"}).text
    assert 'name="name"' in page and "your name and password" in page


def test_a_script_logs_in_with_each_request(server):
    script = client(server, next(ADDRESSES))
    assert script.get("/research/config", auth=("vie", "the viewer's word")).status_code == 200
    assert script.get("/research/config", auth=("vie", "the owner's word")).status_code == 401
    for header in ("Basic ", "Basic %%%", "Basic /w==", "Basic dmll", "Digest x"):
        assert script.get("/research/config", headers={"authorization": header}).status_code == 401


def test_another_password_a_removal_and_a_smaller_role_hold_at_once(server, bench, home):
    accounts = Accounts(home / ACCOUNTS_FILE)
    for name in ("ada", "bob"):
        accounts.add(name, "owner", "a first word")
    ada, bob = (log_in(server, name, "a first word")[0] for name in ("ada", "bob"))
    assert [each.get("/research/config").status_code for each in (ada, bob)] == [200, 200]
    accounts.set_password("ada", "another word")
    assert [each.get("/research/config").status_code for each in (ada, bob)] == [401, 200]
    accounts.remove("bob")
    assert bob.get("/research/config").status_code == 401
    # Neither a new account of that name nor its old password makes the old log-in good.
    accounts.add("bob", "viewer", "a first word")
    assert bob.get("/research/config").status_code == 401
    again, _ = log_in(server, "bob", "a first word")
    assert judge(again, bench)["saved"] is False


def test_a_cookie_of_another_server_opens_nothing(server, bench, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    Accounts(elsewhere / ACCOUNTS_FILE).add("own", "owner", "the owner's word")
    browser, status = log_in(app(bench, elsewhere, access=Access(addresses=True)), "own", "the owner's word")
    assert status == 303
    stranger = client(server, next(ADDRESSES))
    stranger.cookies[COOKIE] = browser.cookies[COOKIE]
    assert stranger.get("/research/config").status_code == 401


@pytest.mark.slow
def test_many_tries_at_one_name_from_many_addresses_have_to_wait(bench, home, monkeypatch):
    # The clock stands still: on a busy machine, a pause would pass while tries are looked at.
    monkeypatch.setattr(guard, "Throttle", lambda *free: Throttle(*free, clock=lambda: 0.0))
    monkeypatch.delenv("ASKBACK_RESEARCH_PASSWORD", raising=False)
    server = app(bench, home, access=Access(addresses=True))
    statuses = [log_in(server, "max", f"guess {number}")[1] for number in range(21)]
    assert statuses == [*[401] * 20, 429]
    assert log_in(server, "edi", "the editor's word")[1] == 303


def test_strange_names_do_not_make_room_for_more_tries(bench, home, monkeypatch):
    monkeypatch.setattr(guard, "Throttle", lambda *free: Throttle(*free, clock=lambda: 0.0))
    monkeypatch.delenv("ASKBACK_RESEARCH_PASSWORD", raising=False)
    attacker = client(app(bench, home, access=Access(addresses=True)), "198.51.100.7")
    tries = [
        attacker.post("/research/login", data={"name": f"n{number}", "password": "x"}).status_code
        for number in range(12)
    ]
    assert tries == [*[401] * 5, *[429] * 7]


def test_a_proxy_that_is_named_says_who_comes(bench, home):
    Accounts(home / ACCOUNTS_FILE).add("ann@lab.example", "editor", None)
    access = Access.build("127.0.0.1", ("study.example",), ("192.0.2.200",), "X-Forwarded-User")
    server = app(bench, home, access=access, sso_header=access.sso_header)

    def asked(address, name):
        return client(server, address).get("/research/config", headers={"x-forwarded-user": name})

    assert asked("192.0.2.200", "ann@lab.example").status_code == 200
    assert asked("192.0.2.200", "eve@lab.example").json() == {"error": "no_account"}
    # Of anybody else the header says nothing, and without a password nobody logs in by that name.
    assert asked("192.0.2.201", "ann@lab.example").json() == {"error": "login"}
    assert asked("127.0.0.1", "own").json() == {"error": "login"}
    assert log_in(server, "ann@lab.example", "")[1] == 401


def test_logging_out_of_single_sign_on_is_no_fault(bench, home):
    Accounts(home / ACCOUNTS_FILE).add("eva@lab.example", "editor", None)
    access = Access.build("127.0.0.1", ("study.example",), ("192.0.2.200",), "X-Forwarded-User")
    browser = client(app(bench, home, access=access, sso_header=access.sso_header), "192.0.2.200")
    answer = browser.post("/research/logout", headers={"x-forwarded-user": "eva@lab.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/research")


def test_a_browser_reads_in_words_that_a_role_does_not_allow_a_download(server):
    browser, _ = log_in(server, "edi", "the editor's word")
    files = "/research/studies/payment.zip?study=any"
    assert browser.get(files).json() == {"error": "edi is editor, which does not allow this."}
    answer = browser.get(files, headers={**HTML, "accept-language": "zh"})
    assert answer.status_code == 403 and "您的角色无权" in answer.text


def test_a_browser_reads_in_words_what_cannot_be_downloaded(server):
    browser, _ = log_in(server, "own", "the owner's word")
    answer = browser.get("/research/studies/payment.zip?study=any", headers=HTML)
    assert answer.status_code == 400 and "any" in answer.text and "<html" not in answer.text


def test_single_sign_on_wants_a_proxy():
    with pytest.raises(InputError, match="--sso-header needs --proxy"):
        Access.build("0.0.0.0", (), (), "X-Forwarded-User")


def test_a_spoilt_file_lets_nobody_in_and_says_so(tmp_path):
    file = tmp_path / ACCOUNTS_FILE
    for spoilt in ("", "{", "[]", '{"own": {"role": "king"}}', '{"own": {"hash": "x"}}'):
        file.write_text(spoilt)
        with pytest.raises(InputError, match=r"accounts\.json is damaged"):
            Accounts(file).check("own", "the owner's word")


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))

    def run(*words, typed=""):
        return CliRunner().invoke(cli, ["users", *words], input=typed)

    assert (
        "sam may log in as editor"
        in run("add", "sam", "--role", "editor", "--password", "long enough").output
    )
    listed = run("list").output
    assert "sam" in listed and "editor" in listed and "long enough" not in listed
    accounts = Accounts(tmp_path / ACCOUNTS_FILE)
    assert accounts.check("sam", "long enough") == User("sam", "editor")
    assert "long enough" not in (tmp_path / ACCOUNTS_FILE).read_text()
    assert (tmp_path / ACCOUNTS_FILE).stat().st_mode & 0o077 == 0
    run("password", "sam", typed="a new password\na new password\n")
    assert accounts.check("sam", "long enough") is None
    assert accounts.check("sam", "a new password") == User("sam", "editor")
    run("add", "sue", "--role", "viewer", "--sso")
    assert accounts.check("sue", "") is None and "single sign-on" in run("list").output
    assert "can no longer log in" in run("remove", "sam").output
    assert accounts.check("sam", "a new password") is None
    for words in (
        ("add", "sue", "--role", "viewer", "--password", "long enough"),
        ("add", "owner", "--role", "viewer", "--password", "long enough"),
        ("add", "../x", "--role", "viewer", "--password", "long enough"),
        ("add", "max", "--role", "viewer", "--password", "short"),
        ("remove", "max"),
        ("password", "max", "--password", "long enough"),
    ):
        assert isinstance(run(*words).exception, InputError), words


def test_action_events_name_who_and_what():
    event = action_event(User("ann", "owner"), "erase", participant="p1")
    assert event.kind == "researcher.erase" and event.details == {"by": "ann", "participant": "p1"}


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_an_event_of_a_page_knows_whose_it_is(home, role):
    """Gradio's queue runs events in a task of its own, after the request that asked for them."""

    def act():
        try:
            return require_permission("study").name
        except NotAllowedError:
            return f"{current_user().name} may not"

    async def build():
        with gr.Blocks() as blocks:
            gr.Button().click(act, None, gr.Textbox())
        server = FastAPI()
        server.add_middleware(Guard, path="/research", log_ins=LogIns(home), page=lambda scope, name: "")
        mount_blocks(server, blocks, "/research")
        return server

    # Outside a running loop Gradio makes loops that nobody closes.
    server = asyncio.run(build())
    with TestClient(server, base_url="http://127.0.0.1:7860", client=(next(ADDRESSES), 1)) as browser:
        event = {"data": [], "fn_index": 0, "session_hash": "s"}
        assert browser.post("/research/gradio_api/queue/join", json=event).status_code == 401
        browser.post("/research/login", data={"name": role[:3], "password": f"the {role}'s word"})
        assert browser.post("/research/gradio_api/queue/join", json=event).status_code == 200
        lines = browser.get("/research/gradio_api/queue/data?session_hash=s").text
    assert f'"data":["{role[:3]}{"" if role == "editor" else " may not"}"]' in lines
