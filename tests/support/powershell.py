"""Checks the syntax of PowerShell scripts by the grammar of tree-sitter-powershell, because PowerShell itself is not
installed where these tests run."""

import subprocess
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "build" / "venv" / "bin" / "python"
READ = """
import sys
import tree_sitter
import tree_sitter_powershell

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
nodes = [parser.parse(sys.stdin.buffer.read()).root_node]
while nodes:
    node = nodes.pop()
    if node.is_error or node.is_missing:
        print(f"line {node.start_point.row + 1}: {node.text.decode()[:60]!r}")
    nodes += node.children
"""


def can_read():
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", "import tree_sitter_powershell"], check=False,
                                              stderr=subprocess.DEVNULL).returncode == 0


def mistakes(script):
    """The syntax errors of a script's text, one a line."""
    done = subprocess.run([PYTHON, "-c", READ], input=script.encode(), check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().splitlines()
