//! `mpirun` and `mpiexec` of any MPI in a job: the ranks fill the slots of one host after the other.

use super::allocation::Allocation;
use super::launch_line::LaunchLine;
use crate::files::InputError;
use crate::lint::read::launch_options::program;
use crate::lint::read::rankfile::map_by::{self, MapBy, Unread};
use crate::lint::read::rankfile::slot_list::Version;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, traps};
use crate::units::counted;

/// Options with which another rule says where ranks run.
const OTHERS: [&str; 6] = ["-rankmap", "-rr", "-H", "-host", "-hosts", "-bynode"];

/// Options for the number of ranks on a host; the first four are not of Open MPI.
const PER_HOST: [&str; 7] =
    ["-ppn", "--ppn", "-perhost", "--perhost", "-npernode", "--npernode", "-N"];

/// Reads the launch: the hosts, and the PUs as far as the options say them.
pub(super) fn read(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let words = own_options(line, allocation)?;
    let arguments = Arguments::new(&words);
    if allocation.hosts.len() > 1 {
        refuse_others(line, &words)?;
    }
    let slots = allocation.slots();
    let per_host = number(line, arguments, &PER_HOST)?;
    let ranks = number(line, arguments, &["-n", "-np", "--np", "--n"])?;
    let room = per_host.map_or(slots, |each| each.saturating_mul(allocation.hosts.len()));
    let ranks = ranks.unwrap_or(room);
    if ranks > room || room > MOST_RANKS {
        return Err(too_many(line, allocation, (ranks, room, per_host)));
    }
    let of_hydra = arguments.values(&PER_HOST[..4]).next().is_some();
    if !of_hydra && map_by::has_own(arguments) {
        return add_mapped(line, arguments, allocation, reading);
    }
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    let unbound = binding.is_some_and(|binding| binding.split(':').next() == Some("none"));
    if !unbound {
        reading.notes.push(format!("{}: {}", crate::lint::PUS_UNKNOWN, depends(binding)));
    }
    let order = allocation
        .hosts
        .iter()
        .flat_map(|host| std::iter::repeat_n(&host.name, per_host.unwrap_or(host.slots)));
    for (rank, host) in order.take(ranks).enumerate() {
        let place = if unbound { Place::Unbound } else { Place::Unknown };
        reading.add(rank, host, place, line.launch.line);
    }
    if let Some(each) = per_host {
        warn_of_slots(line, allocation, each, reading);
    }
    Ok(())
}

/// Why the PUs of ranks that are bound are unknown.
fn depends(binding: Option<&str>) -> String {
    match binding {
        Some(binding) => {
            format!("which ones --bind-to {binding} takes depends on the MPI of mpirun")
        }
        None => "they depend on the MPI of mpirun: by default Open MPI 5.0 binds to cores, 4.1 with \
                 more than two ranks to NUMA nodes, Intel MPI to shares of the node, MPICH not at all"
            .to_owned(),
    }
}

/// The options without the batch system's own list of hosts, which mpirun reads anyway.
fn own_options(line: &LaunchLine<'_>, allocation: &Allocation) -> Result<Vec<String>, InputError> {
    let mut words = line.words();
    let program = program(&words);
    line.check_known(program)?;
    words.truncate(program);
    while let Some(at) = words.iter().position(|word| Some(word.as_str()) == allocation.list) {
        words.drain(at.saturating_sub(1)..=at);
    }
    // Variables of Open MPI are options too.
    let variables = line.launch.exported.iter().filter(|(name, _)| name.contains("_MCA_"));
    for (name, (value, _)) in variables {
        let unknown = || line.wrong(&format!("${name}, which only a shell can know"), "its value");
        let value = value.as_ref().ok_or_else(unknown)?;
        words.insert(0, format!("{name}={value}"));
    }
    Ok(words)
}

/// The number that one of these options has.
fn number(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    names: &[&str],
) -> Result<Option<usize>, InputError> {
    let Some(text) = arguments.values(names).next() else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
    number.map(Some).ok_or_else(|| {
        line.wrong(&format!("{} {text}", names[0]), "a number of ranks, written out")
    })
}

