import subprocess
import sys

import simulator.models


def test_all_is_sorted_and_there():
    assert simulator.models.__all__ == sorted(simulator.models.__all__)
    for name in simulator.models.__all__:
        assert getattr(simulator.models, name) is not None


def test_all_is_everything_public():
    modules = {name for name in vars(simulator.models) if f"simulator.models.{name}" in sys.modules}
    public = {name for name in vars(simulator.models) if not name.startswith("_")} - modules
    assert public == set(simulator.models.__all__)


def test_importing_it_imports_no_sdk():
    code = "import sys, simulator.models; print({'openai', 'anthropic', 'torch'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
