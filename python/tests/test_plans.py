"""Placements: the same as the command line's, from any thread, in any number of threads."""

import json
import pickle

import pytest

import rankwright
from rankwright import InfeasibleError, InputError

from conftest import run

STRATEGIES = ["blocked", "cyclic", "kway", "multisection"]


@pytest.mark.parametrize("workload", ["nas:cg.A.16", "pattern:halo-2d:16", "nas:cg.A.8,nas:ep.A.4"])
def test_the_file_is_that_of_place_byte_for_byte(workload, program, cluster_file, tmp_path):
    cluster = "paper:2013"
    line = ["-q", "place", workload, "--on", cluster, "--strategies", ",".join(STRATEGIES)]
    line += ["--for", "openmpi4", "--format", "json", "-o", tmp_path / "cli.json"]
    printed = run(program, *line, cwd=tmp_path)
    plan = rankwright.place(workload, cluster, strategies=STRATEGIES, launcher="openmpi4")
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    assert plan.comparison == json.loads(printed)


def test_a_recorded_run_is_placed_as_by_the_command_line(recorded, program, cluster_file, tmp_path):
    line = ["-q", "place", recorded, "--on", cluster_file, "--strategies", "blocked,cyclic", "--seed", "7"]
    line += ["--ranks-per-node", "2", "--for", "mpich", "-o", tmp_path / "cli.json"]
    run(program, *line, cwd=tmp_path)
    plan = rankwright.place(
        rankwright.open(recorded),
        cluster_file,
        strategies=["blocked", "cyclic"],
        seed=7,
        ranks_per_node=2,
        launcher="mpich",
    )
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    assert plan.answer.startswith(plan.comparison["answer"]["text"])


def test_map_is_the_map_of_the_command_line(program, tmp_path):
    line = ["-q", "map", "nas:cg.A.16", "--on", "paper:2013", "--strategy", "kway:seed=3"]
    run(program, *line, "-o", tmp_path / "cli.json")
    plan = rankwright.map_("nas:cg.A.16", "paper:2013", "kway:seed=3")
    assert plan.placement == rankwright.Placement.read(tmp_path / "cli.json")
    assert plan.verdict is None and plan.gain is None


def test_the_number_of_threads_makes_no_difference():
    texts = {
        rankwright.place("nas:cg.A.16", "paper:2013", strategies=STRATEGIES, threads=threads).placement.text
        for threads in (1, 3)
    }
    assert len(texts) == 1


def test_the_ranking_begins_with_the_best():
    pytest.importorskip("pandas")
    plan = rankwright.place("nas:cg.A.16", "paper:2013", strategies=STRATEGIES)
    ranking = plan.ranking
    assert ranking["strategy"].iloc[0] == plan.best
    assert {"inter_node_bytes", "total_waiting_s", "workload_finish_s"} <= set(ranking.columns)
    assert list(plan.placement.ranks["rank"]) == list(range(16))


def test_plans_can_be_pickled(cluster_file):
    plan = rankwright.place("pattern:ring:4", cluster_file, strategies="blocked")
    again = pickle.loads(pickle.dumps(plan))
    assert again.placement == plan.placement and again.cluster == plan.cluster
    assert again.answer == plan.answer and again.workload.digest == plan.workload.digest


def test_pictures_hold_names_as_text(tmp_path):
    plan = rankwright.place("pattern:ring:4", "synthetic:package:1 core:4 pu:1", strategies="blocked")
    plan.placement.contents["cluster"]["name"] = '<script>alert("x")</script>'
    plan.placement.contents["nodes"][0]["name"] = "<b>&"
    for entry in plan.placement.contents["jobs"][0]["ranks"]:
        entry["node"] = "<b>&"
    html = plan._repr_html_()
    assert "<script" not in html and "<b>" not in html and "&lt;b&gt;&amp;" in html
    assert html.count("<rect") == 4 and ">3</text>" in html
    assert plan.cluster.svg().startswith("<svg")


