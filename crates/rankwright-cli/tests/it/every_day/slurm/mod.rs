//! `rankwright profile`, `run` and `check` under a real Slurm: `tests/fake-slurm` starts a controller and two nodes on this
//! machine, in a network of their own.

mod run;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::{pus_here, rankwright, repository, say, transcript};
use crate::every_day::check::launchers::nowhere;
use crate::every_day::profile::{CACHE, MPIS, Mpi, heat};
use crate::placements::{placement, write};

/// A running Slurm; ends with this value.
pub(crate) struct Slurm {
    pub(crate) folder: TempDir,
}

fn fake_slurm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-slurm")
}

impl Slurm {
    /// Starts one; `None` (and said so) where that is not possible.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts one with variables for `tests/fake-slurm`.
    pub(crate) fn start_with(variables: &[(&str, &str)]) -> Option<Self> {
        let missing = ["slurmctld", "slurmd", "srun"].into_iter().find(|name| {
            let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
            !folders.iter().any(|folder| Path::new(folder).join(name).exists())
        });
        if let Some(name) = missing {
            say(format_args!("SKIPPED: {name} is not installed"));
            return None;
        }
        let slurm = Self { folder: tempfile::tempdir().expect("a folder for Slurm") };
        let mut start = slurm.command("start", &[]);
        let output = start.envs(variables.iter().copied()).output();
        let output = output.expect("timeout is everywhere");
        if !output.status.success() {
            // Without root there is no network for it; anything else is an error.
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!may_make_networks(), "{text}");
            say("SKIPPED: a network namespace for Slurm is not permitted here");
            return None;
        }
        Some(slurm)
    }

    pub(crate) fn told(&self, what: &str, command: &[&str]) -> Output {
        self.command(what, command).output().expect("timeout is everywhere")
    }

    fn command(&self, what: &str, command: &[&str]) -> Command {
        let mut slurm = Command::new("timeout");
        slurm.arg("90").arg(fake_slurm()).arg(what).arg(self.folder.path()).args(command);
        slurm
            .env("XDG_CACHE_HOME", CACHE)
            .env("RANKWRIGHT_SITE", "")
            .env("RANKWRIGHT_RECORD", "off");
        // Open MPI leaves the loopback device out, which is all there is.
        slurm.env("OMPI_MCA_btl_tcp_if_include", "lo").env("OMPI_MCA_mpi_yield_when_idle", "1");
        slurm.env("OMPI_MCA_oob_tcp_if_include", "lo");
        slurm.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        slurm.current_dir(self.folder.path());
        slurm
    }

    /// Runs a command, up to four times more (and says so) if it does not end as it should. On a machine full
    /// of other tests srun gives up; and with PMIx, the steps of several components hung in 3 of 14
    /// starts beside six busy loops (Slurm 22.05), before the program or in its first exchange.
    fn retried(&self, words: &[&str], is_right: impl Fn(&Output) -> bool) -> Output {
        for _ in 0..4 {
            let output = self.told("exec", words);
            if is_right(&output) {
                return output;
            }
            say(format_args!("RETRIED: {}", transcript(words, &output)));
        }
        self.told("exec", words)
    }

    /// `rankwright COMMAND placement.json --for slurm ...` for a placement of ranks on hosts and
    /// PUs, in an allocation of both nodes; the lines of its output, sorted.
    fn placed(&self, places: &[(&str, u32)], command: &str, arguments: &[&str]) -> Vec<String> {
        write(&placement(2, false, places), self.folder.path());
        let rankwright = [env!("CARGO_BIN_EXE_rankwright"), command, "placement.json"];
        let options = ["--for", "slurm", "--timeout", "40s"];
        let allocation = ["salloc", "-N2", "--exclusive", "env", "OMP_NUM_THREADS=1"];
        let words = [&allocation, &rankwright[..], &options, arguments].concat();
        let output = self.retried(&words, |output| output.status.success());
        assert!(output.status.success(), "{}", transcript(&words, &output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    /// Profiles a launch; where the profile lies, and what was told.
    fn profile(&self, launch: &[&str]) -> (PathBuf, Output, String) {
        self.profile_with(&[], launch)
    }

    fn profile_with(&self, options: &[&str], launch: &[&str]) -> (PathBuf, Output, String) {
        let profile = self.folder.path().join("app.rwp");
        let path = profile.display().to_string();
        let arguments = [&["profile", "-o", &path], options, &["--"], launch].concat();
        let command = [&[env!("CARGO_BIN_EXE_rankwright")], arguments.as_slice()].concat();
        let output = self.told("exec", &command);
        let text = transcript(&arguments, &output);
        (profile, output, text)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.told("stop", &[]);
    }
}

fn may_make_networks() -> bool {
    let tried = Command::new("unshare").args(["--net", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

#[test]
fn srun_starts_programs_of_all_mpis_on_two_nodes() {
    let Some(slurm) = Slurm::start() else { return };
    let prefix = repository().join(".mpi/openmpi5").display().to_string();
    let pmix = ["--mpi=pmix", "--mpi=pmi2"];
    // Slurm passes nothing on of the environment but what is named. A wheel of Open MPI that its own
    // launcher does not start must be told where it lies.
    let named = "--export=HOME,PATH,OMPI_MCA_btl_tcp_if_include=lo,OMPI_MCA_mpi_yield_when_idle=1";
    let of_wheel = format!("{named},OPAL_PREFIX={prefix},PMIX_PREFIX={prefix}");
    for (place, mpi) in MPIS.iter().enumerate() {
        let Some(program) = heat(mpi, slurm.folder.path()) else { continue };
        let program = program.display().to_string();
        let run = [program.as_str(), "--cells", "64", "--fields", "2", "--iterations", "5"];
        let environment = if place == 2 { &of_wheel } else { named };
        let launch =
            [&["srun", "-N2", "-ln", "4", pmix[place % 2], environment], &run[..]].concat();
        let (mut file, mut output, mut text) = slurm.profile(&launch);
        if !output.status.success() {
            say(format_args!("retried: {text}"));
            (file, output, text) = slurm.profile(&launch);
        }
        assert!(output.status.success(), "{text}");
        let file = file.display().to_string();
        let shown = rankwright(&["traffic", "show", &file, "--format", "json"]).output().unwrap();
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["pairs"], 8, "{shown}");
        assert_eq!(shown["bytes"], 40 * 32 * 2 * 8);
        assert_eq!(shown["hosts"], 2);
    }
}

#[test]
fn sruns_exit_code_is_passed_on() {
    let Some(slurm) = Slurm::start() else { return };
    let launch = ["srun", "-n1", "sh", "-c", "exit 7"];
    // Nothing says which MPI a shell starts.
    let (_, output, text) = slurm.profile(&launch);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("the MPI of sh is unknown"), "{text}");
    let (_, output, text) = slurm.profile_with(&["--mpi", "mpich"], &launch);
    assert_eq!(output.status.code(), Some(7), "{text}");
}

#[test]
fn all_nodes_of_an_allocation_describe_themselves() {
    let Some(slurm) = Slurm::start() else { return };
    let discover = [env!("CARGO_BIN_EXE_rankwright"), "cluster", "discover", "--all-nodes"];
    // With more tasks than nodes, too: srun takes its defaults from the allocation.
    let words = [&["salloc", "-N2", "-n3"], &discover[..]].concat();
    let output = slurm.retried(&words, |output| output.status.success());
    let text = transcript(&words, &output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\n[[node]]\nnames = \"n[0-1]\"\n"), "{text}");
}

/// Rank, host and PUs of the lines of `check --format csv`.
fn reported(lines: &[String]) -> Vec<String> {
    let row = |line: &String| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{} {} {}", cells[0], cells[2], cells[4])
    };
    lines.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(row).collect()
}

/// `where.c` in Slurm's folder as `where`, and again as `other`; `None` where the MPI is missing.
pub(crate) fn where_programs(slurm: &Slurm, mpi: &Mpi) -> Option<()> {
    let at = |name| slurm.folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/where.c");
    let mut compiler = Command::new(mpi.compiler);
    let Ok(output) = compiler.args(["-fopenmp", "-o"]).arg(at("where")).arg(source).output() else {
        say(format_args!("SKIPPED: {} is not installed", mpi.compiler));
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::copy(at("where"), at("other")).expect("a copy");
    Some(())
}

/// What `where` says of a rank up to its host and PUs, `app` left out: under srun it says nothing.
fn places_said(lines: &[String]) -> Vec<String> {
    let place = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        format!("{} {} {}", words[1], words[5], words[7])
    };
    lines.iter().filter(|line| line.starts_with("rank ")).map(place).collect()
}

/// Ranks of two hosts in turns; neither host has the list of the other.
const IN_TURNS: [(&str, u32); 4] = [("n1", 1), ("n0", 0), ("n0", 1), ("n1", 0)];

/// [`Slurm::start`], where there are enough PUs to tell them apart.
pub(crate) fn start_with_two_pus() -> Option<Slurm> {
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return None;
    }
    Slurm::start()
}

