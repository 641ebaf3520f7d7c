//! What is here: batch job, launchers, files of this folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rankwright::choose::free_cores_and_pus;
use rankwright::cluster::read::allocation::JobHosts;
use rankwright::cluster::{self, Cluster};
use rankwright::launch::shell::quote;
use rankwright::launch::{LAUNCHERS, MPI_LAUNCHERS, Software};
use rankwright::placement::PlacementFile;
use rankwright::traffic::read::profile_file::{program_name, rank_count};

use crate::host::mpi::Family;
use crate::host::{batch_job, find_program, this_host};
use crate::launching::{lab, unknown_hosts};
use crate::options::site::Defaults;

/// The most entries of this folder that are looked at, and the most files that are opened.
const MOST_ENTRIES: usize = 10_000;
const MOST_OPENED: usize = 100;

/// What is here.
#[derive(Debug, Clone, Default)]
pub(super) struct Here {
    pub(super) job: Option<Job>,
    /// The launchers that were found, in words.
    pub(super) launchers: Vec<String>,
    /// The name of the one for an example.
    pub(super) launcher: Option<String>,
    /// The newest profile that can be read, and the newest placement unless the profile is newer.
    pub(super) profile: Option<String>,
    pub(super) placement: Option<String>,
    /// A placement for invented hosts, which starts nothing; unless the profile is newer.
    pub(super) example: Option<String>,
    /// A placement for other nodes than those of the job, or without a job for nodes that this one does not know.
    pub(super) elsewhere: Option<String>,
    /// `cluster.toml`, else another description.
    pub(super) cluster: Option<String>,
    /// The program that was recorded, for a shell, if it is here.
    pub(super) program: Option<String>,
    /// Whether the placement is what the launcher for an example does by default.
    pub(super) placed_by_default: bool,
    /// The jobs of the placement, each with the program of its name if that is here.
    pub(super) placed_jobs: Vec<(String, Option<String>)>,
    /// What goes before commands that start the placement: empty unless its hosts are those of a lab.
    pub(super) entry: String,
    /// The ranks of the profile.
    pub(super) ranks: Option<usize>,
    /// The free cores of the cluster, or of this host where that is what would be described.
    pub(super) free_cores: Option<usize>,
    /// Whether the cluster has all hosts of the job.
    pub(super) cluster_has_job: bool,
    /// The MPI of the launcher for an example, if its path tells.
    pub(super) family: Option<Family>,
    pub(super) site_has_cluster: bool,
    pub(super) usable_pus: usize,
}

/// The batch job around this process.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// `job 7 of Slurm`
    pub(super) title: String,
    /// The number of tasks that the user requested, if known.
    pub(super) tasks: Option<usize>,
    pub(super) is_flux: bool,
    /// Whether `run --profile` can ask which nodes the job has.
    pub(super) knows_nodes: bool,
}

impl Job {
    fn around() -> Option<Self> {
        let title = batch_job::title_here()?;
        let tasks = std::env::var("SLURM_NTASKS").ok().and_then(|text| text.parse().ok());
        let is_flux = batch_job::is_of_flux();
        // Only Flux has to be asked.
        let knows_nodes = !is_flux || batch_job::hosts_around().is_ok_and(|hosts| hosts.is_some());
        Some(Self { title, tasks: tasks.filter(|_| !is_flux), is_flux, knows_nodes })
    }
}

