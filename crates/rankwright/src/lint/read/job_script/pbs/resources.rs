//! What a job asks PBS for: `-l select=2:ncpus=16:mpiprocs=8`, `place=scatter`, and `nodes=2:ppn=8`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::allocation::{Granted, unnamed};
use super::super::directives;
use super::super::launch_line::wrong;
use super::super::shell::Launch;
use crate::files::InputError;
use crate::launch::shell::split;
use crate::lint::{MOST_RANKS, Reading, Source, traps};
use crate::units::counted;

const SELECT: &str = "chunks such as select=2:ncpus=16:mpiprocs=8, or nodes=2:ppn=8";

/// Equal parts of a job.
#[derive(Debug, Clone, Default)]
struct Chunk {
    count: usize,
    cpus: Option<usize>,
    ranks: Option<usize>,
    threads: Option<usize>,
    gpus: Option<usize>,
    host: Option<String>,
}

/// On which nodes the chunks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Wherever they fit.
    Free,
    /// Each on a node of its own.
    Scatter,
    /// All on one node.
    Pack,
}

/// What a job asks for.
#[derive(Debug)]
pub(super) struct Request {
    chunks: Vec<Chunk>,
    place: Place,
    /// The line of the chunks; 0 if they are in `--launcher-args`.
    line: usize,
}

impl Request {
    /// Reads the `#PBS` lines, and then the options of qsub among `words`.
    pub(super) fn of(source: &Source<'_>, words: &[String]) -> Result<Self, InputError> {
        let mut request = Self { chunks: Vec::new(), place: Place::Free, line: 0 };
        for (line, text) in directives(source.text, "#PBS") {
            let words = split(text)
                .map_err(|open| wrong(source, line, &open.to_string(), "closed quotes"))?;
            request.options(source, &words, line)?;
        }
        request.options(source, words, 0)?;
        if request.chunks.is_empty() {
            let advice =
                "give them as qsub got them: --launcher-args \"-l select=2:ncpus=16:mpiprocs=16\"";
            let found = "a job without -l select= or -l nodes=";
            return Err(source.wrong(None, found, SELECT).with_advice(advice));
        }
        Ok(request)
    }