def test_errors_say_what_is_known():
    with pytest.raises(InputError, match="no strategy is called `dbr`; there are blocked"):
        rankwright.place("nas:cg.A.16", "paper:2013", strategies="dbr")
    with pytest.raises(InputError, match="effort: found `much`, expected one of fast, normal, best"):
        rankwright.map_("nas:cg.A.16", "paper:2013", "kway", effort="much")
    with pytest.raises(InputError, match="launcher: found `srunn`, expected one of openmpi4"):
        rankwright.place("nas:cg.A.16", "paper:2013", launcher="srunn")
    with pytest.raises(InputError, match="objective: found `speed`"):
        rankwright.place("nas:cg.A.16", "paper:2013", objective="speed")
    with pytest.raises(InputError, match="nodes: found 0, expected 1 to"):
        rankwright.place("nas:cg.A.16", "paper:2013", nodes=0)
    with pytest.raises(InputError, match="seed: found 1.5, expected a whole number"):
        rankwright.place("nas:cg.A.16", "paper:2013", seed=1.5)
    with pytest.raises(InputError, match="strategies: found none"):
        rankwright.place("nas:cg.A.16", "paper:2013", strategies=[])
    with pytest.raises(InputError, match="blocked twice"):
        rankwright.place("nas:cg.A.16", "paper:2013", strategies=["blocked", "blocked"])
    with pytest.raises(InputError, match="found several sizes of a rank"):
        rankwright.place("nas:cg.A.16", "paper:2013", cores_per_rank=2, per="pu")
    with pytest.raises(InfeasibleError, match="17 ranks"):
        rankwright.place("pattern:ring:17", "synthetic:package:1 core:4 pu:1", nodes=4)


def test_a_wrong_line_of_a_file_is_named(cluster_file):
    cluster_file.write_text(cluster_file.read_text() + 'speed = "fast"\n')
    with pytest.raises(InputError) as caught:
        rankwright.Cluster(cluster_file)
    assert caught.value.file == str(cluster_file) and caught.value.line == 9
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.line == 9


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    plan = rankwright.map_("pattern:ring:4", "paper:2013", "blocked")
    with pytest.raises(rankwright.Error, match="cannot be written"):
        plan.save(tmp_path / "missing" / "placement.json")
    (tmp_path / "taken").mkdir()
    with pytest.raises(rankwright.Error, match="cannot be written"):
        plan.save(tmp_path / "taken")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_clusters_tell_their_rates_and_calibration(cluster_file):
    cluster = rankwright.Cluster(cluster_file)
    assert cluster.calibration is None and cluster.rates["calibrated"] is False
    cluster_file.write_text(
        cluster_file.read_text()
        + '[rates]\nname = "measured"\ncalibrated = true\nnic_bandwidth = "900 MB/s"\n'
        + '[rates.calibration]\ndate = "2026-11-23"\nmpi = "Open MPI v4.1.4"\n'
        + 'measured = [["nic_bandwidth", 0.04, 14]]\n'
    )
    calibrated = rankwright.Cluster(cluster_file)
    assert calibrated.calibration["date"] == "2026-11-23"
    assert pickle.loads(pickle.dumps(calibrated)) == calibrated


def test_a_synthetic_cluster_has_as_many_nodes_as_asked_for():
    cluster = rankwright.Cluster("synthetic:package:1 core:4 pu:1", nodes=3)
    assert len(cluster.nodes) == 3 and pickle.loads(pickle.dumps(cluster)) == cluster
    with pytest.raises(InputError, match="names its nodes"):
        rankwright.Cluster("paper:2013", nodes=3)
    with pytest.raises(InputError, match="no built-in cluster `paper:1999`"):
        rankwright.Cluster("paper:1999")
    with pytest.raises(InputError, match="found no such file"):
        rankwright.Cluster("missing.toml")