/// More ranks than the job has room for.
fn too_many(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    (ranks, room, per_host): (usize, usize, Option<usize>),
) -> InputError {
    if let Some(each) = per_host {
        let hosts = counted(allocation.hosts.len(), "host");
        let found = format!("{}, {each} on each of {hosts}", counted(ranks, "rank"));
        return line.wrong(&found, &format!("at most {}", counted(room, "rank")));
    }
    let found = format!("{} for {}", counted(ranks, "rank"), allocation.counted(room));
    let error = line.wrong(&found, &format!("a {} of the job for every rank", allocation.slot));
    match allocation.list {
        Some("$PBS_NODEFILE") => error.with_advice(
            "mpiprocs= of the chunks (ppn= of Torque) is the number of their ranks, 1 without it",
        ),
        Some(_) => error.with_advice("#BSUB -n is the number of ranks of the job"),
        None => error,
    }
}

/// More ranks on a host than the batch system has in mind for it.
fn warn_of_slots(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    each: usize,
    reading: &mut Reading,
) {
    let Some(host) = allocation.hosts.iter().find(|host| host.slots < each) else { return };
    let text = format!(
        "{} on {}, which has {}: Open MPI refuses this, Hydra does not",
        counted(each, "rank"),
        host.name,
        allocation.counted(host.slots),
    );
    reading.warn(&traps::SLOTS_OF_JOB, line.launch.line, text);
}

/// Options with which another rule says where ranks run are an error.
fn refuse_others(line: &LaunchLine<'_>, words: &[String]) -> Result<(), InputError> {
    let one = |word: &str| format!("-{}", word.trim_start_matches('-'));
    let other = words.iter().find(|word| {
        word.starts_with('-')
            && OTHERS.contains(&one(word.split('=').next().unwrap_or_default()).as_str())
    });
    let Some(other) = other else { return Ok(()) };
    let advice =
        "write the hosts to a hostfile and lint that file, with this line in --launcher-args";
    let expected = "ranks that fill one node after the other";
    Err(line.wrong(&format!("`{other}`"), expected).with_advice(advice))
}

/// Adds the ranks as Open MPI 4.1 and 5.0 map them; what differs between them is not known.
fn add_mapped(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    if arguments.values(&["-H", "--host", "-host"]).next().is_some() {
        let expected = "the hosts of the job";
        return Err(line.wrong("-H beside a mapping, which is not predicted", expected));
    }
    let hosts = hosts(line, allocation);
    let of = |version: Version| {
        let ranks = arguments.ranks_of_open_mpi(version);
        match MapBy::of(arguments, version) {
            Ok(map_by) => Ok::<_, InputError>(Ok(mapped(line, &map_by, &hosts, ranks)?)),
            Err(unread) => Ok(Err(unread)),
        }
    };
    let mut its = match (of(Version::Four)?, of(Version::Five)?) {
        (Ok(four), Ok(five)) => both(line, four, five)?,
        (Ok(four), Err(other)) => alone(four, Version::Four, (other, Version::Five)),
        (Err(other), Ok(five)) => alone(five, Version::Five, (other, Version::Four)),
        (Err(four), Err(five)) => {
            let mut its = neither(line, four, five)?;
            let map_by = MapBy::by_default(Version::Five);
            let ranks = arguments.ranks_of_open_mpi(Version::Five);
            its.ranks = mapped(line, &map_by, &hosts, ranks)?.ranks;
            its.drop_cores("mpirun refuses these options");
            its
        }
    };
    for warning in &mut its.warnings {
        warning.line = warning.line.or(Some(line.launch.line));
    }
    reading.objects_are_shared = its.objects_are_shared;
    reading.ranks.append(&mut its.ranks);
    reading.warnings.append(&mut its.warnings);
    reading.notes.append(&mut its.notes);
    Ok(())
}

/// What the one version does whose options can be read, with why the other's cannot.
fn alone(mut its: Reading, version: Version, (unread, other): (Unread, Version)) -> Reading {
    let (version, other) = (version.name(), other.name());
    let shown = format!("shown is what Open MPI {version} does");
    match unread {
        // Words that one version does not know tell which one the script is for.
        Unread::Refused(trap, text)
            if its.starts() && [&traps::POLICY, &traps::OPTION_UNKNOWN].contains(&trap) =>
        {
            its.notes.push(format!("{shown}; {other} refuses it ({text})"));
        }
        Unread::Refused(trap, text) => {
            let text = format!("Open MPI {other}: {text}");
            if its.starts() { its.warn(trap, None, text) } else { its.refuse(trap, None, text) }
        }
        Unread::Unpredicted(text) => {
            its.notes.push(format!("{shown}; what {other} does is not predicted ({text})"));
        }
    }
    its
}

