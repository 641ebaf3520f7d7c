//! Scripts for bsub of LSF, with `jsrun`, `mpirun` or `mpiexec`. Follows IBM's manuals; not tested with LSF.

mod jsrun;
mod resource_sets;

use std::collections::BTreeSet;

use super::allocation::{Allocation, Granted, unnamed, warn_of_switches};
use super::launch_line::{self, LaunchLine, given, variables, wrong};
use super::shell::Shell;
use super::{directives, hostfile, mpirun};
use crate::files::InputError;
use crate::launch::shell::split;
use crate::lint::read::script::{Starter, is_mpi_launcher};
use crate::lint::{MOST_RANKS, PUS_UNKNOWN, Reading, Source};
use crate::units::counted;

/// The variable with the name of the file that lists the hosts, once for each slot.
const LIST: &str = "$LSB_DJOB_HOSTFILE";

/// Options of bsub whose value may look like a variable.
const WITH_RESOURCES: [&str; 4] = ["-R", "-m", "-W", "-gpu"];

/// What a job asks for.
#[derive(Debug, Default)]
struct Request {
    slots: Option<(usize, usize)>,
    /// `-nnodes`.
    nodes: Option<(usize, usize)>,
    /// `span[ptile=N]`: slots of a host.
    per_host: Option<usize>,
    one_host: bool,
    /// The hosts of `-m`.
    hosts: Vec<String>,
    has_affinity: bool,
}

/// Reads as LSF and the launcher in the script do.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    if source.text.contains('\0') {
        return Err(source.wrong(None, "a binary file", "a script for bsub"));
    }
    let mut reading = Reading::default();
    let (given, words) = given(source, &WITH_RESOURCES);
    let mut request = Request::default();
    for (line, text) in directives(source.text, "#BSUB") {
        let words =
            split(text).map_err(|open| wrong(source, line, &open.to_string(), "closed quotes"))?;
        request.options(source, &words, line)?;
    }
    request.options(source, &words, 0)?;
    let is_read = |launcher: &str| launcher == "jsrun" || is_mpi_launcher(launcher);
    let expected = "a line with jsrun, mpirun or mpiexec";
    let slots = request.slots.map(|(slots, _)| slots.to_string());
    let known = [("LSB_DJOB_NUMPROC", slots), ("LSB_DJOB_HOSTFILE", Some(LIST.to_owned()))];
    let shell = Shell::new(variables(&["PWD", "LS_SUBCWD"], known)).with_given(given);
    let launch = launch_line::first(source, shell, is_read, expected, &mut reading)?;
    let line = LaunchLine { source, launch: &launch };
    if launch.launcher == "jsrun" {
        let hosts = request.names(source, request.hosts_wanted(source)?, &mut reading)?;
        jsrun::read(&line, &hosts, &mut reading)?;
    } else if !hostfile::read(&line, Some(LIST), &mut reading)? {
        let allocation = request.allocation(source, &mut reading)?;
        mpirun::read(&line, &allocation, &mut reading)?;
        let remedy = |_| {
            "order the job below one with -R \"cu[maxcus=1]\", if the site has compute units"
                .to_owned()
        };
        warn_of_switches(source, &allocation.names(), None, remedy, &mut reading);
        if request.has_affinity {
            reading
                .notes
                .push(format!("{PUS_UNKNOWN}: affinity[..] binds, in ways that are not predicted"));
        }
    }
    line.apply_wrapper(Starter::Mpirun { in_slurm: false }, [], &mut reading)?;
    launch_line::drop_needless_notes(&mut reading);
    Ok(reading)
}

