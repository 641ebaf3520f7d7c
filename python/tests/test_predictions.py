"""Estimates, simulations, replays and pairs: the numbers of the command line."""

import json
import math

import pytest

import rankwright
from rankwright import InfeasibleError, InputError

from conftest import REPOSITORY, run

TABLE = {
    "CG": {"CG": 101.8, "EP": 100.5, "FT": 96.0, "LU": 100.9},
    "EP": {"CG": 75.2, "EP": 99.6, "FT": 93.8, "LU": 100.1},
    "FT": {"CG": 84.3, "EP": 99.9, "FT": 89.6, "LU": 100.5},
    "LU": {"CG": 76.2, "EP": 100.0, "FT": 88.0, "LU": 100.4},
}


def without_clock(result):
    return {key: value for key, value in result.items() if key != "wall_s"}


def test_a_simulation_is_that_of_the_command_line(program, tmp_path):
    plan = rankwright.map_("nas:cg.A.16", "paper:2013", "cyclic")
    plan.save(tmp_path / "p.json")
    line = ["-q", "simulate", "nas:cg.A.16", "--on", "paper:2013", "--placement", tmp_path / "p.json"]
    printed = json.loads(run(program, *line, "--seed", "3", "--replications", "3", "--format", "json"))
    ours = rankwright.simulate("nas:cg.A.16", "paper:2013", plan, seed=3, replications=3)
    assert without_clock(ours.result) == without_clock(printed)
    assert ours.replications["count"] == 3
    again = rankwright.simulate(
        "nas:cg.A.16", "paper:2013", tmp_path / "p.json", seed=3, replications=3, threads=1
    )
    assert without_clock(again.result) == without_clock(ours.result)


def test_a_replay_is_that_of_the_command_line(recorded, program, cluster_file):
    line = ["-q", "simulate", recorded, "--on", cluster_file, "--strategy", "cyclic", "--replay"]
    printed = json.loads(run(program, *line, "--format", "json"))
    ours = rankwright.simulate(recorded, cluster_file, strategy="cyclic", replay=True)
    assert without_clock(ours.result) == without_clock(printed)
    assert len(ours.result["per_rank"]) == 4
    with pytest.raises(InputError, match="is not a profile made with `rankwright profile --events`"):
        rankwright.simulate("nas:cg.A.16", "paper:2013", strategy="cyclic", replay=True)


def test_an_estimate_knows_bytes_and_with_timing_times():
    timed = rankwright.estimate("nas:cg.A.16", "paper:2013", strategy="cyclic")
    assert timed["inter_node_share"] == 1.0 and timed["total_waiting_s"] >= 0
    untimed = rankwright.estimate("pattern:ring:4", "paper:2013", strategy="cyclic")
    assert "total_waiting_s" not in untimed and untimed["busiest_server"] is None


def test_placements_of_other_workloads_are_refused():
    plan = rankwright.map_("pattern:ring:4", "paper:2013", "blocked")
    with pytest.raises(InfeasibleError, match=r"jobs of \[4\] ranks, expected \[16\]"):
        rankwright.simulate("nas:cg.A.16", "paper:2013", plan)
    with pytest.raises(InputError, match="no message timing"):
        rankwright.simulate("pattern:ring:4", "paper:2013", plan)
    with pytest.raises(InputError, match="expected one of them"):
        rankwright.simulate("nas:cg.A.16", "paper:2013")
    with pytest.raises(InputError, match="loop: found `closed`, expected one of open, departure, arrival"):
        rankwright.simulate("nas:cg.A.16", "paper:2013", strategy="blocked", loop="closed")
    with pytest.raises(InputError, match="expected what `rankwright place` writes"):
        rankwright.Placement("{}")
    with pytest.raises(InputError, match="expected a placement"):
        rankwright.Placement.read("missing.json")


def test_pairs_of_a_table_are_those_of_the_command_line(program, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = list(TABLE)
    rows = [",".join([name, *(str(TABLE[name][other]) for other in names)]) for name in names]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join(["background", *names]), *rows, ""]))
    printed = json.loads(run(program, "-q", "pair", "--table", path, "--format", "json"))
    for table in (TABLE, path, pandas.DataFrame(TABLE).T):
        ours = rankwright.pair(table=table)
        assert ours.groups == printed["pairs"] and ours.cost == printed["cost"]
        assert ours.answer == printed["answer"] and ours.gain == printed["gain"]
    assert list(ours.jobs["job"]) == ["CG", "EP", "FT", "LU"]