#[test]
fn srun_puts_and_binds_every_rank_where_it_was_placed() {
    let Some(slurm) = start_with_two_pus() else { return };
    let csv = ["--format", "csv"];
    let lines = slurm.placed(&IN_TURNS, "check", &csv);
    assert_eq!(reported(&lines), ["0 n1 1", "1 n0 0", "2 n0 1", "3 n1 0"]);
    let native = [&["--binding", "native"][..], &csv].concat();
    let same_list = [("n1", 1), ("n0", 1), ("n0", 0)];
    let lines = slurm.placed(&same_list, "check", &native);
    assert_eq!(reported(&lines), ["0 n1 1", "1 n0 1", "2 n0 0"]);
}

#[test]
fn check_tells_every_kind_of_difference_under_srun() {
    let Some(slurm) = start_with_two_pus() else { return };
    let folder = slurm.folder.path();
    write(&nowhere(["n0", "n0", "n1"]), folder);
    // An srun that turns the hosts round.
    let turned = "#!/bin/sh\n[ \"$1\" = --version ] || { tac \"$SLURM_HOSTFILE\" >turned; \
                  export SLURM_HOSTFILE=$PWD/turned; }\nPATH=${PATH#*:} exec srun \"$@\"\n";
    std::fs::write(folder.join("srun"), turned).expect("the folder is writable");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("srun"), executable).expect("it is ours");
    let path = format!("PATH={}:/usr/bin:/bin:/usr/sbin", folder.display());
    let inside = ["salloc", "-N2", "--exclusive", "env", &path];
    let check = [env!("CARGO_BIN_EXE_rankwright"), "check", "placement.json", "--for", "slurm"];
    let options = ["--binding", "exec", "--fabric", "ucx", "--format", "csv"];
    // The ranks' environment says another device.
    let wrong = ["--launcher-args", "--export=ALL,UCX_NET_DEVICES=all"];
    let output = slurm.told("exec", &[&inside[..], &check, &options, &wrong].concat());
    let text = transcript(&check, &output);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> =
        table.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    assert!(lines.len() == 3 && text.contains("exit code: 5"), "{text}");
    for (rank, device) in ["mlx5_70", "mlx5_71", "mlx5_71"].iter().enumerate() {
        let refused = format!("instead of P#6000{rank} (the job may use P#");
        assert!(lines[rank].contains(&refused), "{text}");
        let variable = format!("UCX_NET_DEVICES is all instead of {device}:1");
        assert!(lines[rank].contains(&variable), "{text}");
        assert!(lines[rank].contains(&format!(" has no device {device}")), "{text}");
    }
    assert!(lines[0].contains("on n1 instead of n0"), "{text}");
    assert!(!lines[1].contains("instead of n0"), "{text}");
    assert!(lines[2].contains("on n0 instead of n1"), "{text}");
    assert!(lines[1].contains("shares PU P#0 with rank 2"), "{text}");
}

