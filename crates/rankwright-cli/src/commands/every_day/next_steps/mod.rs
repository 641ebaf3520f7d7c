//! `rankwright` without a command: what is here, and the next commands.

mod here;

use std::path::Path;
use std::process::ExitCode;

use rankwright::launch::shell::quote;
use rankwright::units::counted;

use crate::host::mpi::Family;
use crate::output;
use crate::planning::plan::larger_cluster;
use here::Here;

/// The number of ranks of the line of the example.
const EXAMPLE_RANKS: usize = 4;

/// Prints what is here and the commands that come next. Starts no launcher; what cannot be read counts as
/// missing, and `doctor` says why.
pub(crate) fn next_steps() -> anyhow::Result<ExitCode> {
    output::print(&text(&Here::look(None)))?;
    Ok(ExitCode::SUCCESS)
}

/// The commands that come next for a profile that was just written, up to the one that places it. `program`
/// is what goes behind their `--`, if it is known.
pub(crate) fn commands_to_place(profile: &Path, program: Option<String>) -> Vec<String> {
    let here = Here::look(Some(profile));
    let program = program.or(here.program.clone());
    let (_, mut commands) = steps(&Here { program, ..here });
    // What follows needs the placement first.
    commands.retain(|command| !command.starts_with("rankwright run placement.json"));
    commands
}

/// At most 12 lines.
fn text(here: &Here) -> String {
    let (what, commands) = steps(here);
    let mut text = format!("{}\n{what}\n", described(here));
    for command in commands {
        text += &format!("  {command}\n");
    }
    text + "\n`rankwright doctor` tests what is installed and works.\n\
            `rankwright --help` lists all commands.\n"
}

/// A line each about the job, the launchers and the files.
fn described(here: &Here) -> String {
    let job = here.job.as_ref().map_or("none around this shell", |job| job.title.as_str());
    let launchers = match &here.launchers[..] {
        [] => "none on PATH".to_owned(),
        launchers => launchers.join(", "),
    };
    let files = [&here.profile, &here.placement, &here.cluster];
    let mut files: Vec<String> = files.into_iter().flatten().cloned().collect();
    let invented =
        |name: &String| format!("{name} (node names are placeholders: for planning only)");
    files.extend(here.example.as_ref().map(invented));
    let why = match here.job {
        Some(_) => "this job does not have its nodes",
        None => "its nodes have no address here: run it on their cluster",
    };
    let elsewhere = |name: &String| format!("{name} ({why})");
    files.extend(here.elsewhere.as_ref().map(elsewhere));
    let files = match &files[..] {
        [] => "no profile, placement or cluster.toml in this folder".to_owned(),
        files => files.join(", "),
    };
    format!("batch job   {job}\nlaunchers   {launchers}\nfiles here  {files}\n")
}

/// What comes next in words, and two or three commands.
fn steps(here: &Here) -> (String, Vec<String>) {
    let known = || {
        let (what, commands) = known_steps(here);
        (what.to_owned(), commands)
    };
    if here.placement.is_some() || here.job.is_some() {
        return known();
    }
    let Some(cores) = here.free_cores else { return known() };
    let larger = |command: &str, ranks, profile: &str| {
        format!("rankwright {command} {} {}", quote(profile), larger_cluster(ranks))
    };
    let example = |ranks, profile: &str| larger("place", ranks, profile) + " -o example.json";
    let cluster = here.cluster.as_deref().unwrap_or("this host");
    let free = counted(cores, "free core");
    if let (Some(profile), Some(ranks)) = (&here.profile, here.ranks.filter(|n| *n > cores)) {
        let ranks_here = format!("{profile} has {}, {cluster} {free}.", counted(ranks, "rank"));
        return match &here.example {
            None => {
                let what =
                    format!("{ranks_here} Next: see what placements change on a larger cluster:");
                (what, vec![example(ranks, profile)])
            }
            // That was the step before.
            Some(_) => {
                let what = format!(
                    "{ranks_here} Next: see what placements change there as a page, and describe your cluster:"
                );
                let describe = "rankwright cluster import --help".to_owned();
                (what, vec![larger("report", ranks, profile), describe])
            }
        };
    }
    if here.profile.is_some() || example_ranks(here) <= cores {
        return known();
    }
    let Some(profile) = profile_line(here) else { return known() };
    let cluster = here.cluster.as_deref().unwrap_or("This host");
    let what = format!(
        "{cluster} has {free}. Next: record one run of your program (here ./app), and see what placements change \
         on a larger cluster:"
    );
    (what, vec![profile, example(example_ranks(here), "app.rwp")])
}

