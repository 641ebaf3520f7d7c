//! Scripts for qsub of PBS Professional, OpenPBS and Torque. Follows their manuals; not tested with PBS.

mod resources;

use super::allocation::Allocation;
use super::launch_line::{self, LaunchLine, given, variables};
use super::shell::Shell;
use super::{hostfile, mpirun, pals, warn_of_late_directives};
use crate::files::InputError;
use crate::lint::read::launch_options::program;
use crate::lint::read::script::{Starter, is_mpi_launcher};
use crate::lint::{Reading, Source, traps};
use resources::Request;

/// The variable with the name of the file that lists the hosts, once for each rank.
const LIST: &str = "$PBS_NODEFILE";

/// Options of qsub whose value looks like a variable.
const WITH_RESOURCES: [&str; 2] = ["-l", "-W"];

/// Reads as PBS and the launcher in the script do.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    if source.text.contains('\0') {
        return Err(source.wrong(None, "a binary file", "a script for qsub"));
    }
    let mut reading = Reading::default();
    let (given, words) = given(source, &WITH_RESOURCES);
    let request = Request::of(source, &words)?;
    let hosts = request.hosts(source, &mut reading)?;
    let allocation = Allocation { hosts, slot: "process", list: Some(LIST) };
    let is_read = |launcher: &str| launcher == "aprun" || is_mpi_launcher(launcher);
    let expected = "a line with mpirun, mpiexec or aprun";
    let shell = shell(&request, &allocation).with_given(given);
    let launch = launch_line::first(source, shell, is_read, expected, &mut reading)?;
    warn_of_late_directives(source, "#PBS", &mut reading);
    let line = LaunchLine { source, launch: &launch };
    if pals::is_one(&line) {
        pals::read(&line, &allocation, request.names_ranks(), &mut reading)?;
    } else if !hostfile::read(&line, Some(LIST), &mut reading)? {
        mpirun::read(&line, &allocation, &mut reading)?;
        warn_of_one_rank(&line, &request, &mut reading);
    }
    request.note_threads(&launch, &mut reading);
    let remedy =
        |_| "ask for them with place=scatter:group=RESOURCE, if the site has one".to_owned();
    super::allocation::warn_of_switches(source, &allocation.names(), None, remedy, &mut reading);
    line.apply_wrapper(Starter::Mpirun { in_slurm: false }, [], &mut reading)?;
    launch_line::drop_needless_notes(&mut reading);
    Ok(reading)
}

/// The shell with the variables and the list of hosts of the job.
fn shell(request: &Request, allocation: &Allocation) -> Shell {
    let (hosts, slots) = (allocation.hosts.len(), allocation.slots());
    let text = |number: usize| Some(number.to_string());
    let known = [
        ("PBS_NODEFILE", Some(LIST.to_owned())),
        ("PBS_NP", text(slots)),
        ("PBS_NUM_NODES", text(hosts)),
        ("PBS_NUM_PPN", text(slots / hosts.max(1))),
        ("NCPUS", request.threads().and_then(text)),
    ];
    let outputs = [
        ("wc -l<$PBS_NODEFILE", slots),
        ("cat $PBS_NODEFILE|wc -l", slots),
        ("sort -u $PBS_NODEFILE|wc -l", hosts),
        ("sort -u<$PBS_NODEFILE|wc -l", hosts),
        ("uniq $PBS_NODEFILE|wc -l", hosts),
        ("uniq<$PBS_NODEFILE|wc -l", hosts),
        ("sort $PBS_NODEFILE|uniq|wc -l", hosts),
        ("cat $PBS_NODEFILE|uniq|wc -l", hosts),
        ("cat $PBS_NODEFILE|sort -u|wc -l", hosts),
        ("cat $PBS_NODEFILE|sort|uniq|wc -l", hosts),
    ];
    let outputs = outputs.map(|(command, number)| (command.to_owned(), number.to_string()));
    Shell::new(variables(&["PWD", "PBS_O_WORKDIR"], known)).with_outputs(outputs)
}

/// Chunks without `mpiprocs=`, where the launch line does not say how many ranks there are.
fn warn_of_one_rank(line: &LaunchLine<'_>, request: &Request, reading: &mut Reading) {
    let Some((at, cpus)) = request.without_ranks() else { return };
    let words = line.words();
    let options = &words[..program(&words)];
    let is_count = |word: &String| ["-n", "-np", "--np", "-ppn", "-N"].contains(&word.as_str());
    if options.iter().any(is_count) {
        return;
    }
    let text = format!(
        "a chunk of {cpus} CPUs without mpiprocs= gets one rank; add mpiprocs={cpus}, or as many as \
         its ranks"
    );
    reading.warn(&traps::MPIPROCS, at, text);
}

#[cfg(test)]
mod tests {
    use crate::lint::read_guessed;