#[test]
fn srun_starts_programs_of_both_mpis_and_one_component_per_host() {
    let Some(slurm) = start_with_two_pus() else { return };
    // What a program loads says how its ranks find each other.
    for mpi in &MPIS[..2] {
        let Some(()) = where_programs(&slurm, mpi) else { continue };
        let parts = ["--", "-n", "1", "./where", "x y", ":", "./other"];
        let lines = slurm.placed(&IN_TURNS, "run", &parts);
        assert_eq!(places_said(&lines), ["0 n1 1", "1 n0 0", "2 n0 1", "3 n1 0"]);
        for (line, end) in lines.iter().zip(["./where x y", "./other", "./other", "./other"]) {
            assert!(line.ends_with(end), "{}: {lines:#?}", mpi.launcher);
        }
        let blocks = [("n1", 1), ("n1", 0), ("n0", 0), ("n0", 1)];
        // Components are one job under PMIx only.
        let binding = if mpi.launcher.contains("openmpi") { "native" } else { "auto" };
        let lines = slurm.placed(&blocks, "run", &["--binding", binding, "--", "./where"]);
        assert_eq!(places_said(&lines), ["0 n1 1", "1 n1 0", "2 n0 0", "3 n0 1"]);
    }
}

#[test]
fn a_batch_script_starts_ranks_as_placed() {
    let Some(slurm) = Slurm::start() else { return };
    let folder = slurm.folder.path();
    write(&placement(4, true, &[("n1", 1), ("n0", 0), ("n1", 0)]), folder);
    let program = env!("CARGO_BIN_EXE_rankwright");
    let said = "echo rank $SLURM_PROCID on $(uname -n)";
    let run = format!("{program} run placement.json --for slurm -- sh -c '{said}'");
    std::fs::write(folder.join("job.sh"), format!("#!/bin/sh\nexec {run}\n")).unwrap();
    let words = ["sbatch", "--wait", "-N2", "--exclusive", "-o", "job.out", "job.sh"];
    let output = slurm.told("exec", &words);
    let text = std::fs::read_to_string(folder.join("job.out")).unwrap_or_default();
    assert!(output.status.success(), "{} {text}", transcript(&words, &output));
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("rank ")).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["rank 0 on n1", "rank 1 on n0", "rank 2 on n1"], "{text}");
}