/// As [`steps`], for ranks that the cluster has cores for.
fn known_steps(here: &Here) -> (&'static str, Vec<String>) {
    let program = here.program.as_deref().unwrap_or("./app");
    let run = format!("rankwright run placement.json -- {program}");
    if let Some(placement) = &here.placement {
        let what = match here.placed_jobs.len() {
            0 | 1 if here.placed_by_default => {
                "Next: check that each rank gets its place, and run. It is placed as the launcher does by default:"
            }
            0 | 1 => {
                "Next: check that each rank gets its place, run, and measure against the launcher's default:"
            }
            _ => "Next: check that each rank gets its place, and start each job:",
        };
        return (what, commands_of_placement(here, &quote(placement)));
    }
    if let Some(profile) = &here.profile {
        let profile = quote(profile);
        if here.job.as_ref().is_some_and(|job| job.knows_nodes) {
            let on = if here.cluster_has_job { on(here) } else { String::new() };
            return (
                "Next: place the program on the nodes of this job, and start it:",
                vec![
                    format!("rankwright run --dry-run --profile {profile}{on} -- {program}"),
                    format!("rankwright run --profile {profile}{on} -- {program}"),
                ],
            );
        }
        let mut commands = discover(here);
        commands.push(format!("rankwright place {profile}{} -- {program}", on(here)));
        commands.push(run);
        return ("Next: place the program, and start it as placed:", commands);
    }
    match profile_line(here) {
        Some(profile) => {
            let mut commands = vec![profile];
            commands.extend(discover(here));
            commands.push(format!("rankwright place app.rwp{} -- ./app", on(here)));
            ("Next: record one run of your program (here ./app), and place it:", commands)
        }
        None => (
            "Next: load the module of your MPI (`module avail`), or see how a placement looks without MPI:",
            vec![
                "rankwright place pattern:halo-2d:64 --on \"synthetic:numa:2 core:8 pu:1\" --nodes 4 -o example.json"
                    .to_owned(),
                "rankwright launch example.json --for slurm -o example -- ./app".to_owned(),
            ],
        ),
    }
}

/// The most jobs of a placement that have a command.
const MOST_JOBS: usize = 3;

/// Checks and starts the jobs of a placement; a single one is measured, too.
fn commands_of_placement(here: &Here, placement: &str) -> Vec<String> {
    let entry = &here.entry;
    let mut commands = vec![format!("{entry}rankwright check {placement}")];
    let program = |known: &Option<String>| known.as_deref().map_or("./app".to_owned(), quote);
    if here.placed_jobs.len() > 1 {
        let run = |(name, known): &(String, Option<String>)| {
            let program = program(known);
            format!("{entry}rankwright run --job {} {placement} -- {program}", quote(name))
        };
        commands.extend(here.placed_jobs.iter().take(MOST_JOBS).map(run));
        return commands;
    }
    let program = here.placed_jobs.first().map_or("./app".to_owned(), |(_, known)| program(known));
    commands.push(format!("{entry}rankwright run {placement} -- {program}"));
    // The default compared with itself tells nothing.
    if !here.placed_by_default {
        commands.push(format!(
            "{entry}rankwright run --compare default,placement --repeat 5 {placement} -- {program}"
        ));
    }
    if let (Some(profile), Some(_)) = (&here.profile, &here.cluster) {
        let profile = quote(profile);
        commands.push(format!("rankwright report {placement} --profile {profile}{}", on(here)));
    }
    commands
}

/// The command that describes this node, if no cluster is known.
fn discover(here: &Here) -> Vec<String> {
    let known = here.cluster.is_some() || here.site_has_cluster;
    let all =
        if here.job.as_ref().is_some_and(|job| job.knows_nodes) { " --all-nodes" } else { "" };
    let command = || format!("rankwright cluster discover{all} -o cluster.toml");
    (!known).then(command).into_iter().collect()
}

/// The option that names the cluster; empty where the site has one.
fn on(here: &Here) -> String {
    match &here.cluster {
        None if here.site_has_cluster => String::new(),
        cluster => format!(" --on {}", quote(cluster.as_deref().unwrap_or("cluster.toml"))),
    }
}

/// The command that records `./app`, if there is a launcher.
fn profile_line(here: &Here) -> Option<String> {
    Some(format!("rankwright profile --events -o app.rwp -- {}", launch_line(here)?))
}

