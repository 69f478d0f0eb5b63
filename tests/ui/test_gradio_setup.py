"""Gradio is imported without the files that it makes for editors."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import ast, inspect
from ui.gradio_setup import import_gradio

find_file, ast.get_source_segment = inspect.getfile, None
import_gradio()
import gradio as gr

assert inspect.getfile is find_file
with gr.Blocks():
    gr.Textbox()
"""


def test_no_interface_file_is_made_and_nothing_else_changes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
