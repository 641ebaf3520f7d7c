"""Batch jobs: what is granted is what the command line finds in the same environment."""

import pickle
import warnings

import pytest

import rankwright
from rankwright import BatchJob, InfeasibleError, InputError

from conftest import run
from test_plans import WITH_GPUS

NODES = """
name = "four"
format = 2
rates = "typical"
[[node]]
names = "n[0-3]"
topology = "pack:2 numa:1 core:4 pu:2"
[[node.nic]]
name = "eth0"
bandwidth = "1 GB/s"
"""
SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_CPUS_PER_NODE": "16(x2),4"}
#: Of Slurm 22.05, shortened.
SCONTROL = """JobId=7 JobName=sh
     Nodes=n[1-2] CPU_IDs=0-15 Mem=0 GRES=
     Nodes=n3 CPU_IDs=4-7 Mem=0 GRES=
"""
R = (
    '{"version": 1, "execution": {"R_lite": [{"rank": "0-1", "children": {"core": "0-1,4", "gpu": "1"}}], '
    '"starttime": 0, "expiration": 0, "nodelist": ["g[0-1]"]}}'
)
FLUX = {"FLUX_JOB_ID": "f7"}


@pytest.fixture
def four(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(NODES)
    return path


def job_of(system, folder):
    """Variables of a job on n1 and n2, where the first has 4 CPUs."""
    hosts = folder / "hosts"
    hosts.write_text("n1\n" * 4 + "n2\n" * 8)
    return {
        "slurm:": {**SLURM, "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "4,16"},
        "lsf:": {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n1 4 n2 16"},
        "pbs:": {"PBS_JOBID": "7", "PBS_NODEFILE": str(hosts)},
    }[system]


@pytest.mark.parametrize("system", ["slurm:", "lsf:", "pbs:"])
@pytest.mark.parametrize("cpu", ["thread", "core"])
def test_what_is_granted_is_what_the_command_line_imports(system, cpu, program, four, tmp_path):
    variables = job_of(system, tmp_path)
    if cpu == "core":
        variables = {name: value.replace("16", "8") for name, value in variables.items()}
    imported = tmp_path / "job.toml"
    line = ["-q", "cluster", "import", system, "--on", four, "--cpu", cpu, "-o", imported]
    run(program, *line, env=variables, cwd=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        granted = rankwright.Cluster(four).granted(BatchJob(variables), cpu=cpu)
    assert granted == rankwright.Cluster(imported) and granted.name == "job-7"
    assert pickle.loads(pickle.dumps(granted)) == granted
    plan = rankwright.place("pattern:ring:10", granted, strategies="blocked")
    # Four threads are two cores.
    first = 2 if cpu == "thread" and system != "pbs:" else 4
    assert [row["node"] for row in plan.placement.rows()].count("n1") == first


def test_the_numbers_of_cpus_are_those_that_slurm_tells(four):
    with pytest.warns(UserWarning, match="n3: granted in part; the numbers of the PUs are not known"):
        guessed = rankwright.Cluster(four).granted(BatchJob(SLURM))
    assert 'free = "0-3"' in guessed.to_toml()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = rankwright.Cluster(four).granted(BatchJob(SLURM, SCONTROL))
    assert 'free = "4-7"' in told.to_toml() and told.nodes == ["n1", "n2", "n3"]


def test_affinities_of_lsf_are_read(four, tmp_path):
    file = tmp_path / "affinity"
    file.write_text("n1 2,3\nn1 4,5\n")
    variables = {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n1 2", "LSB_AFFINITY_HOSTFILE": str(file)}
    assert 'free = "2-5"' in rankwright.Cluster(four).granted(BatchJob(variables)).to_toml()


def test_flux_is_known_by_what_it_prints(tmp_path):
    path = tmp_path / "gpus.toml"
    path.write_text(WITH_GPUS)
    with pytest.raises(InputError, match=r"details: found none, .* job f7 of Flux: .* `flux job info f7 R`"):
        BatchJob(FLUX)
    with pytest.raises(InputError, match="details: found no resource set"):
        BatchJob(FLUX, "no JSON")
    job = BatchJob(FLUX, R)
    assert job.title == "job f7 of Flux" and job.hosts == {"g0": 3, "g1": 3}
    granted = rankwright.Cluster(path).granted(job)
    text = granted.to_toml()
    assert 'free = "0-1,4"' in text and "gpu1" in text and "gpu0" not in text
    plan = rankwright.place("pattern:ring:4", path, job=job, strategies="blocked")
    assert plan.placement.contents["gpus"] == "near"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--nodes", "2"], {"nodes": 2}),
        (["--nodes", "n[2-3]"], {"nodes": "n[2-3]"}),
        (["--nodes", "4", "--ranks-per-node", "4"], {"nodes": 4, "ranks_per_node": 4}),
        ([], {}),
    ],
)
def test_nodes_are_those_that_the_command_line_takes_in_the_job(options, arguments, program, four, tmp_path):
    # Without options each node has as many ranks as the job has tasks there.
    variables = {**SLURM, "SLURM_TASKS_PER_NODE": "2(x2),4", "SLURM_CPUS_PER_TASK": "2"}
    line = ["-q", "place", "pattern:ring:8", "--on", four, "--for", "openmpi4", *options]
    run(program, *line, "-o", "cli.json", env=variables, cwd=tmp_path)
    plan = rankwright.place("pattern:ring:8", four, job=BatchJob(variables), **arguments)
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    nodes = [row["node"] for row in plan.placement.rows()]
    assert set(nodes) <= {"n1", "n2", "n3"}
    assert options or [nodes.count(f"n{node}") for node in range(4)] == [0, 2, 2, 4]


def test_without_a_number_of_nodes_only_granted_ones_are_used(four):
    plan = rankwright.place("pattern:ring:8", four, job=BatchJob(SLURM), strategies="cyclic")
    assert {row["node"] for row in plan.placement.rows()} == {"n1", "n2", "n3"}


@pytest.mark.parametrize("gpus", [None, "none", "one-per-rank"])
def test_granted_gpus_are_used_as_by_the_command_line(gpus, program, tmp_path):
    path = tmp_path / "gpus.toml"
    path.write_text(WITH_GPUS)
    variables = {**SLURM, "SLURM_JOB_NODELIST": "g[0-1]", "SLURM_JOB_CPUS_PER_NODE": "8(x2)"}
    variables["SLURM_GPUS_ON_NODE"] = "2"
    line = ["-q", "place", "pattern:ring:4", "--on", path, "--for", "openmpi4", "-o", "cli.json"]
    run(program, *line, *([] if gpus is None else ["--gpus", gpus]), env=variables, cwd=tmp_path)
    plan = rankwright.place("pattern:ring:4", path, job=BatchJob(variables), gpus=gpus)
    plan.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    assert all(bool(row["gpus"]) is (gpus != "none") for row in plan.placement.rows())


def test_gpus_that_the_description_lacks_are_missed(four):
    job = BatchJob({**SLURM, "SLURM_GPUS_ON_NODE": "2"})
    with pytest.warns(UserWarning, match="the batch system granted GPUs, which are left to the program: no node"):
        rankwright.place("pattern:ring:4", four, job=job, strategies="blocked")


def test_jobs_travel_without_other_variables():
    job = BatchJob({**SLURM, "TOKEN": "secret"})
    sent = pickle.dumps(job)
    assert b"secret" not in sent and pickle.loads(sent).hosts == {"n1": 16, "n2": 16, "n3": 4}


def test_errors_say_what_is_granted(four):
    with pytest.raises(InputError, match="environment: found no variables of a batch job"):
        BatchJob({})
    with pytest.raises(InputError, match="environment: found str, expected variables by name"):
        BatchJob("SLURM_JOB_ID=7")
    with pytest.raises(InputError, match="SLURM_JOB_CPUS_PER_NODE: found `16`, for 1 nodes"):
        BatchJob({**SLURM, "SLURM_JOB_CPUS_PER_NODE": "16"})
    job = BatchJob(SLURM)
    with pytest.raises(InputError, match="job: found dict, expected a rankwright.BatchJob"):
        rankwright.place("pattern:ring:4", four, job=SLURM)
    with pytest.raises(InputError, match="cpu: found `pu`, expected one of thread, core"):
        rankwright.Cluster(four).granted(job, cpu="pu")
    for arguments, says in [
        ({"nodes": "n[0-1]"}, r"nodes: n0 is not granted; job 7 of Slurm has n\[1-3\]"),
        ({"nodes": 4, "ranks_per_node": 1}, r"nodes \(job 7 of Slurm has n\[1-3\]\): 4 ranks"),
    ]:
        with pytest.raises(InfeasibleError, match=says):
            rankwright.place("pattern:ring:4", four, job=job, **arguments)
    whole = {"SLURM_JOB_NODELIST": "x[1-3]", "SLURM_JOB_CPUS_PER_NODE": "16(x3)"}
    elsewhere = BatchJob({**SLURM, **whole})
    with pytest.raises(InfeasibleError, match=r"job: job 7 of Slurm has x\[1-3\], none of the nodes of four"):
        rankwright.place("pattern:ring:4", four, job=elsewhere)
    with pytest.warns(UserWarning, match=r"3 hosts not in .*four.toml \(x1\): assumed to be like its nodes"):
        assert rankwright.Cluster(four).granted(elsewhere).nodes == ["x1", "x2", "x3"]
    many = BatchJob({**SLURM, "SLURM_JOB_CPUS_PER_NODE": "64(x3)"})
    with pytest.raises(InfeasibleError, match="64 CPUs are granted on n1, but .*four.toml has 16: give a description"):
        rankwright.Cluster(four).granted(many)