/// The ranks of the example. For two ranks no placement matters, so there are more, on few PUs too where the
/// launcher is known to start them.
fn example_ranks(here: &Here) -> usize {
    let ranks = match here.family {
        Some(_) => EXAMPLE_RANKS,
        None => here.usable_pus.clamp(2, EXAMPLE_RANKS),
    };
    here.job.as_ref().and_then(|job| job.tasks).unwrap_or(ranks)
}

/// A line that starts ranks of `./app` with a launcher that is here.
fn launch_line(here: &Here) -> Option<String> {
    let of_job = here.job.as_ref().and_then(|job| job.tasks);
    let few_pus = of_job.is_none() && here.usable_pus < EXAMPLE_RANKS;
    let ranks = example_ranks(here);
    let more = match here.family {
        Some(Family::OpenMpi) if few_pus => " --oversubscribe",
        _ => "",
    };
    let launcher = here.launcher.as_deref()?;
    Some(match launcher {
        "flux" => format!("flux run -n {ranks} ./app"),
        "srun" => format!("srun -n {ranks} ./app"),
        launcher => format!("{launcher} -np {ranks}{more} ./app"),
    })
}

#[cfg(test)]
mod tests {
    use super::here::Job;
    use super::*;

    fn here() -> Here {
        Here { usable_pus: 64, ..Here::default() }
    }

    fn commands(here: &Here) -> Vec<String> {
        let text = text(here);
        assert!(text.lines().count() <= 12, "{text}");
        text.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
    }

    #[test]
    fn each_situation_has_its_commands() {
        let name = |name: &str| Some(name.to_owned());
        let mpi = Here { launcher: name("mpirun"), ..here() };
        assert_eq!(
            commands(&mpi),
            [
                "rankwright profile --events -o app.rwp -- mpirun -np 4 ./app",
                "rankwright cluster discover -o cluster.toml",
                "rankwright place app.rwp --on cluster.toml -- ./app",
            ]
        );
        let profile = Here { profile: name("it's.rwp"), site_has_cluster: true, ..mpi };
        assert_eq!(
            commands(&profile),
            ["rankwright place 'it'\\''s.rwp' -- ./app", "rankwright run placement.json -- ./app"]
        );
        let recorded = Here { program: name("./app 'two words'"), ..profile.clone() };
        assert_eq!(commands(&recorded)[0], "rankwright place 'it'\\''s.rwp' -- ./app 'two words'");
        let slurm = Job {
            title: "job 7 of Slurm".to_owned(),
            tasks: Some(96),
            is_flux: false,
            knows_nodes: true,
        };
        let inside = Here { job: Some(slurm.clone()), profile: name("a.rwp"), ..here() };
        assert_eq!(commands(&inside)[1], "rankwright run --profile a.rwp -- ./app");
        let other_nodes = Here { elsewhere: name("p.json"), ..inside.clone() };
        assert_eq!(commands(&other_nodes), commands(&inside));
        assert!(text(&other_nodes).contains("a.rwp, p.json (this job does not have its nodes)\n"));
        let on_its_nodes =
            Here { cluster: name("c.toml"), cluster_has_job: true, ..inside.clone() };
        assert_eq!(
            commands(&on_its_nodes)[1],
            "rankwright run --profile a.rwp --on c.toml -- ./app"
        );
        let unprofiled = Here { profile: None, launcher: name("srun"), ..inside };
        assert_eq!(
            commands(&unprofiled)[..2],
            [
                "rankwright profile --events -o app.rwp -- srun -n 96 ./app",
                "rankwright cluster discover --all-nodes -o cluster.toml"
            ]
        );
        assert!(commands(&here())[0].starts_with("rankwright place pattern:"));
        let flux = Job { is_flux: true, tasks: None, knows_nodes: false, ..slurm };
        let flux = Here { job: Some(flux), launcher: name("flux"), ..here() };
        assert!(commands(&flux)[0].ends_with("flux run -n 4 ./app"));
        // Of a job whose nodes are not known, this one is described.
        assert_eq!(commands(&flux)[1], "rankwright cluster discover -o cluster.toml");
    }