    /// The number of the node of every rank, and the warnings.
    fn read(script: &str) -> Result<(String, Vec<&'static str>), String> {
        let guessed = read_guessed(&format!("#!/bin/bash\n{script}"), "job", &[], None)
            .map_err(|error| error.to_string())?;
        assert_eq!(guessed.format.name, "pbs");
        let hosts = guessed.reading.ranks.iter().map(|rank| rank.host.replace("node", ""));
        let codes = guessed.reading.warnings.iter().map(|warning| warning.trap.code);
        Ok((hosts.collect::<Vec<_>>().join(" "), codes.collect()))
    }

    #[test]
    fn chunks_are_hosts_with_their_ranks() {
        for (script, expected) in [
            ("#PBS -l select=2:ncpus=4:mpiprocs=2\nmpirun ./a -n 9", "0 0 1 1"),
            ("#PBS -lselect=1:mpiprocs=1+2:mpiprocs=2,place=scatter\nmpirun ./a", "0 1 1 2 2"),
            ("#PBS -l select=3:mpiprocs=1 -l place=pack\nmpirun ./a", "0 0 0"),
            ("#PBS -l nodes=x:ppn=1+2:ppn=2:fast\nmpirun -np 4 ./a", "x 0 0 1"),
            ("#PBS -l nodes=2:ppn=2\nmpirun -np $PBS_NP ./a", "0 0 1 1"),
            ("#PBS -l nodes=2:ppn=2\nmpirun -np 3 ./a -n 9 : -np 1 ./b", "0 0 1 1"),
            (
                "#PBS -l select=host=x:mpiprocs=1+host=y:mpiprocs=1+host=x:mpiprocs=1\nmpirun a",
                "x x y",
            ),
            (
                "#PBS -l select=2\nN=`uniq \"$PBS_NODEFILE\" |wc -l`\nmpiexec -n $((N*2)) --ppn 2 a",
                "0 0 1 1",
            ),
            ("#PBS -l select=2\naprun -n3 -N2 ./a", "0 0 1"),
            ("#PBS -l select=2:mpiprocs=2\nmpiexec --cpu-bind depth -n 3 ./a", "0 0 1"),
        ] {
            assert_eq!(read(script), Ok((expected.to_owned(), Vec::new())), "{script}");
        }
    }

    #[test]
    fn several_programs_have_numbers_of_ranks_and_nothing_of_their_own() {
        for (line, found) in [
            ("mpirun -np 3 ./a : ./b", "one of several programs without its number of ranks"),
            ("mpirun -np 2 -np 3 ./a : ./b", "one of several programs without its number"),
            ("mpirun -np 3 ./a : -np x ./b", "found -n x, expected a number of ranks"),
            ("mpirun -np 1 ./a : -np 1 numactl -l ./b", "with a program that binds them"),
            ("mpirun -ppn 1 -np 1 ./a : -np 1 ./b", "with a number of ranks on each host"),
            ("mpiexec --cpu-bind depth -n 1 ./a : -n 1 ./b", "with mpiexec of PALS"),
            ("aprun -n 1 ./a : -n 1 ./b", "a launch of several programs (`:`), expected one"),
        ] {
            let error = read(&format!("#PBS -l select=2:mpiprocs=2\n{line}")).unwrap_err();
            assert!(error.contains(found), "{line}: {error}");
        }
    }

    #[test]
    fn more_ranks_than_the_job_has_start_again_at_the_first_host() {
        let wraps = ("0 0 1 1 0".to_owned(), vec!["more-ranks-than-granted"]);
        assert_eq!(read("#PBS -l select=2:mpiprocs=2\nmpirun -np 5 a"), Ok(wraps));
    }

    #[test]
    fn options_of_qsub_and_variables_are_kept_apart() {
        let script = "#!/bin/bash\n#PBS -N x\nN=$(nproc)\nmpirun -np $N ./a";
        for options in
            ["-l select=2:mpiprocs=2 N=3", "N=3 -l nodes=2:ppn=2", "N=3 -lselect=2:mpiprocs=2"]
        {
            let arguments: Vec<String> = options.split(' ').map(str::to_owned).collect();
            let guessed = read_guessed(script, "job", &arguments, None).expect(options);
            let hosts: Vec<&str> =
                guessed.reading.ranks.iter().map(|rank| rank.host.as_str()).collect();
            assert_eq!(hosts, ["node0", "node0", "node1"], "{options}");
        }
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for (script, found) in [
            ("#PBS -l select=0:ncpus=2\nmpirun a", "job:2: found -l select=0:ncpus=2"),
            ("#PBS -l procs=8\nmpirun a", "job:2: found -l procs=8"),
            ("#PBS -l select=2\nmpiexec -n 4 --depth 2 a", "mpiexec without --ppn"),
            ("#PBS -l select=2\naprun -n 5 -N 2 a", "5 ranks on 2 nodes with room for 4"),
            ("#PBS -l select=2\naprun -n 4 -N 2 -cc 0:x a", "-cc 0:x"),
            ("#PBS -l select=2\nmpirun -np $(nproc) a", "`$(nproc)`, which only a shell can know"),
            ("#PBS -l select=2\n./a", "no command that starts ranks"),
            (
                "#PBS -l select=2\nmpirun -n 1 -f h a : -n 1 b",
                "and give this line in --launcher-args",
            ),
        ] {
            let error = read(script).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
    }
}
