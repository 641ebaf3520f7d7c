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


#: Nodes of two packages; a cluster of two nodes with two GPUs.
NODES = "synthetic:package:2 core:4 pu:1"
WITH_GPUS = """
name = "gpus"
format = 2
[[node]]
names = "g[0-1]"
topology = "pack:1 numa:2 core:4 pu:1"
[[node.nic]]
name = "mlx5_0"
bandwidth = "10 GB/s"
near = "numa:0"
[[node.nic]]
name = "mlx5_1"
bandwidth = "10 GB/s"
near = "numa:1"
[[node.gpu]]
name = "gpu0"
near = "numa:1"
[[node.gpu]]
name = "gpu1"
near = "numa:0"
"""


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--share", "shared:2,apart"], {"share": "shared:2,apart"}),
        (["--share", "exclusive-half"], {"share": "exclusive-half"}),
        (["--nodes", "node[1-3]"], {"nodes": "node[1-3]"}),
        (["--nodes", "3"], {"nodes": "3"}),
        (["--nodes", "4", "--ranks-per-node", "6"], {"nodes": 4, "ranks_per_node": 6}),
        (["--moves", "500"], {"moves": 500}),
        (["--keep-node-groups=block"], {"keep_node_groups": "block"}),
        (["--arrivals", "pair", "--loop", "arrival"], {"arrivals": "pair", "loop": "arrival"}),
        (["--service", "exponential", "--seed", "3"], {"service": "exponential", "seed": 3}),
        (["--strategies", "kway:seed=3,weights=bytes,cyclic"], {"strategies": "kway:seed=3,weights=bytes,cyclic"}),
    ],
)
def test_options_mean_what_they_mean_to_place(options, arguments, program, tmp_path):
    line = ["-q", "place", "nas:cg.A.8", "nas:ep.A.4", "--on", NODES, "--for", "openmpi4", *options]
    if "--nodes" not in options:
        line, arguments = [*line, "--nodes", "4"], {**arguments, "nodes": 4}
    run(program, *line, "-o", tmp_path / "cli.json", cwd=tmp_path)
    plan = rankwright.place(["nas:cg.A.8", "nas:ep.A.4"], NODES, **arguments)
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()


@pytest.mark.parametrize("given", [True, "recorded", "block"])
def test_ranks_of_a_node_are_kept_together(given, recorded, program, tmp_path):
    # The recorded ranks shared one node, so they do again; in block order two nodes have two each.
    on = "synthetic:package:1 core:4 pu:1"
    option = "--keep-node-groups" if given is True else f"--keep-node-groups={given}"
    line = ["-q", "place", recorded, "--on", on, "--nodes", "4", "--ranks-per-node", "2" if given == "block" else "4"]
    line += [option, "--strategies", "cyclic,kway,random", "--for", "openmpi4", "-o", "cli.json"]
    printed = run(program, *line, "--format", "json", cwd=tmp_path)
    plan = rankwright.place(
        recorded,
        on,
        nodes=4,
        ranks_per_node=2 if given == "block" else 4,
        keep_node_groups=given,
        strategies="cyclic,kway,random",
    )
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    assert plan.comparison == json.loads(printed)
    nodes = [row["node"] for row in plan.placement.rows()]
    assert nodes[0] == nodes[1] and nodes[2] == nodes[3]


def test_computing_times_may_differ_by_the_balance(program, tmp_path):
    # Ranks that compute long go to the fast node, away from their partners, unless the balance lets them stay.
    nodes = '[[node]]\nnames = "{}"\nspeed = {}\ntopology = "pack:1 numa:1 core:4 pu:1"\n'
    cluster, jobs = tmp_path / "speeds.toml", tmp_path / "jobs.toml"
    cluster.write_text('name = "speeds"\nrates = "typical"\n' + nodes.format("f0", 2) + nodes.format("s0", 1))
    times = ", ".join(['"2 s", "1 s"'] * 4)
    jobs.write_text(f'[[job]]\nprocesses = 8\npattern = "linear"\ncompute = [{times}]\n')
    between_nodes = {}
    for balance in (None, 0.0, 1000):
        line = ["-q", "place", jobs, "--on", cluster, "--strategies", "kway,multisection", "--for", "openmpi4"]
        line += [] if balance is None else ["--balance", balance]
        run(program, *line, "-o", "cli.json", cwd=tmp_path)
        plan = rankwright.place(jobs, cluster, strategies=["kway", "multisection"], balance=balance)
        plan.save(tmp_path / "python.json")
        assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
        between_nodes[balance] = plan.rows()[0]["inter_node_bytes"]
    assert between_nodes[None] == between_nodes[0.0] > between_nodes[1000]


