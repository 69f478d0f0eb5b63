"""The page for a new run: a benchmark's options as fields, the command, and the runs started here."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr

from simulator import catalog
from simulator.commands.run import Group, RunForm, run_form
from simulator.errors import AskbackError, InputError
from simulator.runner.processes import StartedRun, continuable_runs, start_events
from ui.i18n import DECLARED, problem_text
from ui.research.address import START
from ui.research.blocks import RELOAD, Visit, add_part, html, markup
from ui.research.controls import Menu, copy_field, menu_field, option_input, parse

TICK: Final = 1.5
_SHOWN: Final = 8
_GO: Final = f"name => {{ location.assign('{START}?benchmark=' + encodeURIComponent(name)) }}"
_VISIBLE: Final[tuple[Group, ...]] = ("seats", "items")
_FOLDED: Final[tuple[Group, ...]] = ("rules", "run")


@dataclass(frozen=True, slots=True)
class StartPage:
    """The page for one visit."""

    visit: Visit

    def build(self) -> None:
        """Create the components of the page."""
        t, installed = self.visit.t, {each.name: each for each in catalog.installed()}
        benchmark = installed.get(self.visit.at.benchmark) or next(iter(installed.values()))
        form = run_form(benchmark, self.visit.office.offered)
        add_part(self.visit, "start")
        self._put_started()
        titles = [(t.phrase(each.title), each.name) for each in installed.values()]
        chosen = menu_field(Menu(t("research.list.benchmark"), titles, benchmark.name), elem_id="benchmark")
        chosen.change(None, chosen, None, js=_GO)
        fields: dict[str, Any] = {}
        for group in _VISIBLE:
            add_part(self.visit, "start_group", name=group)
            self._put_fields(form, group, fields)
        for group in _FOLDED:
            with gr.Accordion(t(f"research.start.group.{group}"), open=False):
                self._put_fields(form, group, fields)
        shown = {"lines": 2, "elem_classes": ["rs-code"], "elem_id": "command"}
        command = copy_field(self._command(form, {}), t("research.start.command"), **shown)
        inputs, options = list(fields.values()), {option.name: option for _, option in form.fields}

        def chosen_values(values: tuple[Any, ...]) -> dict[str, Any]:
            return {name: parse(options[name], value) for name, value in zip(fields, values, strict=True)}

        gr.on(
            [component.change for component in inputs],
            lambda *values: self._command(form, chosen_values(values)),
            inputs,
            command,
            show_progress="hidden",
            trigger_mode="always_last",
        )
        start = gr.Button(t("research.start.start"), variant="primary", elem_id="start-run")
        started = start.click(lambda *values: self._start(form, chosen_values(values)), inputs)
        started.success(None, js=RELOAD)

    # The form

    def _put_fields(self, form: RunForm, group: Group, fields: dict[str, Any]) -> None:
        t, prefix = self.visit.t, f"{DECLARED}.{form.benchmark.name}"
        with gr.Row(equal_height=True):
            for its_group, option in form.fields:
                if its_group == group:
                    label = t.get(f"{prefix}.seat.{option.name}", "") if group == "seats" else ""
                    fields[option.name] = option_input(t, option, option.value, label)

    def _command(self, form: RunForm, values: Mapping[str, Any]) -> str:
        try:
            return shlex.join(["askback", *form.words(form.read_values(values))])
        except AskbackError as error:
            return problem_text(self.visit.t, error)

    def _start(self, form: RunForm, values: Mapping[str, Any]) -> None:
        with self.visit.acting("run", did="start", benchmark=form.benchmark.name):
            self.visit.office.processes.start(form.words(form.read_values(values)))

    # Runs that were started here

    def _put_started(self) -> None:
        t, started = self.visit.t, self.visit.office.processes.started()[:_SHOWN]
        left = continuable_runs(self.visit.reader, self.visit.office.processes)
        for run in started:
            self._put_run(run)
        if left:
            with gr.Row(equal_height=True):
                wanted = self.visit.at.run if self.visit.at.run in left else left[0]
                menu = Menu(t("research.start.left"), [(run, run) for run in left], wanted)
                choice = menu_field(menu, elem_id="left")
                button = gr.Button(t("research.start.continue"), scale=0, elem_id="continue-run")
            button.click(self._continue, choice).success(None, js=RELOAD)

    def _put_run(self, run: StartedRun) -> None:
        with gr.Row(equal_height=True):
            first, playing = self._describe_state(run), run.state == "playing"
            shown = html(first, scale=5)
            stop = gr.Button(
                self.visit.t("research.start.stop"), visible=playing, elem_classes=["rs-stop"], scale=0
            )
        stop.click(partial(self._stop, run.id)).success(None, js=RELOAD)
        if not playing:
            return
        timer, over = gr.Timer(TICK), gr.Checkbox(False, visible="hidden")

        def refresh() -> tuple[str, bool]:
            return self._describe_state(run), run.state != "playing"

        timer.tick(refresh, None, [shown, over], show_progress="hidden", queue=False).then(
            None, over, None, js="over => over && location.reload()"
        )

    def _describe_state(self, run: StartedRun) -> str:
        reader = self.visit.reader
        played = [name for name, event in start_events(reader).items() if event.details["process"] == run.id]
        return markup(
            self.visit,
            "start_run",
            state=run.state,
            command=shlex.join(["askback", *run.words]),
            runs={name: reader.progress(name) for name in played},
            said=run.output_tail if run.state == "failed" else "",
        )

    def _stop(self, id: int) -> None:
        with self.visit.acting("run", did="stop", process=id):
            self.visit.office.processes.stop(id)

    def _continue(self, run: str) -> None:
        reader = self.visit.reader
        with self.visit.acting("run", did="continue", run=str(run)[:200]):
            if run not in continuable_runs(reader, self.visit.office.processes):
                raise InputError(f"{run}: nothing is left to play.", code="run_not_left", run=str(run))
            form = run_form(catalog.find(reader.run(run).benchmark), self.visit.office.offered)
            options = start_events(reader)[run].details["options"]
            self.visit.office.processes.start(form.words(form.read_values(options)))