    /// Reads the options of one line.
    fn options(
        &mut self,
        source: &Source<'_>,
        words: &[String],
        line: usize,
    ) -> Result<(), InputError> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let list = match word.strip_prefix("-l") {
                Some("") => words.next(),
                Some(_) => Some(word),
                None => None,
            };
            let Some(list) = list else { continue };
            for item in list.trim_start_matches("-l").split(',') {
                let (name, value) = item.split_once('=').unwrap_or((item, ""));
                self.resource(name, value, line)
                    .map_err(|expected| wrong(source, line, &format!("-l {item}"), expected))?;
            }
        }
        Ok(())
    }

    /// Reads one resource; the error is what was expected.
    fn resource(&mut self, name: &str, value: &str, line: usize) -> Result<(), &'static str> {
        match name {
            "select" | "nodes" => {
                let is_select = name == "select";
                let chunks: Option<Vec<Chunk>> =
                    value.split('+').map(|text| Chunk::read(text, is_select)).collect();
                self.chunks = chunks.ok_or(SELECT)?;
                self.line = line;
                if !is_select {
                    self.place = Place::Scatter;
                }
            }
            "ncpus" if self.chunks.is_empty() => {
                let cpus = value.parse().ok().filter(|cpus| (1..=MOST_RANKS).contains(cpus));
                let cpus = Some(cpus.ok_or("a number of CPUs")?);
                self.chunks = vec![Chunk { count: 1, cpus, ..Chunk::default() }];
                self.line = line;
            }
            "procs" => return Err("-l nodes=N:ppn=M; the nodes of procs= depend on what is free"),
            "place" => {
                let known = |word: &str| match word {
                    "free" => Some(Place::Free),
                    "scatter" | "vscatter" => Some(Place::Scatter),
                    "pack" => Some(Place::Pack),
                    _ => None,
                };
                // `place=excl` alone leaves the arrangement free.
                self.place = value.split(':').find_map(known).unwrap_or(Place::Free);
            }
            _ => {}
        }
        Ok(())
    }

    /// The hosts in the order of the chunks, with the ranks that they are meant to have.
    pub(super) fn hosts(
        &self,
        source: &Source<'_>,
        reading: &mut Reading,
    ) -> Result<Vec<Granted>, InputError> {
        let units = self.chunks.iter().fold(0, |sum: usize, it| sum.saturating_add(it.count));
        if units > MOST_RANKS {
            return Err(wrong(source, self.line, &counted(units, "chunk"), "fewer chunks"));
        }
        let named: BTreeSet<String> = self.chunks.iter().filter_map(|it| it.host.clone()).collect();
        let wanted = match self.place {
            Place::Pack => usize::from(named.is_empty()),
            _ => self.chunks.iter().filter(|it| it.host.is_none()).map(|it| it.count).sum(),
        };
        let mut others = unnamed(source, wanted, &named, reading)?.into_iter();
        let mut hosts: Vec<(Granted, usize, usize)> = Vec::new();
        let mut positions: BTreeMap<String, usize> = BTreeMap::new();
        let units = self.chunks.iter().flat_map(|chunk| std::iter::repeat_n(chunk, chunk.count));
        for chunk in units {
            let name = match (self.place, hosts.first()) {
                (Place::Pack, Some((first, ..))) => Some(first.name.clone()),
                (Place::Pack, None) => named.first().cloned().or_else(|| others.next()),
                _ => chunk.host.clone().or_else(|| others.next()),
            };
            let Some(name) = name else { continue };
            let (ranks, cpus) = (chunk.ranks.unwrap_or(1), chunk.cpus.unwrap_or(0));
            let gpus = chunk.gpus.unwrap_or(0);
            match positions.get(&name) {
                Some(&at) => {
                    let (host, its_cpus, its_gpus): &mut (Granted, usize, usize) = &mut hosts[at];
                    host.slots = host.slots.saturating_add(ranks);
                    *its_cpus = its_cpus.saturating_add(cpus);
                    *its_gpus = its_gpus.saturating_add(gpus);
                }
                None => {
                    positions.insert(name.clone(), hosts.len());
                    hosts.push((Granted { name, slots: ranks }, cpus, gpus));
                }
            }
        }
        self.check(source, &hosts, reading);
        Ok(hosts.into_iter().map(|(host, ..)| host).collect())
    }

    /// Warns of chunks that no node can have, and of those that may share one.
    fn check(&self, source: &Source<'_>, hosts: &[(Granted, usize, usize)], reading: &mut Reading) {
        let line = Some(self.line).filter(|line| *line > 0);
        for (host, cpus, gpus) in hosts {
            let Some(machine) = source.machines.machine(&host.name) else { continue };
            let has = [(machine.pus.len(), *cpus, "CPU"), (machine.gpus.len(), *gpus, "GPU")];
            if let Some((has, wanted, noun)) = has.into_iter().find(|(has, it, _)| it > has) {
                let text = format!(
                    "{} on one node, but {} has {has}: the job is queued for ever, or refused",
                    counted(wanted, noun),
                    host.name
                );
                reading.refuse(&traps::CHUNK, line, text);
                break;
            }
        }
        for chunk in &self.chunks {
            if let (Some(ranks), Some(cpus)) = (chunk.ranks, chunk.cpus)
                && ranks > cpus
            {
                let text = format!(
                    "mpiprocs={ranks} and ncpus={cpus}: the ranks of a chunk share its CPUs"
                );
                reading.warn(&traps::PROCS_CPUS, line, text);
            }
        }
        let together = |pair: &[(Granted, usize, usize)]| {
            let machine = source.machines.machine(&pair[0].0.name)?;
            let cpus = pair[0].1.saturating_add(pair[1].1);
            (pair[0].1 > 0 && cpus <= machine.pus.len()).then_some((cpus, machine.pus.len()))
        };
        let is_free = self.place == Place::Free && self.chunks.iter().all(|it| it.host.is_none());
        if let Some((cpus, has)) = hosts.windows(2).find_map(together).filter(|_| is_free) {
            let text = format!(
                "two chunks have {cpus} CPUs and a node has {has}, so PBS may put them on one; read as if \
                 each had a node of its own, which place=scatter makes sure of"
            );
            reading.warn(&traps::CHUNKS_TOGETHER, line, text);
        }
    }

    /// Whether the job says how many ranks each host is meant to have.
    pub(super) fn names_ranks(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.ranks.is_some())
    }

    /// The line and the CPUs of a chunk without `mpiprocs=`.
    pub(super) fn without_ranks(&self) -> Option<(Option<usize>, usize)> {
        let chunk = self.chunks.iter().find(|it| it.ranks.is_none() && it.cpus > Some(1))?;
        Some((Some(self.line).filter(|line| *line > 0), chunk.cpus?))
    }

    /// The threads that PBS Professional gives `OMP_NUM_THREADS`: those of the first chunk.
    pub(super) fn threads(&self) -> Option<usize> {
        let first = self.chunks.first()?;
        first.threads.or(first.cpus)
    }

    /// Tells of the threads that PBS starts for each of several ranks, if nothing else sets them.
    pub(super) fn note_threads(&self, launch: &Launch, reading: &mut Reading) {
        let Some(first) = self.chunks.first() else { return };
        let (Some(cpus), Some(ranks), None) = (first.cpus, first.ranks, first.threads) else {
            return;
        };
        if cpus > 1 && ranks > 1 && !launch.exported.contains_key("OMP_NUM_THREADS") {
            reading.notes.push(format!(
                "PBS Professional sets OMP_NUM_THREADS={cpus} (ncpus) for each of the {ranks} ranks of a \
                 chunk; with threads in the program or its libraries add ompthreads={}",
                (cpus / ranks).max(1)
            ));
        }
    }
}

impl Chunk {
    /// Reads `2:ncpus=16:mpiprocs=8`, or `2:ppn=8` and `n01:ppn=8`.
    fn read(text: &str, is_select: bool) -> Option<Self> {
        let mut chunk = Self { count: 1, ..Self::default() };
        for (at, part) in text.split(':').enumerate() {
            let number = |value: &str| value.parse().ok().filter(|number| *number <= MOST_RANKS);
            match part.split_once('=') {
                None if at == 0 => match part.parse::<usize>() {
                    Ok(0) | Err(_) if is_select || part.is_empty() => return None,
                    Ok(count) => chunk.count = count,
                    Err(_) => chunk.host = Some(part.to_owned()),
                },
                // A property of the node.
                None => {}
                Some(("ncpus", value)) => chunk.cpus = Some(number(value)?),
                Some(("mpiprocs", value)) => chunk.ranks = Some(number(value)?),
                Some(("ompthreads", value)) => chunk.threads = Some(number(value)?),
                Some(("ngpus" | "gpus", value)) => chunk.gpus = Some(number(value)?),
                Some(("host" | "vnode", value)) => chunk.host = Some(value.to_owned()),
                Some(("ppn", value)) if !is_select => {
                    (chunk.cpus, chunk.ranks, chunk.threads) =
                        (Some(number(value)?), Some(number(value)?), Some(1));
                }
                Some(_) => {}
            }
        }
        Some(chunk)
    }
}
