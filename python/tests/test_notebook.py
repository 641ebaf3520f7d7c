"""The notebook of examples/ runs from its first to its last cell."""

import json
import shutil
import sys

import pytest

from conftest import REPOSITORY

NOTEBOOK = REPOSITORY / "examples/placement.ipynb"


def test_the_notebook_runs_as_a_whole(recorded, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shutil.copy(recorded, tmp_path / "app.rwp")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "it is stored without outputs"
    # The kernel of this environment, with no kernel of the user.
    folder = tmp_path / "share/jupyter/kernels/python3"
    folder.mkdir(parents=True)
    line = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": line, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    client = nbclient.NotebookClient(
        notebook, timeout=100, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [
        output.data.get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert any("<svg" in html for html in shown) and any("dataframe" in html for html in shown)
    assert (tmp_path / "placement.json").exists()
