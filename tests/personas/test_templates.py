from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from personas import templates
from personas.templates import TemplateError, clear_caches, describe, render, versions_digest

BACKGROUND = "clarq/seeker_background"
VARIABLES = {"role": "miller", "task": "grinding rye", "items": ["a sack"], "skills": [], "scenes": ["Mill"]}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ASKBACK_PERSONAS", raising=False)
    clear_caches()
    yield
    clear_caches()


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_builtin_templates_take_the_same_variables_in_both_languages() -> None:
    names = set(templates._names(None))
    assert {(BACKGROUND, "en"), (BACKGROUND, "zh")} <= names
    for name, _ in names:
        assert describe(name, "en").variables == describe(name, "zh").variables, name


def test_variables_are_filled_in_and_declared() -> None:
    assert describe(BACKGROUND, "en").variables == VARIABLES.keys()
    rendered = render(BACKGROUND, "en", VARIABLES)
    assert "grinding rye" in rendered.text
    assert rendered.text == rendered.text.strip()
    assert rendered.version == describe(BACKGROUND, "en").version
    assert len(rendered.version) == 12


def test_missing_variable_is_named_with_template_and_line() -> None:
    with pytest.raises(TemplateError, match=r"seeker_background\.en\.jinja:\d+: .*'role' is undefined"):
        render(BACKGROUND, "en", {key: VARIABLES[key] for key in VARIABLES if key != "role"})


def test_unknown_template_is_refused_with_a_suggestion() -> None:
    with pytest.raises(TemplateError, match=r"did you mean clarq/seeker_background\.en\.jinja"):
        render("clarq/seeker_backgrond", "en", {})


@pytest.mark.parametrize("name", ["../personas/clarq/greeting", "/etc/passwd"])
def test_names_cannot_leave_the_folders(name: str) -> None:
    with pytest.raises(TemplateError, match="no prompt template"):
        render(name, "en", {})


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own folder of templates."""
    monkeypatch.setenv("ASKBACK_PERSONAS", str(tmp_path))
    return tmp_path


def test_a_users_file_overrides_ours(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(own, f"{BACKGROUND}.en.jinja", "Only {{ task }}.\n")
    theirs, chinese = render(BACKGROUND, "en", VARIABLES), render(BACKGROUND, "zh", VARIABLES)
    monkeypatch.delenv("ASKBACK_PERSONAS")
    ours = render(BACKGROUND, "en", VARIABLES)
    assert theirs.text == "Only grinding rye."
    assert theirs.version != ours.version
    assert chinese == render(BACKGROUND, "zh", VARIABLES)


def test_missing_override_folder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_PERSONAS", "nowhere")
    with pytest.raises(TemplateError, match="nowhere: not a folder"):
        render(BACKGROUND, "en", VARIABLES)


def test_version_covers_included_files(own: Path) -> None:
    write(own, "a/whole.en.jinja", "{% include 'a/_part.en.jinja' %}!")
    write(own, "a/_part.en.jinja", "{{ word }}")
    before = render("a/whole", "en", {"word": "hey"})
    assert before.text == "hey!"
    assert describe("a/whole", "en").variables == {"word"}
    write(own, "a/_part.en.jinja", "{{ word }} ")
    assert render("a/whole", "en", {"word": "hey"}) == before, "fixed until forgotten"
    clear_caches()
    assert render("a/whole", "en", {"word": "hey"}).version != before.version


def test_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    render(BACKGROUND, "en", VARIABLES)
    loads = templates._load.cache_info().misses
    for _ in range(20):
        render(BACKGROUND, "en", VARIABLES)
    assert templates._load.cache_info().misses == loads


@pytest.mark.parametrize(
    "source",
    [
        "{{ [].__class__.__mro__ }}",
        "{{ items.append(1) }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ {}.__class__ }}",
        "{{ {}.update(a=1) }}",
        "{% for one in [1] %}{{ loop._iterator }}{% endfor %}",
    ],
)
def test_templates_run_in_a_sandbox(own: Path, source: str) -> None:
    write(own, "a/evil.en.jinja", source)
    with pytest.raises(TemplateError, match=r"evil\.en\.jinja"):
        render("a/evil", "en", {"items": []})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"one\n{% if %}", r"odd\.en\.jinja:2: "),
        (b"{% include 'a/none.en.jinja' %}", r"includes a/none\.en\.jinja, which does not exist"),
        (b"\xff\xfe", r"a/odd\.en\.jinja: not UTF-8"),
    ],
)
def test_an_invalid_template_file_is_named(own: Path, source: bytes, message: str) -> None:
    write(own, "a/odd.en.jinja", "").write_bytes(source)
    with pytest.raises(TemplateError, match=message):
        render("a/odd", "en", {})


@pytest.mark.each(
    ("language", "words"),
    [
        ("en", ("Items", "Skills", "Places", "Jax", "goodbye")),
        ("zh", ("物品", "技能", "场景", "Jax", "再见")),
    ],
)
@pytest.mark.each("present", [(), ("items",), ("skills",), ("scenes",), ("items", "skills", "scenes")])
def test_the_background_mentions_only_the_sections_present(
    language: str, words: tuple[str, ...], present: tuple[str, ...]
) -> None:
    lists = {key: [f"<{key}>"] if key in present else [] for key in ("items", "skills", "scenes")}
    text = render(BACKGROUND, language, {"role": "miller", "task": "grinding", **lists}).text
    for key, word in zip(lists, words[:3], strict=True):
        assert (word.lower() in text.lower()) == (key in present)
        assert (f"<{key}>" in text) == (key in present)
    assert all(word in text for word in words[3:])
    assert "\n\n\n" not in text


def test_the_digest_of_a_benchmark_changes_with_any_of_its_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = versions_digest("clarq")
    assert plain == versions_digest("clarq")
    write(tmp_path, "clarq/greeting.en.jinja", "Good day.")
    monkeypatch.setenv("ASKBACK_PERSONAS", str(tmp_path))
    assert versions_digest("clarq") != plain


def test_a_file_that_overrides_nothing_is_named(own: Path) -> None:
    write(own, "clarq/greeting.fr.jinja", "Salut !")
    write(own, "clarq/_part.en.jinja", "Good day.")
    versions_digest("clarq")
    write(own, "clarq/greetign.en.jinja", "Good day.")
    with pytest.raises(TemplateError, match=r"clarq/greetign overrides no prompt; known: .*clarq/greeting,"):
        versions_digest("clarq")