/// The refusals if both versions refuse the options.
fn neither(line: &LaunchLine<'_>, four: Unread, five: Unread) -> Result<Reading, InputError> {
    let (text, refused) = match (four, five) {
        (Unread::Refused(trap, text), Unread::Refused(other, its_text)) => {
            let mut its = Reading::default();
            if text == its_text {
                its.refuse(trap, None, text);
            } else {
                its.refuse(trap, None, format!("Open MPI 4.1: {text}"));
                its.refuse(other, None, format!("Open MPI 5.0: {its_text}"));
            }
            return Ok(its);
        }
        (Unread::Unpredicted(text), Unread::Refused(_, refused)) => (text, Some(("5.0", refused))),
        (Unread::Refused(_, refused), Unread::Unpredicted(text)) => (text, Some(("4.1", refused))),
        (Unread::Unpredicted(text), Unread::Unpredicted(_)) => (text, None),
    };
    let expected = "--map-by slot, node, package (4.1: socket), numa, l3cache, core or \
                    ppr:N:RESOURCE";
    // Some texts say why.
    let why = if text.contains(", which") { "" } else { ", which is not predicted" };
    let shows =
        "mpirun itself shows what others do: with --display-map (Open MPI 4) or --display map (5)";
    let advice = match refused {
        Some((version, text)) => format!("Open MPI {version} refuses it ({text}); {shows}"),
        None => shows.to_owned(),
    };
    Err(line.wrong(&format!("{text}{why}"), expected).with_advice(advice))
}

/// The ranks as one version maps them.
fn mapped(
    line: &LaunchLine<'_>,
    map_by: &MapBy<'_>,
    hosts: &[map_by::Host<'_>],
    ranks: Option<usize>,
) -> Result<Reading, InputError> {
    let ranks = ranks.unwrap_or_else(|| map_by.ranks(hosts));
    if ranks > MOST_RANKS {
        let expected = format!("at most {MOST_RANKS}");
        return Err(line.wrong(&counted(ranks, "rank"), &expected));
    }
    let mut its = Reading::default();
    map_by.add(hosts, ranks, &mut its).map_err(|found| {
        let error = line.wrong(&found, "hosts whose parts are known");
        error.with_advice("give --on CLUSTER with these hosts")
    })?;
    Ok(its)
}

/// What two versions agree on, or what the one does that starts.
fn both(line: &LaunchLine<'_>, four: Reading, five: Reading) -> Result<Reading, InputError> {
    let (mut its, mut other, name) = match (four.starts(), five.starts()) {
        (true, false) => (four, five, "5.0"),
        _ => (five, four, "4.1"),
    };
    if its.starts() != other.starts() {
        for mut warning in other.warnings.drain(..).filter(|warning| warning.refused) {
            warning.refused = false;
            warning.text = format!("Open MPI {name}: {}", warning.text);
            its.warnings.push(warning);
        }
        return Ok(its);
    }
    if its.starts() {
        let more = other.warnings.drain(..).filter(|warning| !its.warnings.contains(warning));
        let more: Vec<_> = more.collect();
        its.warnings.extend(more);
    }
    if other.ranks == its.ranks {
        return Ok(its);
    }
    if !other.host_of_rank().eq(its.host_of_rank()) {
        let found = "a mapping for which Open MPI 4.1 and 5.0 use different hosts";
        let advice = "lint a hostfile with the slots of the job, with --from openmpi4 or openmpi5";
        return Err(line.wrong(found, "the same hosts with both").with_advice(advice));
    }
    its.drop_cores(
        "Open MPI 4.1 and 5.0 bind the ranks of a node differently here; a hostfile with --from \
         openmpi4 or openmpi5 and this line in --launcher-args shows each",
    );
    Ok(its)
}

/// The hosts with their slots.
fn hosts<'a>(line: &'a LaunchLine<'_>, allocation: &'a Allocation) -> Vec<map_by::Host<'a>> {
    let host = |host: &'a super::allocation::Granted| map_by::Host {
        name: &host.name,
        slots: host.slots,
        line: line.launch.line,
        machine: line.source.machines.machine(&host.name),
    };
    allocation.hosts.iter().map(host).collect()
}

#[cfg(test)]
mod tests {
    use crate::cluster::read::synthetic;
    use crate::cluster::{ClusterDescription, NodeGroup};
    use crate::lint::{Reading, read_guessed};

