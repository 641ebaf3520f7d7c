//! Hosts that this machine does not know. ssh does not reach them, of which launchers print a page for each.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rankwright::cluster::hostlist;
use rankwright::launch::{Launcher, Software};
use rankwright::units::counted;
use rankwright_lab::NAME_VARIABLE;
use rankwright_shim_format::same_host;

use crate::host::{child, find_program, this_host};

/// The time for the names of all hosts together. What is not answered by then is left to the launcher.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most names that are looked up at once.
const AT_ONCE: usize = 16;

/// The exit code of `getent` for a name without an address.
const NOT_FOUND: i32 = 2;

/// How the names of variables begin by which launchers start their daemons otherwise than by ssh.
const VARIABLES: [&str; 6] = [
    "OMPI_MCA_plm",
    "OMPI_MCA_orte_rsh_agent",
    "PRTE_MCA_plm",
    "HYDRA_LAUNCHER",
    "HYDRA_BOOTSTRAP",
    "I_MPI_HYDRA_BOOTSTRAP",
];

/// Why a launcher that is started here, with these arguments, does not reach all of the hosts: names without an
/// address, which ssh does not know by another name either.
pub(crate) fn why(launcher: &Launcher, arguments: &[String], hosts: &[&str]) -> Option<String> {
    if !starts_by_ssh(launcher, arguments) {
        return None;
    }
    let deadline = Instant::now() + PATIENCE;
    let here = this_host::name().unwrap_or_default();
    let others = hosts.iter().copied().filter(|host| !same_host(host, &here));
    let others: Vec<&str> = others.filter(|host| !host.starts_with('-')).collect();
    let unknown = without_address(&others, deadline);
    // Names that its configuration has usually have it for all of them.
    if is_known_to_ssh(unknown.first()?, deadline) {
        return None;
    }
    let which = match unknown.len() {
        all if all == hosts.len() => "no host of the placement has an".to_owned(),
        1 => format!("1 of the {} of the placement has no", counted(hosts.len(), "host")),
        some => format!("{some} of the {} of the placement have no", counted(hosts.len(), "host")),
    };
    Some(format!(
        "{which} address here: {}; start it on the cluster that it is for (in a \
         job, or with `rankwright lab exec` in a lab), or place for this machine (`rankwright cluster \
         discover`)",
        hostlist::compress(&unknown)
    ))
}

/// Whether no host has an address here, or is this one, as far as that is known soon. Looks at a few.
pub(crate) fn are_elsewhere(hosts: &[&str]) -> bool {
    let deadline = Instant::now() + PATIENCE;
    let here = this_host::name().unwrap_or_default();
    let hosts = &hosts[..hosts.len().min(AT_ONCE)];
    !hosts.is_empty()
        && !hosts.iter().any(|host| same_host(host, &here) || host.starts_with('-'))
        && without_address(hosts, deadline).len() == hosts.len()
        && !is_known_to_ssh(hosts[0], deadline)
}

/// Whether the launcher starts its daemons by ssh, as far as its arguments and our environment tell.
fn starts_by_ssh(launcher: &Launcher, arguments: &[String]) -> bool {
    let options: &[&str] = match launcher.software {
        Software::OpenMpi(_) => &["plm", "orte_rsh_agent"],
        Software::Mpich | Software::IntelMpi => &["launcher", "bootstrap", "rmk"],
        Software::Slurm | Software::Flux => return false,
    };
    let is_option = |word: &String| {
        let name = word.trim_start_matches('-');
        options.iter().any(|option| name.starts_with(option))
    };
    let is_variable = |name: &str| VARIABLES.iter().any(|start| name.starts_with(start));
    let mut names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    std::env::var_os(NAME_VARIABLE).is_none()
        && !arguments.iter().any(is_option)
        && !names.any(|name| is_variable(&name))
}

/// The hosts whose names do not resolve. `getent` is asked, because a program without shared libraries
/// cannot call the system's name service itself.
fn without_address<'a>(hosts: &[&'a str], deadline: Instant) -> Vec<&'a str> {
    let Some(getent) = find_program(Path::new("getent")) else { return Vec::new() };
    let is_missing = |hosts: &[&str]| {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut command = Command::new(&getent);
        let ended = (!left.is_zero())
            .then(|| child::ended(command.arg("ahosts").args(hosts), left).ok())
            .flatten();
        ended.is_some_and(|ended| ended.status.code() == Some(NOT_FOUND))
    };
    let of_part = &|part: &[&'a str]| {
        let mut missing = part.to_vec();
        // Usually all have one.
        let some = is_missing(part);
        missing.retain(|host| some && is_missing(&[*host]));
        missing
    };
    thread::scope(|scope| {
        let parts = hosts.chunks(hosts.len().div_ceil(AT_ONCE).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || of_part(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// Whether ssh's configuration has another name for a host, or another way to it.
fn is_known_to_ssh(host: &str, deadline: Instant) -> bool {
    let Some(ssh) = find_program(Path::new("ssh")) else { return false };
    let left = deadline.saturating_duration_since(Instant::now());
    let ended = child::ended(Command::new(ssh).args(["-G", "--", host]), left);
    ended.is_ok_and(|ended| has_way(&ended.output, host))
}

/// Whether the options that ssh uses for a host have a way to it.
fn has_way(options: &str, host: &str) -> bool {
    options.lines().filter_map(|line| line.split_once(' ')).any(|(name, value)| match name {
        "hostname" => !value.eq_ignore_ascii_case(host),
        "proxycommand" | "proxyjump" => value != "none",
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_name_service() {
        let deadline = Instant::now() + Duration::from_secs(60);
        assert!(without_address(&["127.0.0.1", "::1"], deadline).is_empty());
        assert!(without_address(&[], deadline).is_empty());
    }

    #[test]
    fn the_configuration_of_ssh_may_have_another_way() {
        let plain = "host n0\nuser me\nhostname n0\nport 22\n";
        assert!(!has_way(plain, "n0") && !has_way(plain, "N0"));
        assert!(has_way("host n0\nhostname 10.0.0.5\n", "n0"));
        assert!(has_way("hostname n0\nproxyjump login\n", "n0"));
        assert!(!has_way("hostname n0\nproxycommand none\n", "n0"));
    }

    #[test]
    fn only_what_ssh_starts_is_looked_up() {
        let starts = |name: &str, arguments: &[&str]| {
            let launcher = rankwright::launch::find(name).unwrap();
            let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
            starts_by_ssh(launcher, &arguments)
        };
        assert!(!starts("slurm", &[]) && !starts("flux", &[]));
        assert!(!starts("openmpi4", &["--mca", "plm_rsh_agent", "rsh"]));
        assert!(!starts("openmpi5", &["--prtemca", "plm", "slurm"]));
        assert!(!starts("mpich", &["-bootstrap", "slurm"]));
    }
}
