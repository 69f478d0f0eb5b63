"""Settings of all tests: property tests in two depths, and tests of many cases at once."""

from __future__ import annotations

import gc
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
    # Workers share the cores already. Set before the first import of NumPy or PyTorch.
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent / "shared"))  # shared_data, packages

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Programs that a shell starts in the background ignore Ctrl-C, and so would those that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine may be busy with other things: how long an example takes says nothing about what it shows.
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", settings.get_profile("ci"), max_examples=25, derandomize=True)
settings.load_profile("ci")  # --hypothesis-profile names another


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--apart", action="store_true", help="make one test of each case of a test marked `each`"
    )


def _is_thorough(config: pytest.Config) -> bool:
    return bool(config.getoption("--hypothesis-profile") != "fast")


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Return False under `make test`, where a sample stands for what is done very often otherwise."""
    return _is_thorough(pytestconfig)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give a test the same draws whenever it runs under `make test`; `make test-all` draws anew.

    Free play draws its task out of a UUID, and which task that is must not decide whether a test passes.
    """
    if _is_thorough(item.config):
        return (yield)
    draws = SimpleNamespace(**{**vars(os), "urandom": Random(item.nodeid).randbytes})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "os", draws)
        return (yield)


def pytest_collection(session: pytest.Session) -> None:
    """Collect no garbage while modules are imported and tests are made: nearly all of it stays."""
    gc.disable()
    if hasattr(session.config, "workerinput"):
        # Workers that import Gradio as it is write into each other's files beside its components.
        from ui.gradio_setup import import_gradio

        import_gradio()


def pytest_collection_finish() -> None:
    """Leave a million objects, which live as long as the worker, out of its garbage collections."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of cores that this process may use, also where a container grants fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or a quota of "max"
        return cores


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take the cases of `@pytest.mark.each(names, cases)` as those of `parametrize`, but in one test.

    A test costs some milliseconds however little it does: thousands of them are for thousands of rules, not
    for thousands of strings. All cases run, and those that fail are reported together.
    """
    for mark in metafunc.definition.iter_markers("each"):
        names, cases = _names(mark), mark.args[1]
        if iter(cases) is cases or any(
            isinstance(case, type(pytest.param())) and case.marks for case in cases
        ):
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: `each` takes lists, and no marks of cases"
            )
        if metafunc.config.getoption("--apart") or not cases:
            metafunc.parametrize(*mark.args, **mark.kwargs)
        else:
            metafunc.parametrize(names, [pytest.param(*([None] * len(names)), id=f"each of {len(cases)}")])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is marked `each` on every case, and report all that fail."""
    marks = list(pyfuncitem.iter_markers("each"))
    if not marks or pyfuncitem.config.getoption("--apart"):
        return None
    errors: list[Exception] = []
    skipped, total = [], 0
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for case in product(*(list(_cases(mark)) for mark in marks)):
        values = {name: value for part in case for name, value in part.items()}
        total += 1
        try:
            pyfuncitem.obj(**arguments | values)
        except pytest.skip.Exception as skip:
            skipped.append(skip)
        except (Exception, pytest.fail.Exception) as error:
            error = error if isinstance(error, Exception) else AssertionError(str(error))
            error.add_note(f"Case: {values!r:.500}")
            errors.append(error)
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {total} cases failed", errors)
    if skipped:
        raise skipped[0]
    return True


def _names(mark: pytest.Mark) -> list[str]:
    """Return the names of the arguments that a mark has cases of."""
    names = mark.args[0]
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _cases(mark: pytest.Mark) -> Iterator[dict[str, Any]]:
    """Yield the arguments of every case of a mark."""
    names = _names(mark)
    for case in mark.args[1]:
        if isinstance(case, type(pytest.param())):
            values = case.values
        else:
            values = (case,) if len(names) == 1 else case
        yield dict(zip(names, values, strict=True))