@pytest.mark.parametrize("per_gpu", ["1", "1/2"])
@pytest.mark.parametrize("options", [{}, {"gpus": "none", "nics": "none"}, {"gpus": "one-per-rank"}])
def test_ranks_of_gpus_have_the_devices_beside_them(per_gpu, options, program, tmp_path):
    cluster = tmp_path / "gpus.toml"
    cluster.write_text(WITH_GPUS)
    if per_gpu == "1/2" and options.get("gpus") == "one-per-rank":
        with pytest.raises(InputError, match="each rank would see one of its 2 GPUs"):
            rankwright.place("pattern:ring:2", cluster, ranks_per_gpu=per_gpu, **options)
        return
    ranks = {"1": 4, "1/2": 2}[per_gpu]
    line = ["-q", "place", f"pattern:ring:{ranks}", "--on", cluster, "--ranks-per-gpu", per_gpu]
    for option, value in options.items():
        line += [f"--{option}", value]
    run(program, *line, "--for", "openmpi4", "-o", "cli.json", cwd=tmp_path)
    plan = rankwright.place(
        f"pattern:ring:{ranks}", cluster, ranks_per_gpu=per_gpu, **options
    )
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    has_devices = all(row["nics"] and row["gpus"] for row in plan.placement.rows())
    assert has_devices is (options.get("nics") != "none")


def test_gpus_of_a_cluster_without_any_are_a_warning():
    with pytest.warns(UserWarning, match="gpus has no effect: no node of .* has one"):
        plan = rankwright.place("pattern:ring:4", NODES, gpus="near", strategies="blocked")
    assert plan.placement.contents.get("gpus") in (None, "none")


@pytest.mark.parametrize("own_nodes", [False, True])
def test_programs_get_their_cores_and_nodes(own_nodes, program, tmp_path):
    programs = "-n 2 --cores-per-rank 4 ./ocean 'a b' : ./air"
    line = ["-q", "place", "pattern:ring:6", "--on", NODES, "--nodes", "3", "--for", "openmpi4"]
    line += ["-o", "cli.json", *(["--own-nodes"] if own_nodes else [])]
    words = ["-n", "2", "--cores-per-rank", "4", "./ocean", "a b", ":", "./air"]
    run(program, *line, "--", *words, cwd=tmp_path)
    for given in (programs, words):
        plan = rankwright.place("pattern:ring:6", NODES, nodes=3, programs=given, own_nodes=own_nodes)
        plan.save(tmp_path / "python.json")
        assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    rows = plan.placement.rows()
    assert [len(row["cores"].split(",")) for row in rows] == [4, 4, 1, 1, 1, 1]
    ocean, air = ({row["node"] for row in part} for part in (rows[:2], rows[2:]))
    assert not (own_nodes and ocean & air)


def test_a_limited_time_ends_the_search():
    plan = rankwright.place("nas:cg.A.64", "paper:2013", time=0.5)
    assert len(plan.placement.rows()) == 64
    assert rankwright.place("pattern:ring:4", NODES, time="0 s", strategies="kway").placement.rows()


def test_where_the_default_is_the_best_nothing_is_gained(recorded):
    plan = rankwright.place(recorded, NODES, nodes=1, strategies="blocked")
    assert [row["role"] for row in plan.comparison["answer"]["rows"]] == ["default_and_best"]
    assert plan.gain == 0.0 and plan.verdict == "no_gain"
    # Without run times nothing is known of the gain.
    assert rankwright.place("pattern:ring:4", NODES, nodes=1, strategies="blocked").gain is None