    /// The reading of a job on two nodes of eight cores.
    fn read(line: &str) -> Result<Reading, String> {
        let machine = synthetic::parse("pack:2 [numa] core:4 pu:2").unwrap();
        let names = (0..2).map(|node| format!("n{node}")).collect();
        let description = ClusterDescription::uniform("c", names, NodeGroup::all_free(machine));
        let script = format!(
            "#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=8 -l place=scatter\n{line} ./a\n"
        );
        let cluster = description.build().unwrap();
        let guessed = read_guessed(&script, "job", &[], Some(&cluster));
        guessed.map(|guessed| guessed.reading).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_other_version_refuses_is_a_warning() {
        for options in
            ["-np 4 --map-by core --bind-to socket", "-np 4 --npersocket 1 --map-by core"]
        {
            let reading = read(&format!("mpirun {options}")).unwrap();
            assert!(reading.starts(), "{options}");
            let [warning] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
            let found = (warning.trap.code, warning.line);
            assert_eq!(found, ("options-do-not-mix", Some(3)), "{options}");
            assert!(warning.text.starts_with("Open MPI 5.0: "), "{}", warning.text);
        }
    }

    #[test]
    fn words_that_the_other_version_does_not_know_are_noted() {
        for (options, version, other) in [
            ("-np 4 --rank-by core", "4.1", "5.0"),
            ("-np 4 --bind-to-socket", "4.1", "5.0"),
            ("-np 4 --rank-by fill", "5.0", "4.1"),
            ("--map-by pe-list=0,1", "5.0", "4.1"),
        ] {
            let reading = read(&format!("mpirun {options}")).unwrap();
            assert_eq!(reading.warnings, [], "{options}");
            let start = format!("shown is what Open MPI {version} does; {other} refuses it (");
            let mut notes = reading.notes.iter();
            assert!(notes.any(|note| note.starts_with(&start)), "{:?}", reading.notes);
        }
    }

    #[test]
    fn what_the_other_version_does_is_not_predicted_silently() {
        let reading = read("mpirun -np 4 --map-by slot --oversubscribe --bind-to core").unwrap();
        let is_shown = |note: &String| {
            note.starts_with("shown is what Open MPI 5.0 does; what 4.1 does is not")
        };
        assert!(reading.notes.iter().any(is_shown), "{:?}", reading.notes);
    }

    #[test]
    fn what_both_versions_refuse_is_a_refusal() {
        for (options, code) in [
            ("-np 4 --map-by core:PE=2", "options-do-not-mix"),
            ("-np 4 --map-by device=mlx5_0", "unknown-policy"),
            ("-np 4 --map-by=core", "unknown-option"),
            ("-np 4 --bycore --byslot", "options-do-not-mix"),
        ] {
            let reading = read(&format!("mpirun {options}")).unwrap();
            assert!(!reading.starts(), "{options}");
            assert_eq!(reading.ranks.len(), 4);
            assert!(reading.warnings.iter().all(|it| it.trap.code == code && it.refused));
        }
    }

    #[test]
    fn what_is_not_predicted_says_what_the_other_version_does() {
        let error = read("mpirun -np 4 --map-by dist:span").unwrap_err();
        assert!(
            error.contains("which depends on hwloc's distances to a device, expected"),
            "{error}"
        );
        assert!(error.contains("Open MPI 5.0 refuses it (--map-by dist:span"), "{error}");
        let error = read("mpirun -np 4 --mca rmaps_base_oversubscribe 1").unwrap_err();
        assert!(error.contains("oversubscribe 1, which is not predicted"), "{error}");
    }

    #[test]
    fn older_options_and_variables_say_where_ranks_run() {
        for (line, expected) in [
            ("mpirun -np 2 --pernode", "n0 n1"),
            ("mpirun -np 4 --ppr 2:node", "n0 n0 n1 n1"),
            ("mpirun -np 3 --cpus-per-proc 4", "n0 n0 n1"),
        ] {
            let reading = read(line).unwrap();
            let hosts: Vec<&str> = reading.host_of_rank().collect();
            assert_eq!(hosts.join(" "), expected, "{line}");
        }
        let parameter = "OMPI_MCA_rmaps_base_mapping_policy=node";
        for line in [
            format!("export {parameter}\nmpirun -np 4"),
            format!("{parameter} mpirun -np 4"),
            "mpirun -np 4 --mca rmaps_base_mapping_policy node".to_owned(),
        ] {
            let error = read(&line).unwrap_err();
            assert!(error.contains("4.1 and 5.0 use different hosts"), "{line}: {error}");
        }
    }
}
