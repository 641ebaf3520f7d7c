//! `mpirun` of Open MPI in a job, as far as its options say how ranks are mapped, numbered and bound.

use crate::files::InputError;
use crate::lint::read::job_script::allocation::{Allocation, Granted};
use crate::lint::read::job_script::launch_line::LaunchLine;
use crate::lint::read::job_script::mpi::Mpi;
use crate::lint::read::rankfile::map_by::{self, MapBy, Unread};
use crate::lint::read::rankfile::slot_list::Version;
use crate::lint::{Arguments, MOST_RANKS, Reading, traps};
use crate::units::counted;

/// Adds the ranks as Open MPI maps them, of the version that is known; of both, what differs is not known.
pub(super) fn add(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let has_hosts = arguments.values(&["-H", "--host", "-host"]).next().is_some();
    if has_hosts && map_by::has_own(arguments) {
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
    let refused = |mut its: Reading| {
        let map_by = MapBy::by_default(Version::Five);
        let ranks = arguments.ranks_of_open_mpi(Version::Five);
        its.ranks = mapped(line, &map_by, &hosts, ranks)?.ranks;
        its.drop_cores("mpirun refuses these options");
        Ok::<_, InputError>(its)
    };
    let mut its = match line.mpi().map(Mpi::open_mpi).as_deref() {
        Some(&[version]) => match of(version)? {
            Ok(its) => its,
            Err(unread) => refused(not_read(line, unread)?)?,
        },
        _ => match (of(Version::Four)?, of(Version::Five)?) {
            (Ok(four), Ok(five)) => both(line, four, five)?,
            (Ok(four), Err(other)) => alone(four, Version::Four, (other, Version::Five)),
            (Err(other), Ok(five)) => alone(five, Version::Five, (other, Version::Four)),
            (Err(four), Err(five)) => refused(neither(line, four, five)?)?,
        },
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
    Err(unpredicted(line, &text, refused))
}

/// The refusal of options by the version that is known.
fn not_read(line: &LaunchLine<'_>, unread: Unread) -> Result<Reading, InputError> {
    match unread {
        Unread::Refused(trap, text) => {
            let mut its = Reading::default();
            its.refuse(trap, None, text);
            Ok(its)
        }
        Unread::Unpredicted(text) => Err(unpredicted(line, &text, None)),
    }
}

/// An error about options that are not predicted; `refused` is by which version, and why, where the other one
/// refuses them.
fn unpredicted(line: &LaunchLine<'_>, text: &str, refused: Option<(&str, String)>) -> InputError {
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
    line.wrong(&format!("{text}{why}"), expected).with_advice(advice)
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
        let advice = "say which: --from openmpi4 or --from openmpi5, or `module load openmpi/VERSION` in the \
                      script";
        return Err(line.wrong(found, "the same hosts with both").with_advice(advice));
    }
    its.drop_cores(
        "Open MPI 4.1 and 5.0 bind the ranks of a node differently here; --from openmpi4 or --from openmpi5 \
         shows each",
    );
    Ok(its)
}

/// The hosts with their slots.
fn hosts<'a>(line: &'a LaunchLine<'_>, allocation: &'a Allocation) -> Vec<map_by::Host<'a>> {
    let host = |host: &'a Granted| map_by::Host {
        name: &host.name,
        slots: host.slots,
        line: line.launch.line,
        machine: line.source.machines.machine(&host.name),
    };
    allocation.hosts.iter().map(host).collect()
}

#[cfg(test)]
mod tests {
    use crate::cluster::Cluster;
    use crate::cluster::read::synthetic;
    use crate::cluster::{ClusterDescription, NodeGroup};
    use crate::lint::{Reading, find, read_guessed};

    /// Two nodes of eight cores.
    fn cluster() -> Cluster {
        let machine = synthetic::parse("pack:2 [numa] core:4 pu:2").unwrap();
        let names = (0..2).map(|node| format!("n{node}")).collect();
        let description = ClusterDescription::uniform("c", names, NodeGroup::all_free(machine));
        description.build().unwrap()
    }

    fn script(line: &str) -> String {
        format!("#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=8 -l place=scatter\n{line} ./a\n")
    }