@pytest.mark.parametrize(
    ("strategy", "options", "arguments"),
    [
        ("kway:seed=3", "", {}),
        ("contention", "--moves 500 --objective waiting", {"moves": 500, "objective": "waiting"}),
        ("auto", "--effort fast --loop arrival", {"effort": "fast", "loop": "arrival"}),
        ("blocked", "--ranks-per-package 2 --nics by-load", {"ranks_per_package": 2, "nics": "by-load"}),
    ],
)
def test_map_is_the_map_of_the_command_line(program, tmp_path, strategy, options, arguments):
    line = ["-q", "map", "nas:cg.A.16", "--on", "paper:2013", "--strategy", strategy, *options.split()]
    run(program, *line, "-o", tmp_path / "cli.json")
    plan = rankwright.map_("nas:cg.A.16", "paper:2013", strategy, **arguments)
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
    for arguments, says in [
        ({"share": "together"}, "share: found `together`, expected exclusive-full"),
        ({"share": "shared", "strategies": "blocked"}, "found strategies and share, expected one of them"),
        ({"nodes": "n[0-"}, "nodes: "),
        ({"nodes": "x9"}, "nodes: `paper:2013` has no x9; it has"),
        ({"nodes": "4..8"}, r"found '4..8', expected a number or a hostlist.*rankwright.sweep"),
        ({"time": "soon"}, "time: "),
        ({"time": -1}, "time: "),
        ({"time": float("nan")}, "time: "),
        ({"time": [1]}, r"time: found \[1\], expected seconds"),
        ({"time": 1, "effort": "fast"}, "found several limits of the search"),
        ({"moves": 2**64}, "moves: found 18446744073709551616"),
        ({"ranks_per_gpu": "2/3"}, "ranks_per_gpu: found `2/3`, expected a number of ranks"),
        ({"programs": "-n 2"}, "part 1 of the program line: found no program"),
        ({"programs": "'"}, "programs: found \"'\""),
        ({"programs": [3]}, "programs: found 3, expected words"),
        ({"own_nodes": True}, "own_nodes: found no programs"),
        ({"balance": -0.1}, "balance: found -0.1, expected a share from 0 to 1000"),
        ({"balance": float("nan")}, "balance: found NaN"),
        ({"balance": "2 %"}, "balance: found '2 %', expected a share"),
        ({"keep_node_groups": "cyclic"}, "keep_node_groups: found `cyclic`, expected one of recorded, block"),
        ({"keep_node_groups": 1}, "keep_node_groups: found 1, expected True, False"),
        ({"arrivals": "all"}, "arrivals: found `all`, expected one of source, pair"),
        ({"loop": "closed"}, "loop: found `closed`, expected one of open, departure, arrival"),
        ({"service": "none"}, "service: found `none`, expected one of deterministic"),
        ({"programs": "-n 1 --cores-per-rank 2 ./a : ./b", "per": "pu"}, "leave out ranks_per_node"),
    ]:
        with pytest.raises(InputError, match=says):
            rankwright.place("nas:cg.A.16", "paper:2013", **arguments)
    with pytest.raises(InputError, match="programs: found several jobs"):
        rankwright.place(["nas:cg.A.4", "nas:ep.A.4"], "paper:2013", programs="./a")
    with pytest.raises(InfeasibleError, match="the programs take 3 ranks, the job has 16"):
        rankwright.place("nas:cg.A.16", "paper:2013", programs="-n 3 --cores-per-rank 2 ./a")
    with pytest.raises(InfeasibleError, match=r"the programs take 2 \+ 3 = 5 ranks, the job has 16"):
        rankwright.place("nas:cg.A.16", "paper:2013", programs="-n 2 ./a : -n 3 ./b")
    with pytest.raises(InfeasibleError, match="the nodes are too few"):
        rankwright.place(["nas:cg.A.4", "nas:ep.A.4"], NODES, nodes=1, share="exclusive-full")
    with pytest.raises(InputError, match="found several sizes of a rank"):
        rankwright.place("nas:cg.A.16", "paper:2013", cores_per_rank=2, per="pu")
    with pytest.raises(InfeasibleError, match="17 ranks"):
        rankwright.place("pattern:ring:17", "synthetic:package:1 core:4 pu:1", nodes=4)


def test_only_nodes_that_are_used_need_a_socket_for_each_job(tmp_path):
    jobs = ["nas:cg.A.4", "nas:ep.A.4"]
    text = '[[node]]\nnames = "{}"\ntopology = "pack:{} numa:1 core:4 pu:1"\n'
    path = tmp_path / "het.toml"
    path.write_text('name = "het"\nrates = "typical"\n' + text.format("n[0-1]", 2) + text.format("s0", 1))
    with pytest.raises(InfeasibleError, match="s0 of cluster `het` has 1 socket"):
        rankwright.place(jobs, path, share="shared:apart")
    plan = rankwright.place(jobs, path, share="shared:apart", nodes="n[0-1]")
    assert {row["job"] for row in plan.placement.rows()} == {"cg.A.4", "ep.A.4"}


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
    with pytest.raises(InputError, match="no such file; give"):
        rankwright.Cluster("missing.toml")
