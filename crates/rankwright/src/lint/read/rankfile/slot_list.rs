//! The slot lists of Open MPI's rankfiles, as its versions 4.1 and 5.0 read them.

use std::collections::BTreeSet;

use crate::cluster::Machine;
use crate::ids::{CoreId, LARGEST_INDEX, PuSet};
use crate::lint::traps::{self, Trap};
use crate::lint::{Place, leading_number};
use crate::units::counted;

/// The version of Open MPI that reads the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Version {
    Four,
    Five,
}

impl Version {
    /// As texts call it: `4.1`.
    pub(in crate::lint) fn name(self) -> &'static str {
        match self {
            Self::Four => "4.1",
            Self::Five => "5.0",
        }
    }
}

/// The index space of plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Unit {
    /// Cores, L#.
    Core,
    /// Hardware threads, L#.
    Thread,
    /// Hardware threads, P#; each stands for its whole core.
    Physical,
}

/// The effective meaning of a slot list.
#[derive(Debug)]
pub(in crate::lint) struct SlotList {
    pub(in crate::lint) place: Place,
    pub(in crate::lint) problems: Vec<Problem>,
}

/// A trap in a slot list.
#[derive(Debug)]
pub(in crate::lint) struct Problem {
    pub(in crate::lint) trap: &'static Trap,
    pub(in crate::lint) refused: bool,
    pub(in crate::lint) text: String,
}

/// Reads a slot list for a machine; `None` if the machine is unknown.
pub(in crate::lint) fn read(
    list: &str,
    version: Version,
    unit: Unit,
    machine: Option<&Machine>,
) -> SlotList {
    let mut reader = Reader {
        version,
        unit,
        machine,
        pus: BTreeSet::new(),
        cores: BTreeSet::new(),
        is_plain: unit == Unit::Core,
        problems: Vec::new(),
    };
    // Reading ends at the first refused item.
    let _ = reader.list(list);
    let Reader { pus, cores, is_plain, mut problems, .. } = reader;
    let refused = problems.iter().any(|problem| problem.refused);
    let empty = if machine.is_some() { pus.is_empty() } else { is_plain && cores.is_empty() };
    if empty && !refused {
        let text = format!("`{list}` names no core, so the rank is not bound");
        problems.push(Problem { trap: &traps::SLOT_EMPTY, refused: false, text });
    }
    let place = match machine {
        _ if refused => Place::Unknown,
        _ if empty => Place::Unbound,
        Some(machine) => Place::Pus(pus.iter().map(|pu| machine.pus[*pu].id).collect::<PuSet>()),
        None if is_plain => Place::Cores(cores.into_iter().map(CoreId).collect()),
        None => Place::Unknown,
    };
    SlotList { place, problems }
}

struct Reader<'a> {
    version: Version,
    unit: Unit,
    machine: Option<&'a Machine>,
    /// Indices into the machine's PUs.
    pus: BTreeSet<usize>,
    /// Cores (L#) named by plain numbers, if the machine is unknown.
    cores: BTreeSet<u32>,
    /// Whether the list has plain core numbers only.
    is_plain: bool,
    problems: Vec<Problem>,
}

/// The launcher refuses the list; the last of the problems says why.
struct Refused;