impl Here {
    /// Looks at the environment, PATH and this folder. `recorded` is a profile that was just written: then
    /// no older file counts as the next to work with.
    pub(super) fn look(recorded: Option<&Path>) -> Self {
        let job = Job::around();
        let mut files = Files::of(Path::new("."));
        if let Some(profile) = recorded {
            files.profile = Some((SystemTime::now(), profile.display().to_string()));
            files.placement = None;
        }
        let (launcher, launchers) = launchers(job.as_ref());
        let program = files.profile.as_ref().and_then(|(_, name)| program_of(name));
        let cluster = files.cluster.as_ref().and_then(|name| cluster::open(name).ok());
        let ranks = files.profile.as_ref().and_then(|(_, name)| rank_count(Path::new(name)));
        let site_has_cluster = Defaults::read().is_ok_and(|defaults| defaults.has_cluster());
        let known_elsewhere = site_has_cluster || job.is_some();
        let hosts = job.as_ref().and_then(|_| batch_job::hosts_around().ok().flatten());
        let cluster_has_job =
            cluster.as_ref().zip(hosts.as_ref()).is_some_and(|(cluster, (_, hosts))| {
                hosts.names().into_iter().all(|host| cluster.find_node(host).is_some())
            });
        // A profile that was recorded after the placement is to be placed.
        let stale = |placement: &Dated| files.profile.as_ref().is_some_and(|p| p.0 > placement.0);
        let placement = files.placement.filter(|placement| !stale(placement));
        let example = files.example.filter(|example| !stale(example));
        let name = |file: Option<Dated>| file.map(|(_, name)| name);
        let placed =
            placement.as_ref().and_then(|(_, name)| PlacementFile::read(Path::new(name)).ok());
        let hosts = hosts.as_ref().map(|(_, hosts)| hosts);
        let (entry, is_elsewhere) = site_of(placed.as_ref(), job.as_ref(), hosts);
        let (placement, elsewhere) =
            if is_elsewhere { (None, placement) } else { (placement, None) };
        let (placed, entry) = (placed.filter(|_| !is_elsewhere), entry.filter(|_| !is_elsewhere));
        let family = launcher.as_deref().and_then(family_of);
        let placed_by_default = placed
            .as_ref()
            .is_some_and(|placed| is_by_default(placed, launcher.as_deref(), family));
        let jobs = placed.into_iter().flat_map(|placed| placed.jobs);
        let placed_jobs = jobs.map(|job| (job.name.clone(), program_here(&job.name))).collect();
        Self {
            placed_jobs,
            entry: entry.unwrap_or_default(),
            ranks,
            free_cores: free_cores(cluster.as_ref(), known_elsewhere),
            cluster_has_job,
            family,
            placed_by_default,
            job,
            launchers,
            launcher,
            program,
            placement: name(placement),
            elsewhere: name(elsewhere),
            profile: name(files.profile),
            example: name(example),
            // A description that cannot be read is of no use.
            cluster: files.cluster.filter(|_| cluster.is_some()),
            site_has_cluster,
            usable_pus: this_host::usable_pus().get(),
        }
    }
}

/// The MPI of a launcher, if its path tells.
fn family_of(launcher: &str) -> Option<Family> {
    let path = find_program(Path::new(launcher))?;
    Family::by_path(&path.canonicalize().unwrap_or(path))
}

/// What goes before the commands that start a placement, if its hosts are those of a lab, and whether the
/// placement is for other nodes than those of the job, `hosts`, or that this node knows.
fn site_of(
    placed: Option<&PlacementFile>,
    job: Option<&Job>,
    hosts: Option<&JobHosts>,
) -> (Option<String>, bool) {
    let nodes = placed.iter().flat_map(|placed| &placed.nodes);
    let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    let entry = placed.and_then(|placed| {
        lab::Described::from(&placed.cluster).entry_from_outside(names.iter().copied())
    });
    let is_elsewhere = match hosts {
        Some(hosts) => names.iter().any(|host| !hosts.has(host)),
        None => job.is_none() && entry.is_none() && unknown_hosts::are_elsewhere(&names),
    };
    (entry, is_elsewhere)
}

/// Whether a launcher of this name and family places the ranks so by default, in any of its versions.
fn is_by_default(placed: &PlacementFile, launcher: Option<&str>, family: Option<Family>) -> bool {
    let ranks = placed.jobs.iter().map(|job| job.ranks.len()).sum();
    let is_here = |software: Software| match (software, family) {
        (Software::OpenMpi(_), Some(Family::OpenMpi))
        | (Software::Mpich, Some(Family::Mpich))
        | (Software::IntelMpi, Some(Family::Intel)) => true,
        (Software::Slurm, _) => launcher == Some("srun"),
        (Software::Flux, _) => launcher == Some("flux"),
        _ => false,
    };
    let launchers = LAUNCHERS.iter().filter(|launcher| is_here(launcher.software));
    launchers.map(|launcher| launcher.default_strategy(ranks)).any(|usual| usual == placed.strategy)
}

/// The free cores of the cluster of this folder, or of this host unless the nodes are known elsewhere.
fn free_cores(cluster: Option<&Cluster>, known_elsewhere: bool) -> Option<usize> {
    let free = |cluster: &Cluster| free_cores_and_pus(cluster).0;
    match cluster {
        Some(cluster) => Some(free(cluster)),
        None if known_elsewhere => None,
        None => this_host::cluster().ok().as_ref().map(free),
    }
}

/// The program that a profile recorded, else that with the name of the profile, if it is in this folder.
fn program_of(profile: &str) -> Option<String> {
    let recorded = program_name(Path::new(profile));
    let program = recorded.as_deref().and_then(program_here);
    let program = program.or_else(|| program_here(profile.strip_suffix(".rwp")?));
    program.as_deref().map(quote)
}

/// The program of this name in this folder, if it is there.
fn program_here(name: &str) -> Option<String> {
    let path = format!("./{name}");
    find_program(Path::new(&path)).map(|_| path)
}