impl Request {
    /// Reads the options of one line; 0 stands for `--launcher-args`.
    fn options(
        &mut self,
        source: &Source<'_>,
        words: &[String],
        line: usize,
    ) -> Result<(), InputError> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word
                .strip_prefix("-n")
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                Some(rest) => ("-n", Some(rest)),
                None => (word.as_str(), None),
            };
            if !["-n", "-nnodes", "-R", "-m"].contains(&name) {
                continue;
            }
            let value = joined.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
            let number = |text: &str| {
                let number = text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
                let expected = "one number, written out";
                number.ok_or_else(|| wrong(source, line, &format!("{name} {value}"), expected))
            };
            match name {
                "-n" => self.slots = Some((number(value)?, line)),
                "-nnodes" => self.nodes = Some((number(value)?, line)),
                "-m" => {
                    // `n1+2` is a preference.
                    let hosts = value.split_whitespace();
                    let hosts = hosts.map(|host| host.split('+').next().unwrap_or_default());
                    self.hosts = hosts.map(str::to_owned).collect();
                }
                _ => self.requirement(value, &number)?,
            }
        }
        Ok(())
    }

    /// Reads `-R`: `span[..]` of it.
    fn requirement(
        &mut self,
        value: &str,
        number: &impl Fn(&str) -> Result<usize, InputError>,
    ) -> Result<(), InputError> {
        self.has_affinity |= value.contains("affinity[");
        for part in value.split("span[").skip(1) {
            let inside = part.split(']').next().unwrap_or_default();
            for item in inside.split(',').map(str::trim) {
                match item.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                    Some(("ptile", value)) if !value.starts_with(['!', '\'']) => {
                        self.per_host = Some(number(value)?);
                    }
                    Some(("hosts", "1")) => self.one_host = true,
                    // `hosts=-1` takes back what the queue says.
                    Some(("hosts", "-1")) => {}
                    // What is no such number is an error with the line.
                    _ => {
                        number(item)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of hosts.
    fn hosts_wanted(&self, source: &Source<'_>) -> Result<usize, InputError> {
        if let Some((nodes, _)) = self.nodes {
            return Ok(nodes);
        }
        let has_one = source.machines.cluster().is_some_and(|cluster| cluster.nodes.len() == 1);
        match (self.slots, self.per_host) {
            _ if self.one_host => Ok(1),
            (Some((slots, _)), Some(each)) => Ok(slots.div_ceil(each)),
            (Some((1, _)), None) | (None, _) => Ok(1),
            (Some(_), None) if has_one => Ok(1),
            (Some((slots, line)), None) => {
                let found = format!("-n {slots} without the slots of a host");
                let expected =
                    "the number of slots on every host, which LSF chooses by what is free";
                let advice = "add #BSUB -R \"span[ptile=N]\"";
                Err(wrong(source, line, &found, expected).with_advice(advice))
            }
        }
    }

    /// The names of the hosts.
    fn names(
        &self,
        source: &Source<'_>,
        wanted: usize,
        reading: &mut Reading,
    ) -> Result<Vec<String>, InputError> {
        if self.hosts.len() < wanted {
            let named: BTreeSet<String> = self.hosts.iter().cloned().collect();
            if !named.is_empty() {
                let hosts = counted(named.len(), "host");
                let found = format!("a job on {} and -m with {hosts}", counted(wanted, "host"));
                return Err(source.wrong(None, &found, "as many hosts, or no -m"));
            }
            return unnamed(source, wanted, &named, reading);
        }
        if self.hosts.len() > wanted {
            reading.notes.push(format!(
                "-m names {}: taken are the first {wanted}",
                counted(self.hosts.len(), "host")
            ));
        }
        Ok(self.hosts.iter().take(wanted).cloned().collect())
    }

    /// The hosts with their slots.
    fn allocation(
        &self,
        source: &Source<'_>,
        reading: &mut Reading,
    ) -> Result<Allocation, InputError> {
        let wanted = self.hosts_wanted(source)?;
        let slots = match (self.slots, self.per_host) {
            (Some((slots, _)), _) => slots,
            (None, Some(each)) => each,
            (None, None) => 1,
        };
        let names = self.names(source, wanted, reading)?;
        let each = self.per_host.unwrap_or(slots);
        let count = |at: usize| slots.saturating_sub(at.saturating_mul(each)).min(each);
        let hosts = names.into_iter().enumerate();
        let hosts = hosts.map(|(at, name)| Granted { name, slots: count(at) });
        Ok(Allocation { hosts: hosts.collect(), slot: "slot", list: Some(LIST) })
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::read::synthetic;
    use crate::cluster::{ClusterDescription, NodeGroup};
    use crate::lint::read_guessed;

    /// `NODE:CORES` of every rank, with `?` for cores that are not known, and the warnings.
    fn read(script: &str) -> Result<(String, Vec<&'static str>), String> {
        read_on(2, script)
    }

    fn read_on(nodes: usize, script: &str) -> Result<(String, Vec<&'static str>), String> {
        let machine = synthetic::parse("pack:2 core:5 pu:2").unwrap();
        let names = (0..nodes).map(|node| format!("h{node}")).collect();
        let cluster =
            ClusterDescription::uniform("c", names, NodeGroup::all_free(machine)).build().unwrap();
        let guessed = read_guessed(&format!("#!/bin/bash\n{script}"), "job", &[], Some(&cluster))
            .map_err(|error| error.to_string())?;
        assert_eq!(guessed.format.name, "lsf");
        let rank = |rank: &crate::lint::RankReading| {
            let cores = rank.cores.as_ref().map(|cores| {
                let numbers: Vec<u32> = cores.iter().map(|core| core.0).collect();
                crate::ids::format_index_list(&numbers)
            });
            format!("{}:{}", rank.host.replace('h', ""), cores.unwrap_or("?".to_owned()))
        };
        let ranks: Vec<String> = guessed.reading.ranks.iter().map(rank).collect();
        let codes = guessed.reading.warnings.iter().map(|warning| warning.trap.code);
        Ok((ranks.join(" "), codes.collect()))
    }

    #[test]
    fn resource_sets_and_slots_are_placed() {
        for (script, expected) in [
            ("-nnodes 2\njsrun -n4 -a1 -c5 -b rs ./a", "0:0-4 0:5-9 1:0-4 1:5-9"),
            ("-nnodes 2\njsrun -n 2 -r1 -a2 -c2 ./a", "0:0 0:1 1:0 1:1"),
            (
                "-nnodes 2\njsrun -n 2 -r 1 -a 2 -c 4 -d cyclic -bpacked:2 ./a",
                "0:0-1 1:0-1 0:2-3 1:2-3",
            ),
            ("-nnodes 1\njsrun -n1 -a4 -c4 -d plane:2 ./a", "0:0 0:1 0:2 0:3"),
            ("-nnodes 1\njsrun -n 2 -p 4 -c 2 ./a -n 7", "0:0 0:1 0:2 0:3"),
            // The second set may be on both packages.
            ("-nnodes 1\njsrun -n 2 -c 3 -b rs ./a", "0:0-2 0:?"),
            ("-n 3 -R span[ptile=2]\nmpirun ./a", "0:? 0:? 1:?"),
            ("-n 2 -R \"select[mem>1] span[hosts=1]\"\nmpirun ./a", "0:? 0:?"),
            ("-n 4 -R span[ptile=2] -m \"h1 h0\"\nmpirun -np 3 ./a", "1:? 1:? 0:?"),
        ] {
            let expected = Ok((expected.to_owned(), Vec::new()));
            assert_eq!(read(&format!("#BSUB {script}")), expected, "{script}");
        }
    }

    #[test]
    fn a_cluster_of_one_node_has_the_whole_job_unless_it_asks_for_more() {
        let one = |options: &str| read_on(1, &format!("#BSUB {options}\nmpirun ./a"));
        assert_eq!(one("-n 4"), Ok(("0:? 0:? 0:? 0:?".to_owned(), Vec::new())));
        assert_eq!(one("-n 2 -R span[ptile=2]"), Ok(("0:? 0:?".to_owned(), Vec::new())));
        let error = one("-n 8 -R span[ptile=4]").unwrap_err();
        assert!(error.contains("found a job on 2 nodes, expected at most the 1 node"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (script, code) in [
            ("-nnodes 1\njsrun -n 3 -c 5 -b rs ./a", "sets-beyond-hosts"),
            ("-nnodes 2\njsrun -n 2 -r 3 -c 4 -b rs ./a", "sets-beyond-hosts"),
            ("-nnodes 1\njsrun -n 1 -a 3 -c 4 -b packed:2 ./a", "packed-beyond-set"),
            ("-nnodes 1\njsrun -n 1 -a 2 -c 4 ./a", "packed-1-by-default"),
        ] {
            let (_, codes) = read(&format!("#BSUB {script}")).unwrap();
            assert_eq!(codes, [code], "{script}");
        }
        for (script, found) in [
            ("-n 4\nmpirun ./a", "job:2: found -n 4 without the slots of a host"),
            ("-n four\nmpirun ./a", "job:2: found -n four"),
            ("-n 4 -R span[ptile=x]\nmpirun ./a", "found -R span[ptile=x]"),
            ("-nnodes 1\njsrun -n 1 -d random ./a", "job:3: found -d random"),
            ("-nnodes 1\njsrun -U file ./a", "`-U`, whose effect is not predicted"),
            ("-nnodes 1\njsrun -n 3 -c 3 ./a", "of which a host has 2 or 3"),
            ("-nnodes 1\njsrun -n 0 ./a", "job:3: found -n 0"),
            ("-n 4 -R span[ptile=2] -m h1\nmpirun ./a", "a job on 2 hosts and -m with 1 host"),
        ] {
            let error = read(&format!("#BSUB {script}")).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
    }
}