impl Reader<'_> {
    fn warn(&mut self, trap: &'static Trap, text: String) {
        self.problems.push(Problem { trap, refused: false, text });
    }

    fn refuse<T>(&mut self, trap: &'static Trap, text: String) -> Result<T, Refused> {
        self.problems.push(Problem { trap, refused: true, text });
        Err(Refused)
    }

    fn list(&mut self, list: &str) -> Result<(), Refused> {
        let mut items = pieces(list, ';').peekable();
        if items.peek().is_none() {
            return self.refuse(&traps::SLOT_EMPTY, format!("`{list}` crashes mpirun"));
        }
        items.try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: &str) -> Result<(), Refused> {
        let first = item.chars().next().unwrap_or_default().to_ascii_lowercase();
        let names_package = first == 's' || first == 'p' && self.version == Version::Five;
        let rest = if names_package { &item[1..] } else { item };
        if first == 'p' {
            self.tell_prefix(item);
        }
        match item.contains(':') {
            false if names_package => self.packages(item, rest),
            false => pieces(item, ',').try_for_each(|part| self.plain(part)),
            true if self.version == Version::Five => self.cores_of_package_5(item, rest),
            true => self.cores_of_packages_4(item, rest),
        }
    }

    /// `p1` looks like PU P#1, which it was before Open MPI 1.7.
    fn tell_prefix(&mut self, item: &str) {
        let text = match self.version {
            Version::Four => format!("`{item}` is core L#0, not a PU"),
            Version::Five => format!("`{item}` is a package, not a PU"),
        };
        self.warn(&traps::SLOT_P, text);
    }

    /// `3` or `3-5`.
    fn plain(&mut self, part: &str) -> Result<(), Refused> {
        match self.range(part, part)? {
            Some((first, last)) => self.plain_range(part, first, last),
            None => Ok(()),
        }
    }

    /// First and last number of a range, equal for a single number; `None` for a descending range.
    fn range(&mut self, part: &str, item: &str) -> Result<Option<(usize, usize)>, Refused> {
        let ends: Vec<&str> = pieces(part, '-').collect();
        let (first, last) = match ends[..] {
            [only] => (only, only),
            [first, last] => (first, last),
            _ => return self.refuse(&traps::SLOT_RANGE, format!("the range `{part}` in `{item}`")),
        };
        let mut number = |text: &str| {
            let (number, whole) = leading_number(text);
            if !whole && !text.starts_with(['p', 'P']) {
                let text = format!("`{text}` in `{item}` is read as {number}");
                self.warn(&traps::SLOT_NUMBER, text);
            }
            number
        };
        let first_number = number(first);
        let last_number = if ends.len() == 1 { first_number } else { number(last) };
        Ok((first_number <= last_number).then_some((first_number, last_number)))
    }

    fn plain_range(&mut self, part: &str, first: usize, last: usize) -> Result<(), Refused> {
        let Some(machine) = self.machine else {
            let largest = LARGEST_INDEX as usize;
            if last > largest {
                return self
                    .refuse(&traps::NO_CORE, format!("`{part}`: no node has that many cores"));
            }
            self.cores.extend((first..=last).map(|core| CoreId::from_index(core).0));
            return Ok(());
        };
        match self.unit {
            Unit::Core => self.add_cores(part, machine, first, last),
            Unit::Thread if last < machine.pus.len() => {
                self.pus.extend(first..=last);
                Ok(())
            }
            Unit::Thread => {
                let count = machine.pus.len();
                self.refuse(
                    &traps::NO_CORE,
                    format!("`{part}`: the node has {}", counted(count, "PU")),
                )
            }
            Unit::Physical => {
                for number in first..=last {
                    let pu = machine.pus.iter().find(|pu| pu.id.index() == number);
                    let Some(pu) = pu else {
                        return self.refuse(&traps::NO_CORE, format!("`{part}`: no PU P#{number}"));
                    };
                    self.pus.extend(machine.pus_of(pu.core));
                }
                Ok(())
            }
        }
    }

    fn add_cores(
        &mut self,
        part: &str,
        machine: &Machine,
        first: usize,
        last: usize,
    ) -> Result<(), Refused> {
        let count = machine.cores.len();
        if last >= count {
            return self.refuse(
                &traps::NO_CORE,
                format!("`{part}`: the node has {}", counted(count, "core")),
            );
        }
        for core in first..=last {
            self.pus.extend(machine.pus_of(CoreId::from_index(core)));
        }
        Ok(())
    }

    /// `s1`, `s0-1,3`, `s*`.
    fn packages(&mut self, item: &str, list: &str) -> Result<(), Refused> {
        self.is_plain = false;
        if pieces(list, ',').next().is_none() && self.version == Version::Five {
            return self.refuse(&traps::SLOT_EMPTY, format!("`{item}` crashes mpirun"));
        }
        for part in pieces(list, ',') {
            let Some(machine) = self.machine else { continue };
            if part.starts_with('*') {
                self.pus.extend(0..machine.pus.len());
                continue;
            }
            let Some((first, last)) = self.range(part, item)? else { continue };
            for package in first..=last {
                let cores = self.cores_in(item, package)?;
                self.pus.extend(cores.iter().flat_map(|core| machine.pus_of(*core)));
            }
        }
        Ok(())
    }

    /// The cores of a package; empty if the machine is unknown.
    fn cores_in(&mut self, item: &str, package: usize) -> Result<Vec<CoreId>, Refused> {
        let Some(machine) = self.machine else { return Ok(Vec::new()) };
        if package >= machine.packages {
            let text = format!("`{item}`: the node has no package L#{package}");
            return self.refuse(&traps::NO_PACKAGE, text);
        }
        let cores = machine.core_ids().zip(&machine.cores);
        Ok(cores.filter(|(_, core)| core.package == package).map(|(id, _)| id).collect())
    }

    /// 4.1: every piece between commas is PACKAGE:CORE or PACKAGE:FIRST-LAST.
    fn cores_of_packages_4(&mut self, item: &str, list: &str) -> Result<(), Refused> {
        self.is_plain = false;
        for piece in pieces(list, ',') {
            let mut parts = pieces(piece, ':');
            let Some(package) = parts.next() else {
                return self.refuse(&traps::SLOT_EMPTY, format!("`{item}` crashes mpirun"));
            };
            let package = self.package(item, package);
            let inside = self.cores_in(item, package)?;
            let parts: Vec<&str> = parts.collect();
            if parts.is_empty() {
                let text = format!(
                    "`{piece}` in `{item}` is package {package} without a core and adds no core; write \
                     plain core numbers"
                );
                self.warn(&traps::PACKAGE_LIST, text);
            }
            for part in parts {
                let part = part.strip_prefix(['c', 'C']).unwrap_or(part);
                let Some(machine) = self.machine else { continue };
                if part.starts_with('*') {
                    self.pus.extend(inside.iter().flat_map(|core| machine.pus_of(*core)));
                    break;
                }
                let Some((first, last)) = self.range(part, item)? else { continue };
                let Some(cores) = inside.get(first..=last) else {
                    let cores = counted(inside.len(), "core");
                    let text = format!("`{item}`: package {package} has {cores}");
                    return self.refuse(&traps::NO_CORE, text);
                };
                self.pus.extend(cores.iter().flat_map(|core| machine.pus_of(*core)));
            }
        }
        Ok(())
    }

    fn package(&mut self, item: &str, text: &str) -> usize {
        let (package, whole) = leading_number(text);
        if !whole {
            let text = format!("`{text}` in `{item}` is read as package {package}");
            self.warn(&traps::SLOT_NUMBER, text);
        }
        package
    }

    /// 5.0: PACKAGE:CORES with colons between lists or ranges of cores; commas do not separate
    /// packages.
    fn cores_of_package_5(&mut self, item: &str, list: &str) -> Result<(), Refused> {
        self.is_plain = false;
        let mut parts = pieces(list, ':');
        let Some(package) = parts.next() else {
            return self.refuse(&traps::SLOT_EMPTY, format!("`{item}` crashes mpirun"));
        };
        let package = self.package(item, package);
        let inside = self.cores_in(item, package)?;
        let parts: Vec<&str> = parts.collect();
        let before = self.pus.clone();
        for part in &parts {
            let part = part.strip_prefix(['c', 'C']).unwrap_or(part);
            if part.starts_with('*') {
                let machine = self.machine;
                let pus = machine
                    .iter()
                    .flat_map(|machine| inside.iter().flat_map(|core| machine.pus_of(*core)));
                self.pus.extend(pus);
                break;
            }
            for (first, last) in self.cores_named(item, part)? {
                self.add_of_package(item, (package, &inside), first, last)?;
            }
        }
        if parts.len() > 1 && item.contains(',') {
            self.warn_of_package_twice(item, before);
        }
        Ok(())
    }

    /// A list of cores or a single range. Open MPI misreads a list that contains a range.
    fn cores_named(&mut self, item: &str, part: &str) -> Result<Vec<(usize, usize)>, Refused> {
        if !part.contains('-') {
            let mut ranges = Vec::new();
            for number in pieces(part, ',') {
                ranges.extend(self.range(number, item)?);
            }
            return Ok(ranges);
        }
        let ends: Vec<&str> = pieces(part, '-').collect();
        if let ([first, last], true) = (&ends[..], part.contains(',')) {
            let (first, last) = (leading_number(first).0, leading_number(last).0);
            let text = format!("`{part}` in `{item}` is read as {first}-{last}");
            self.warn(&traps::PACKAGE_RANGE, text);
            return Ok(if first <= last { vec![(first, last)] } else { Vec::new() });
        }
        Ok(self.range(part, item)?.into_iter().collect())
    }

    fn add_of_package(
        &mut self,
        item: &str,
        (package, inside): (usize, &[CoreId]),
        first: usize,
        last: usize,
    ) -> Result<(), Refused> {
        let Some(machine) = self.machine else { return Ok(()) };
        let start = inside.len() * package;
        if inside.first().is_some_and(|core| core.index() != start) {
            let core = start + first;
            let text =
                format!("`{item}`: core {first} of package {package} is read as core L#{core}");
            self.warn(&traps::UNEQUAL_PACKAGES, text);
        } else if last >= inside.len() && start + last < machine.cores.len() {
            let core = start + last;
            let text = format!(
                "`{item}`: package {package} has {}, core {last} is read as core L#{core}",
                counted(inside.len(), "core")
            );
            self.warn(&traps::BEYOND_PACKAGE, text);
        }
        self.add_cores(item, machine, start.saturating_add(first), start.saturating_add(last))
    }

    /// Warns if `1:0,1:3` does not name the cores that its pieces would name alone.
    fn warn_of_package_twice(&mut self, item: &str, before: BTreeSet<usize>) {
        let mut meant = Reader {
            version: Version::Four,
            unit: self.unit,
            machine: self.machine,
            pus: before,
            cores: BTreeSet::new(),
            is_plain: false,
            problems: Vec::new(),
        };
        let same = meant.cores_of_packages_4(item, item).is_ok() && meant.pus == self.pus;
        if !same || self.machine.is_none() {
            let text = format!(
                "`{item}` is read as one package with all these numbers as its cores; write plain \
                 core numbers, or `;` between packages"
            );
            self.warn(&traps::PACKAGE_TWICE, text);
        }
    }
}

/// The pieces between separators, without empty ones.
fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    text.split(separator).filter(|piece| !piece.is_empty())
}