    #[test]
    fn a_placement_is_checked_and_started() {
        let name = |name: &str| Some(name.to_owned());
        let placed = Here {
            placement: name("p.json"),
            program: name("./other"),
            placed_jobs: vec![("my app".to_owned(), name("./my app"))],
            ..here()
        };
        assert_eq!(commands(&placed)[1], "rankwright run p.json -- './my app'");
        let jobs = vec![("cg".to_owned(), name("./cg")), ("ep".to_owned(), None)];
        let two = Here { placed_jobs: jobs, ..placed.clone() };
        assert_eq!(
            commands(&two)[1..],
            ["rankwright run --job cg p.json -- ./cg", "rankwright run --job ep p.json -- ./app"]
        );
        let entry = "rankwright lab exec --name x head -- ".to_owned();
        let in_lab = Here { entry, ..placed };
        assert_eq!(
            commands(&in_lab)[0],
            "rankwright lab exec --name x head -- rankwright check p.json"
        );
        let whole = Here { profile: name("a.rwp"), cluster: name("c.toml"), ..in_lab };
        assert_eq!(
            commands(&whole)[2..],
            [
                "rankwright lab exec --name x head -- rankwright run --compare default,placement --repeat 5 p.json \
                 -- './my app'",
                "rankwright report p.json --profile a.rwp --on c.toml"
            ]
        );
        let as_usual = Here { placed_by_default: true, ..whole };
        assert!(!text(&as_usual).contains("--compare"), "{}", text(&as_usual));
    }

    #[test]
    fn the_example_has_more_than_two_ranks_and_a_cluster_that_takes_them() {
        let name = |name: &str| Some(name.to_owned());
        let two = Here { launcher: name("mpirun"), usable_pus: 2, ..here() };
        assert!(commands(&two)[0].ends_with("mpirun -np 2 ./app"));
        let open_mpi = Here { family: Some(Family::OpenMpi), ..two.clone() };
        assert!(commands(&open_mpi)[0].ends_with("mpirun -np 4 --oversubscribe ./app"));
        let mpich = Here { family: Some(Family::Mpich), ..two.clone() };
        assert!(commands(&mpich)[0].ends_with("mpirun -np 4 ./app"));
        let small = Here {
            profile: name("app.rwp"),
            cluster: name("cluster.toml"),
            ranks: Some(16),
            free_cores: Some(2),
            ..two
        };
        let told = text(&small);
        assert!(told.contains("app.rwp has 16 ranks, cluster.toml 2 free cores. Next: "), "{told}");
        let larger = "--on \"synthetic:pack:2 core:2 pu:1\" --nodes 4";
        assert_eq!(
            commands(&small),
            [format!("rankwright place app.rwp {larger} -o example.json")]
        );
        let seen = Here { example: name("example.json"), ..small.clone() };
        assert_eq!(
            commands(&seen),
            [
                format!("rankwright report app.rwp {larger}"),
                "rankwright cluster import --help".to_owned()
            ]
        );
        let undescribed = Here { cluster: None, ..small };
        assert_eq!(
            commands(&undescribed),
            [format!("rankwright place app.rwp {larger} -o example.json")]
        );
        assert!(text(&undescribed).contains("app.rwp has 16 ranks, this host 2 free cores."));
        let fits = Here { free_cores: Some(16), ..undescribed };
        assert_eq!(commands(&fits)[0], "rankwright cluster discover -o cluster.toml");
    }

    #[test]
    fn the_example_is_placed_on_a_larger_cluster_where_this_host_has_too_few_cores() {
        let name = |name: &str| Some(name.to_owned());
        let family = Some(Family::OpenMpi);
        let two = Here { launcher: name("mpirun"), usable_pus: 2, family, ..Here::default() };
        let small = Here { free_cores: Some(2), ..two };
        let larger = "--on \"synthetic:pack:2 core:1 pu:1\" --nodes 2";
        let expected = [
            "rankwright profile --events -o app.rwp -- mpirun -np 4 --oversubscribe ./app"
                .to_owned(),
            format!("rankwright place app.rwp {larger} -o example.json"),
        ];
        assert_eq!(commands(&small), expected);
        assert!(text(&small).contains("\nThis host has 2 free cores. Next: "), "{}", text(&small));
        let described = Here { cluster: name("c.toml"), ..small.clone() };
        assert_eq!(commands(&described), expected);
        let enough = Here { free_cores: Some(4), ..small.clone() };
        assert_eq!(commands(&enough)[1], "rankwright cluster discover -o cluster.toml");
        let without_mpi = Here { launcher: None, family: None, ..small };
        assert!(commands(&without_mpi)[0].starts_with("rankwright place pattern:"));
    }
}