#[test]
fn srun_is_taken_where_no_mpi_has_a_launcher() {
    let Some(slurm) = Slurm::start() else { return };
    let folder = slurm.folder.path();
    write(&placement(4, true, &[("n1", 1), ("n0", 0)]), folder);
    for program in ["srun", "sh", "uname"] {
        let found = Command::new("which").arg(program).output().expect("which is everywhere");
        let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        std::os::unix::fs::symlink(path, folder.join(program)).unwrap();
    }
    let path = format!("PATH={}", folder.display());
    let run = [env!("CARGO_BIN_EXE_rankwright"), "run", "placement.json", "--dry-run", "--", "app"];
    let inside = ["salloc", "-N2", "--exclusive", "env", &path];
    let output = slurm.told("exec", &[&inside, &run[..]].concat());
    let text = transcript(&run, &output);
    assert!(text.contains("srun -N 2 -n 2 -m arbitrary --cpu-bind=none --overcommit"), "{text}");
    let output = slurm.told("exec", &[&["env", &path], &run[..]].concat());
    let text = transcript(&run, &output);
    assert!(text.contains("exit code: 127"), "{text}");
}

/// Both nodes, whose cores do not exist: this machine may have fewer.
const NODES: &str = "name = \"fake\"\nemulated = true\n\n[[node]]\nnames = \"n[0-1]\"\ntopology = \"core:4 pu:1\"\n";