def test_profiles_are_paired_as_by_the_command_line(recorded, program, cluster_file, tmp_path):
    other = tmp_path / "other.rwp"
    other.write_bytes(recorded.read_bytes())
    printed = run(program, "-q", "pair", recorded, other, "--on", cluster_file, "--format", "json")
    printed = json.loads(printed)
    ours = rankwright.pair([recorded, other], cluster_file)
    assert ours.cost == printed["cost"] and ours.groups + [ours.alone] == printed["pairs"] + [
        printed["alone"]
    ]
    percent = {(row["job"], row["background"]): row["percent"] for row in printed["beside"]}
    beside = {
        (job, background): value
        for job, background, value in zip(*(ours._beside[name] for name in ("job", "background", "percent")))
    }
    assert beside == percent and ours.by_clocks == []
    assert (ours.answer, ours.notes) == (printed["answer"], printed["notes"])
    assert ours.gain_half_width == printed.get("gain_half_width")


def test_gains_within_their_interval_are_no_difference(program):
    """The answer, the notes and the memory traffic are those of the command line."""
    jobs = ["nas:cg.A.8", "nas:is.A.8"]
    cluster = "synthetic:package:1 core:8 pu:1"
    recording = REPOSITORY / "testdata/memory-traffic/perf-interval.csv"
    traffic = {"cg.A.8": f"{recording}:ranks=8", "is.A.8": 1e6}
    line = ["-q", "pair", *jobs, "--on", cluster, "--nodes", "8", "--tolerance", "0", "--format", "json"]
    for more, memory in [
        ([], None),
        ([f"--memory-traffic=cg.A.8={traffic['cg.A.8']}", "--memory-traffic=is.A.8=1MB/s"], traffic),
    ]:
        printed = json.loads(run(program, *line, *more))
        on = rankwright.Cluster(cluster, nodes=8)
        ours = rankwright.pair(jobs, on, tolerance=0, memory_traffic=memory)
        assert (ours.answer, ours.notes) == (printed["answer"], printed["notes"])
        assert ours.gain_half_width == printed.get("gain_half_width")
        assert ours.gain == printed["gain"]
    assert any("memory traffic of cg.A.8" in note for note in ours.notes)


def test_what_does_not_fit_profiles_is_refused(tmp_path):
    jobs = ["nas:cg.A.8", "nas:ep.A.4"]
    rules = tmp_path / "pairing.toml"
    rules.write_text('[[job]]\nname = "cg.A.8"\nranks = 4\n')
    with pytest.raises(InputError, match="expected no `ranks`"):
        rankwright.pair(jobs, "paper:2013", rules=rules)
    for traffic, says in [
        ({"lu": "2GB/s"}, "memory_traffic: found job `lu`, expected one of cg.A.8, ep.A.4"),
        ({"cg.A.8": "2GB"}, "memory_traffic: job `cg.A.8`: found `2GB`, expected a rate"),
        ({"cg.A.8": "missing.csv"}, "missing.csv: .*a rate is written like 2GB/s"),
        ({"cg.A.8": "x.csv:ranks=0"}, "expected a number from 1"),
        ({"cg.A.8": None}, "found None, expected bytes per second"),
        ({"cg.A.8": math.nan}, r"memory_traffic\['cg.A.8'\]: found nan, expected bytes per second"),
        ({"cg.A.8": math.inf}, "found inf, expected bytes per second"),
        ({"cg.A.8": 10**400}, "expected bytes per second"),
        ("2GB/s", "expected a mapping of jobs"),
    ]:
        with pytest.raises(InputError, match=says):
            rankwright.pair(jobs, "paper:2013", memory_traffic=traffic)
    for unused in ({"memory_traffic": {"CG": 1e9}}, {"cluster": "paper:2013"}, {"offsets": 3}):
        with pytest.raises(InputError, match=f"{next(iter(unused))}: found it without jobs"):
            rankwright.pair(table=TABLE, **unused)


def test_wrong_tables_are_refused():
    with pytest.raises(InputError, match="found no jobs"):
        rankwright.pair()
    with pytest.raises(InputError, match=r"table\['CG'\]: found no value for 'EP'"):
        rankwright.pair(table={"CG": {"CG": 1}, "EP": {"CG": 1, "EP": 2}})
    with pytest.raises(InputError, match="table:2"):
        rankwright.pair(table={"CG": {"CG": -1, "EP": 1}, "EP": {"CG": 1, "EP": 2}})
    with pytest.raises(InputError, match="needs the run time of each job"):
        rankwright.pair(table=TABLE, objective="runtime")
    assert rankwright.pair(table=TABLE, objective="runtime", runtimes=dict.fromkeys(TABLE, 10.0)).groups
    with pytest.raises(InputError, match="cluster: found None"):
        rankwright.pair(["nas:cg.A.16", "nas:ep.A.4"])
    with pytest.raises(InputError, match="tolerance: found 200"):
        rankwright.pair(table=TABLE, tolerance=200)
