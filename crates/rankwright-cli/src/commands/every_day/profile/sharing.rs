//! Warns before the run if its ranks will share PUs of this host.

use crate::host::batch_job::BatchJob;
use crate::host::mpi::{Family, Mpi};
use crate::host::this_host::usable_pus;
use crate::launching::launch_line::LaunchLine;
use crate::output::{self, Verbosity};

/// Options that name hosts or a file with hosts.
const HOSTS: [&str; 9] =
    ["H", "host", "hosts", "hostfile", "machinefile", "default-hostfile", "f", "rf", "rankfile"];

/// Variables by which launchers find hosts without an option.
const HOST_VARIABLES: [&str; 6] = [
    "FLUX_URI",
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
    "SLURM_JOB_ID",
];

/// Warns if more ranks start on this host than PUs may be used here. Says nothing where the number of
/// ranks or their hosts cannot be told from the command line.
pub(super) fn warn(line: &LaunchLine, verbosity: &Verbosity) {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let Some(mpi) = &line.mpi else { return };
    if HOST_VARIABLES.into_iter().any(is_set) || !matches!(BatchJob::around(), Ok(None)) {
        return;
    }
    let Some(ranks) = ranks_here(line.options()) else { return };
    let pus = usable_pus().get();
    if ranks > pus {
        let pus = rankwright::units::counted(pus, "usable PU");
        let words: Vec<&str> = line.options().flatten().map(String::as_str).collect();
        let text = format!(
            "{ranks} ranks will share the {pus} of this host: their times inside MPI will include \
             waiting for a PU (the traffic is right in any case){}",
            advice(mpi, &words, is_set)
        );
        output::warn(verbosity, text);
    }
}

/// The number of ranks, all on this host; `None` if unknown. `parts` are the launcher's options for
/// each program.
fn ranks_here<'a>(parts: impl Iterator<Item = &'a [String]>) -> Option<usize> {
    let mut sum = 0_usize;
    for words in parts {
        let name =
            |word: &'a String| word.strip_prefix('-').map(|name| name.trim_start_matches('-'));
        let mut names = words.iter().filter_map(name);
        if names.any(|name| HOSTS.contains(&name.split('=').next().unwrap_or(name))) {
            return None;
        }
        let place = words.iter().position(|word| matches!(name(word), Some("n" | "np")))?;
        sum = sum.checked_add(words.get(place + 1)?.parse().ok()?)?;
    }
    Some(sum)
}

/// The options of this MPI with which ranks that wait leave the PU to others, without those that are
/// given.
fn advice(mpi: &Mpi, words: &[&str], is_set: impl Fn(&str) -> bool) -> String {
    let given = |what: &str| words.iter().any(|word| word.to_lowercase().contains(what));
    let mut options = Vec::new();
    match mpi.family {
        Family::OpenMpi => {
            if !given("oversubscribe") {
                let four = mpi.version.0 < 5;
                options.push(if four { "--oversubscribe" } else { "--map-by :OVERSUBSCRIBE" });
            }
            if !given("mpi_yield_when_idle") && !is_set("OMPI_MCA_mpi_yield_when_idle") {
                options.push("--mca mpi_yield_when_idle 1");
            }
        }
        // Neither MPIR_CVAR_POLLS_BEFORE_YIELD (only ch3) nor MPIR_CVAR_ENABLE_HEAVY_YIELD (only locks
        // between threads) makes ranks of ch4 yield.
        Family::Mpich if mpi.version.0 < 5 => {
            let (major, minor) = mpi.version;
            return format!(
                "; ranks of MPICH {major}.{minor} spin while they wait, so expect a slow run"
            );
        }
        Family::Mpich => {
            const THROTTLE: &str = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
            if !given(&THROTTLE.to_lowercase()) && !is_set(THROTTLE) {
                options.push("-genv MPIR_CVAR_CH4_PROGRESS_THROTTLE 1");
            }
        }
        Family::Intel => {
            if !given("i_mpi_wait_mode") && !is_set("I_MPI_WAIT_MODE") {
                options.push("-genv I_MPI_WAIT_MODE 1");
            }
        }
    }
    match options.is_empty() {
        true => String::new(),
        false => format!("; with `{}` they wait without occupying it", options.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(line: &str) -> Option<usize> {
        let parts: Vec<Vec<String>> =
            line.split(" : ").map(|part| part.split(' ').map(str::to_owned).collect()).collect();
        ranks_here(parts.iter().map(Vec::as_slice))
    }

    #[test]
    fn ranks_are_counted_where_all_start_here() {
        assert_eq!(ranks("-np 4 --oversubscribe"), Some(4));
        assert_eq!(ranks("-n 1 : --np 3"), Some(4));
        for unknown in [
            "",
            "-n",
            "-n x",
            "-n 4 : -x A",
            "-N 2",
            "-n 4 -H a,b",
            "-n 4 --hostfile=h",
            "-n 4 -f h",
        ] {
            assert_eq!(ranks(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_options_are_those_of_the_mpi() {
        let said = |family, version, words: &[&str], set: bool| {
            let mpi = Mpi { launcher: "mpirun".into(), family, version };
            advice(&mpi, words, |_| set)
        };
        let open_mpi = "; with `--oversubscribe --mca mpi_yield_when_idle 1` they wait without \
                        occupying it";
        assert_eq!(said(Family::OpenMpi, (4, 1), &["-np", "4"], false), open_mpi);
        let five = said(Family::OpenMpi, (5, 0), &[], false);
        assert!(five.contains("--map-by :OVERSUBSCRIBE --mca mpi_yield_when_idle 1"), "{five}");
        let given = ["--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"];
        assert_eq!(said(Family::OpenMpi, (5, 0), &given, false), "");
        assert_eq!(said(Family::OpenMpi, (4, 1), &["--oversubscribe"], true), "");
        assert!(said(Family::Mpich, (4, 0), &[], false).contains("MPICH 4.0 spin"));
        assert!(said(Family::Mpich, (5, 0), &[], false).contains("CH4_PROGRESS_THROTTLE 1`"));
        assert_eq!(said(Family::Mpich, (5, 0), &[], true), "");
        assert!(said(Family::Intel, (2021, 19), &[], false).contains("I_MPI_WAIT_MODE 1`"));
    }
}