    /// The reading of a job on these nodes.
    fn read(line: &str) -> Result<Reading, String> {
        let guessed = read_guessed(&script(line), "job", &[], Some(&cluster()));
        guessed.map(|guessed| guessed.reading).map_err(|error| error.to_string())
    }

    /// Hosts and PUs.
    fn places(reading: &Reading) -> Vec<(String, Option<String>)> {
        let place = |rank: &crate::lint::RankReading| {
            (rank.host.clone(), rank.pus.as_ref().filter(|_| rank.bound).map(ToString::to_string))
        };
        reading.ranks.iter().map(place).collect()
    }

    #[test]
    fn the_version_of_the_module_or_of_the_user_is_shown() {
        for (version, module) in [("openmpi4", "openmpi/4.1.5"), ("openmpi5", "openmpi@5.0.3")] {
            for options in
                ["", "-np 6", "-np 6 --map-by node", "-np 4 --map-by numa --bind-to core"]
            {
                let words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
                let hosts = "n0 slots=8\nn1 slots=8\n";
                let format = find(version).unwrap();
                let expected = format.read(hosts, "hosts", &words, Some(&cluster())).unwrap();
                let line = format!("mpirun {options}");
                let command = if module.contains('@') { "spack" } else { "module" };
                let loaded = read(&format!("{command} load {module}\n{line}")).unwrap();
                let given = format.read(&script(&line), "job", &[], Some(&cluster())).unwrap();
                for reading in [&loaded, &given] {
                    assert_eq!(places(reading), places(&expected), "{version} {options}");
                }
                let number = if version == "openmpi4" { "4.1" } else { "5.0" };
                let told = format!("mpirun is taken for that of Open MPI {number}");
                assert!(given.notes.contains(&told), "{:?}", given.notes);
                let of_line = format!("line 3 loads `{module}`: {told}");
                assert!(loaded.notes.contains(&of_line), "{:?}", loaded.notes);
            }
        }
    }

    #[test]
    fn other_libraries_bind_otherwise() {
        let reading = read("ml purge\nml gcc mpich/4.2\nmpiexec -np 4 --map-by core").unwrap();
        assert!(reading.ranks.iter().all(|rank| !rank.bound), "{reading:?}");
        for line in ["module load impi\nmpirun -np 4", "ml mpich\nmpiexec -np 4 -bind-to core"] {
            let reading = read(line).unwrap();
            assert!(reading.ranks.iter().all(|rank| rank.bound && rank.pus.is_none()), "{line}");
            let is_unknown = |note: &String| note.ends_with(" is not predicted");
            assert!(reading.notes.iter().any(is_unknown), "{line}: {:?}", reading.notes);
        }
        let reading = read("module load openmpi/5.0.3\nmpirun -ppn 2").unwrap();
        assert!(!reading.starts() && reading.warnings[0].trap.code == "unknown-option");
        // `mpiexec` is that of PALS.
        let reading = read("module load cray-mpich/8.1\nmpiexec -n 2 --cpu-bind none").unwrap();
        assert_eq!(reading.warnings[0].trap.code, "cpu-bind-none");
    }

    #[test]
    fn a_module_that_may_not_be_loaded_says_nothing() {
        // 5.0 ignores the parameter.
        const MAPPED: &str = "mpirun -np 4 --mca rmaps_base_mapping_policy node";
        for before in [
            "if [ -n \"$M\" ]; then module load openmpi/4.1.5; fi",
            "module load openmpi/4.1.5\nmodule purge",
            "module load openmpi/4.1.5\nif true; then module load openmpi/5.0; fi",
            "module load openmpi",
        ] {
            let error = read(&format!("{before}\n{MAPPED}")).unwrap_err();
            assert!(error.contains("4.1 and 5.0 use different hosts"), "{before}: {error}");
        }
        let same = "module load openmpi/4.1.5\nif true; then module load openmpi/4.1.6; fi";
        assert!(read(&format!("{same}\n{MAPPED}")).is_ok());
        let given = find("mpich").unwrap();
        let loads = script("module load openmpi/5.0\nmpirun -np 2");
        let reading = given.read(&loads, "job", &[], None).unwrap();
        let told =
            "mpirun is taken for that of MPICH 4.1 or newer, although line 3 loads `openmpi/5.0`";
        assert!(reading.notes.iter().any(|note| note == told), "{:?}", reading.notes);
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