/// The name of the launcher for an example, and all launchers with their MPI, which is told by the path:
/// asking them takes longer than all else.
fn launchers(job: Option<&Job>) -> (Option<String>, Vec<String>) {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let mut described = Vec::new();
    for name in MPI_LAUNCHERS {
        let Some(path) = find_program(Path::new(name)) else { continue };
        let real = path.canonicalize().unwrap_or(path);
        if seen.contains(&real) {
            continue;
        }
        described.push(match Family::by_path(&real) {
            Some(family) => format!("{name} ({family})"),
            None => name.to_owned(),
        });
        names.push(name);
        seen.push(real);
    }
    let of_managers = ["srun", "flux"].into_iter();
    let found: Vec<&str> =
        of_managers.filter(|name| find_program(Path::new(name)).is_some()).collect();
    described.extend(found.iter().map(|name| (*name).to_owned()));
    // Outside of a job, srun and flux would wait for nodes.
    let of_job = match job {
        Some(job) if job.is_flux => found.iter().find(|name| **name == "flux"),
        Some(_) => found.iter().find(|name| **name == "srun"),
        None => None,
    };
    let launcher = of_job.filter(|_| names.is_empty() || job.is_some_and(|job| job.is_flux));
    let launcher = launcher.or(names.first()).map(|name| (*name).to_owned());
    (launcher, described)
}

/// When a file was last changed, and its name.
type Dated = (SystemTime, String);

/// The files of a folder that are of use.
#[derive(Debug, Default)]
struct Files {
    profile: Option<Dated>,
    placement: Option<Dated>,
    example: Option<Dated>,
    cluster: Option<String>,
}

impl Files {
    fn of(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // A name with a control character would change the look of the terminal.
        names.retain(|name| !name.contains(char::is_control) && !name.starts_with(['.', '-']));
        names.sort_unstable();
        let mut files = Self::default();
        let mut opened = 0;
        for name in names {
            let path = folder.join(&name);
            let has = |ending: &str| name.ends_with(ending);
            if !(has(".rwp") || has(".json") || has(".toml")) {
                continue;
            }
            // Opening a named pipe would wait for its writer.
            let Ok(data) = path.metadata() else { continue };
            if !data.is_file() || data.len() == 0 {
                continue;
            }
            let changed = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if opened == MOST_OPENED {
                break;
            }
            opened += 1;
            let begin = begin_of(&path);
            let is_placement =
                || ["\"strategy\"", "\"workload_digest\""].iter().all(|key| begin.contains(key));
            if has(".rwp") {
                // One that ended early, or is no profile, has no count of ranks.
                if rank_count(&path).is_some() {
                    newer(&mut files.profile, (changed, name));
                }
            } else if has(".toml") && begin.contains("[[node]]") {
                if files.cluster.is_none() || name == "cluster.toml" {
                    files.cluster = Some(name);
                }
            } else if has(".json") && is_placement() {
                let invented = begin.contains("\"invented\": true");
                let kept = if invented { &mut files.example } else { &mut files.placement };
                newer(kept, (changed, name));
            }
        }
        files
    }
}

/// Keeps the newer file; of two that were changed at the same time the first.
fn newer(kept: &mut Option<Dated>, file: Dated) {
    if kept.as_ref().is_none_or(|kept| kept.0 < file.0) {
        *kept = Some(file);
    }
}

/// The first bytes of a file; empty if it cannot be read.
fn begin_of(path: &Path) -> String {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut bytes));
    if file.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use rankwright::traffic::profile::Profile;
    use rankwright::traffic::read::profile_file;

    use super::*;

    #[test]
    fn files_are_told_by_name_and_contents() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("Cargo.toml", "[package]\n");
        write("a.toml", "[[node]]\nnames = \"n0\"\n");
        write("package.json", "{\"name\": \"x\"}");
        write("empty.rwp", "");
        write("evil\n.rwp", "x");
        let files = Files::of(folder.path());
        assert_eq!((files.profile, files.placement), (None, None));
        assert_eq!(files.cluster.as_deref(), Some("a.toml"));
        write("cluster.toml", "name = \"c\"\n[[node]]\n");
        write(
            "p.json",
            "{\"format\": 1, \"strategy\": \"drb\", \"workload_digest\": \"sha256:0\"}",
        );
        write("other.rwp", "text");
        write("app.rwp", "SQLite format 3");
        assert_eq!(Files::of(folder.path()).profile, None, "it ended early");
        profile_file::write(&Profile::default(), &folder.path().join("app.rwp")).unwrap();
        write(
            "e.json",
            "{\"strategy\": \"x\", \"cluster\": {\"invented\": true}, \"workload_digest\": \"\"}",
        );
        let files = Files::of(folder.path());
        let name = |file: Option<Dated>| file.map(|(_, name)| name);
        assert_eq!(name(files.profile).as_deref(), Some("app.rwp"));
        assert_eq!(name(files.placement).as_deref(), Some("p.json"));
        assert_eq!(name(files.example).as_deref(), Some("e.json"));
        assert_eq!(files.cluster.as_deref(), Some("cluster.toml"));
        assert!(Files::of(&folder.path().join("absent")).cluster.is_none());
    }
}