impl Slurm {
    /// Runs a script as a batch job of two tasks on each of two nodes; what it printed.
    fn batch(&self, script: &str) -> String {
        let path = |name: &str| self.folder.path().join(name);
        let shell = format!("#!/bin/sh\ncd '{}'\n{script}\n", self.folder.path().display());
        std::fs::write(path("job.sh"), shell).expect("the folder is writable");
        let (job, out) = (path("job.sh").display().to_string(), path("out").display().to_string());
        let sbatch = ["sbatch", "--wait", "-N2", "-n4", "--ntasks-per-node=2", "-o", &out, &job];
        let output = self.told("exec", &sbatch);
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        format!("{text}{}", String::from_utf8_lossy(&output.stderr))
    }
}

#[test]
fn a_batch_job_is_placed_for_its_nodes_and_a_stale_rank_does_not_count() {
    let Some(slurm) = Slurm::start() else { return };
    std::fs::write(slurm.folder.path().join("cluster.toml"), NODES).unwrap();
    let made = rankwright(&["-q", "traffic", "generate", "ring:4", "-o", "app.rwp"])
        .current_dir(slurm.folder.path())
        .output();
    assert!(made.unwrap().status.success());
    let ours = env!("CARGO_BIN_EXE_rankwright");
    let launchers = [
        ("openmpi4", "mpirun.openmpi", "OMPI_COMM_WORLD_RANK", ""),
        // The nodes' names have no addresses.
        ("mpich", "mpiexec.mpich", "PMI_RANK", "--launcher-args '-iface lo'"),
    ];
    for (name, program, rank, arguments) in launchers {
        if Command::new(program).arg("--version").output().is_err() {
            say(format_args!("SKIPPED: {program} is not installed"));
            continue;
        }
        let placed = format!("{ours} run --on cluster.toml --for {name} {arguments} --profile");
        let tell = format!(
            "-- sh -c 'echo rank ${rank} of $SLURM_PROCID on $(hostname) should $RANKWRIGHT_WANTED_PUS'"
        );
        let script = format!("{placed} app.rwp {tell}; echo code $?");
        let mut text = slurm.batch(&script);
        if !text.contains("code 0") {
            say(format_args!("RETRIED: {text}"));
            text = slurm.batch(&script);
        }
        // With Open MPI every rank has the batch shell's SLURM_PROCID, with MPICH its node's.
        for (rank, host, pu) in [(0, "n0", 0), (1, "n0", 1), (2, "n1", 0), (3, "n1", 1)] {
            let is_rank = |line: &&str| {
                line.starts_with(&format!("rank {rank} of "))
                    && line.ends_with(&format!(" on {host} should {pu}"))
            };
            assert_eq!(text.lines().filter(is_rank).count(), 1, "{name} rank {rank}: {text}");
        }
        assert!(text.contains("4 ranks on 2 nodes placed by"), "{text}");
        // A job that cannot be placed starts by the launcher's default, on the same nodes.
        let text = slurm.batch(&format!("{placed} none.rwp {tell}; echo code $?"));
        assert_eq!(text.matches("warning: not placed, ").count(), 1, "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("rank ")).count(), 4, "{text}");
        assert!(text.contains("code 0"), "{text}");
    }
}

#[test]
fn ranks_of_a_running_job_are_found_by_its_number() {
    let Some(slurm) = Slurm::start() else { return };
    let ours = env!("CARGO_BIN_EXE_rankwright");
    // The ranks need a moment.
    let text = slurm.batch(&format!(
        "srun sleep 60 & for try in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5\n\
         {ours} -q check --running=$SLURM_JOB_ID --format csv >found && \
         [ $(wc -l <found) = 5 ] && break; done\n\
         sed \"s/slurm $SLURM_JOB_ID/slurm JOB/\" found; scancel $SLURM_JOB_ID.0"
    ));
    for rank in 0..4 {
        let is_rank = |line: &&str| line.contains(&format!(",sleep,slurm JOB.0,{rank},"));
        assert_eq!(text.lines().filter(is_rank).count(), 1, "{text}");
    }
}
