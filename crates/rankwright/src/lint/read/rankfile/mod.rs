//! Rankfiles of Open MPI: `rank 3=n0 slot=0-2`; or hostfiles, also those of its seq mapper.

mod hostfile;
pub(crate) mod map_by;
pub(crate) mod seq;
pub(crate) mod slot_list;
mod slots;
mod tokens;

use std::collections::BTreeMap;

use crate::files::InputError;
use crate::launch::launchers::openmpi4::LONGEST_TOGETHER;
use crate::lint::machines::short;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, Source, leading_number, listed, traps};
use slot_list::{SlotList, Unit, Version};
use tokens::{Token, Tokens};

pub(in crate::lint) use hostfile::is_one as is_hostfile;

const EXPECTED: &str = "lines like `rank 0=n0 slot=0-2`";

/// The number of characters of a slot list that 5.0 keeps.
const LONGEST_LIST: usize = 63;

/// Reads as Open MPI 4.1 does.
pub(in crate::lint) fn read_4(source: &Source<'_>) -> Result<Reading, InputError> {
    read(source, Version::Four)
}

/// Reads as Open MPI 5.0 does.
pub(in crate::lint) fn read_5(source: &Source<'_>) -> Result<Reading, InputError> {
    read(source, Version::Five)
}

/// A rank's line or lines.
#[derive(Debug, Default)]
struct Entry<'a> {
    host: Option<&'a str>,
    slots: Option<&'a str>,
    line: usize,
}

fn read(source: &Source<'_>, version: Version) -> Result<Reading, InputError> {
    let words = source.arguments.without_programs();
    let source = &Source { arguments: Arguments::new(&words), ..*source };
    if seq::is_wanted(source.arguments) {
        return seq::read(source);
    }
    if hostfile::is_one(source.text) {
        return hostfile::read(source, version);
    }
    let arguments = source.arguments;
    let mapping = arguments.values(&["--map-by", "-map-by"]).collect::<Vec<_>>().join(":");
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    let mut reading = Reading {
        overlap_is_refused: version == Version::Five
            && !binding.is_some_and(|binding| binding.contains("overload-allowed")),
        ..Reading::default()
    };
    let none = binding.is_some_and(|binding| binding.split(':').next() == Some("none"));
    if none && version == Version::Four {
        reading.warn(&traps::BIND_NONE, None, "the rankfile still binds the ranks".to_owned());
    }
    let oversubscribe = mapping.to_ascii_lowercase().contains(":oversubscribe");
    let drops = version == Version::Five && oversubscribe && binding.is_none();
    if drops {
        let text = format!("`--map-by {mapping}` without --bind-to: no rank is bound");
        reading.warn(&traps::OVERSUBSCRIBE, None, text);
    }
    let unbound = drops || none && version == Version::Five;
    let threads = arguments.has("--use-hwthread-cpus") || arguments.has("-use-hwthread-cpus");
    let physical = arguments
        .words()
        .zip(arguments.words().skip(1))
        .any(|pair| pair == ("rmaps_rank_file_physical", "1"));
    let unit = match version {
        Version::Four if physical => Unit::Physical,
        Version::Four if threads => Unit::Thread,
        Version::Five if mapping.to_ascii_lowercase().contains(":hwtcpus") => Unit::Thread,
        _ => Unit::Core,
    };
    let mut lines = Lines {
        source,
        reading,
        entries: BTreeMap::new(),
        ranks_given: arguments.ranks_of_open_mpi(version),
        ranks_named: 0,
        has_slots: false,
    };
    lines.read()?;
    lines.check_ranks();
    lines.check_hosts();
    let Lines { mut reading, entries, .. } = lines;
    if version == Version::Five {
        slots::check(source, &mut reading, entries.values().filter_map(|entry| entry.host))?;
    }
    for (rank, entry) in entries {
        add(&mut reading, source, (version, unit, unbound), rank, &entry)?;
    }
    Ok(reading)
}

/// The lines of a rankfile while they are read.
struct Lines<'a> {
    source: &'a Source<'a>,
    reading: Reading,
    entries: BTreeMap<usize, Entry<'a>>,
    /// The number of ranks that the arguments say.
    ranks_given: Option<usize>,
    /// The number of lines that name a rank; mpirun starts that many ranks without `-np`.
    ranks_named: usize,
    /// Whether any slot list has been read.
    has_slots: bool,
}

impl<'a> Lines<'a> {
    fn read(&mut self) -> Result<(), InputError> {
        let mut tokens = Tokens::new(self.source.text);
        let mut ahead = tokens.next();
        let mut rank: Option<usize> = None;
        while let Some((line, token)) = ahead {
            ahead = None;
            match token {
                Token::Newline => rank = None,
                Token::Rank => rank = Some(self.rank_word(&mut tokens, line)?),
                Token::Equal => self.host_word(rank, &mut tokens, line)?,
                Token::Slot => {
                    let (rank, list) = self.slot_word(rank, &mut tokens, line)?;
                    ahead = tokens.next();
                    if let Some((_, Token::Text(more) | Token::Number(more))) = ahead {
                        let text = format!("rank {rank}: `{more}` after `{list}` is ignored");
                        self.reading.warn(&traps::SLOT_BLANK, line, text);
                    }
                }
                // Open MPI ignores other words behind a rank.
                Token::Number(_) | Token::Text(_) | Token::Host(_) if rank.is_some() => {}
                Token::CarriageReturn => self.carriage_return(line),
                Token::OpenComment => {
                    let text = "the file ends in a comment without a line end".to_owned();
                    self.reading.refuse(&traps::COMMENT_AT_END, line, text);
                }
                _ => return Err(self.wrong(line, &format!("`{}`", written(token)))),
            }
            ahead = ahead.or_else(|| tokens.next());
        }
        Ok(())
    }

    fn wrong(&self, line: usize, text: &str) -> InputError {
        self.source.wrong(Some(line), text, EXPECTED)
    }

    /// Behind `rank`: its number.
    fn rank_word(&mut self, tokens: &mut Tokens<'a>, line: usize) -> Result<usize, InputError> {
        let Some((_, Token::Number(number))) = tokens.next() else {
            return Err(self.wrong(line, "`rank` without a number"));
        };
        let (number, _) = leading_number(number);
        if number >= MOST_RANKS {
            return Err(self.wrong(line, &format!("rank {number}")));
        }
        self.start(number, line);
        Ok(number)
    }

    /// Behind `=`: the host of the rank.
    fn host_word(
        &mut self,
        rank: Option<usize>,
        tokens: &mut Tokens<'a>,
        line: usize,
    ) -> Result<(), InputError> {
        let rank = rank.ok_or_else(|| self.wrong(line, "`=` without a rank before it"))?;
        match tokens.next() {
            Some((_, Token::Text(host) | Token::Host(host) | Token::Number(host))) => {
                self.set_host(rank, host, line);
                Ok(())
            }
            _ => Err(self.wrong(line, &format!("rank {rank} without a host"))),
        }
    }

    /// Behind `slot`: the list.
    fn slot_word(
        &mut self,
        rank: Option<usize>,
        tokens: &mut Tokens<'a>,
        line: usize,
    ) -> Result<(usize, &'a str), InputError> {
        let has_host =
            |rank: &usize| self.entries.get(rank).is_some_and(|entry| entry.host.is_some());
        let rank = rank.filter(has_host);
        let rank = rank.ok_or_else(|| self.wrong(line, "a slot list without rank and host"))?;
        let equal = tokens.next().map(|(_, token)| token);
        let list = match (equal, tokens.next().map(|(_, token)| token)) {
            (Some(Token::Equal), Some(Token::Text(list) | Token::Number(list))) => list,
            (Some(Token::Equal), Some(Token::Quoted(list))) => {
                let text = format!("rank {rank}: the quoted list `{list}`");
                self.reading.refuse(&traps::SLOT_QUOTED, line, text);
                list
            }
            _ => return Err(self.wrong(line, &format!("rank {rank} with `slot` but no list"))),
        };
        if !self.has_slots && rank != 0 {
            let text = format!("rank {rank} comes first, rank 0 must");
            self.reading.refuse(&traps::FIRST_RANK, line, text);
        }
        self.has_slots = true;
        self.set_slots(rank, list, line);
        Ok((rank, list))
    }

    /// Warns once: all lines of such a file have the same line end.
    fn carriage_return(&mut self, line: usize) {
        let is_repeated =
            |warning: &crate::lint::LintWarning| *warning.trap == traps::CARRIAGE_RETURN;
        if !self.reading.warnings.iter().any(is_repeated) {
            let text = "the line ends with a carriage return, as on Windows".to_owned();
            self.reading.refuse(&traps::CARRIAGE_RETURN, line, text);
        }
    }

    fn start(&mut self, rank: usize, line: usize) {
        self.ranks_named += 1;
        let entry = Entry { line, ..Entry::default() };
        if let Some(before) = self.entries.insert(rank, entry) {
            let text = format!("rank {rank} is on line {} already; this line wins", before.line);
            // For rank 0, Open MPI notices: by the same defect, it refuses files that begin with
            // another rank.
            if rank == 0 {
                self.reading.refuse(&traps::RANK_TWICE, line, text);
            } else {
                self.reading.warn(&traps::RANK_TWICE, line, text);
            }
        }
    }

    fn set_host(&mut self, rank: usize, host: &'a str, line: usize) {
        let host = host.rsplit('@').next().unwrap_or_default();
        let (number, is_number) = leading_number(host);
        if is_number && number.to_string() != host {
            let text = format!("rank {rank}: host {host} is read as {number}");
            self.reading.warn(&traps::HOST_NUMBER, line, text);
        }
        if let Some(entry) = self.entries.get_mut(&rank) {
            entry.host = Some(host);
        }
    }

    fn set_slots(&mut self, rank: usize, list: &'a str, line: usize) {
        if let Some(entry) = self.entries.get_mut(&rank) {
            entry.slots = Some(list);
            entry.line = line;
        }
    }

    /// Compares the ranks with the number of ranks to start.
    fn check_ranks(&mut self) {
        let given = self.ranks_given;
        let expected = given.unwrap_or(self.ranks_named);
        let missing: Vec<u32> = (0..)
            .zip(0..expected.min(MOST_RANKS))
            .filter(|(_, rank)| !self.entries.contains_key(rank))
            .map(|(rank, _)| rank)
            .collect();
        if !missing.is_empty() {
            let which = listed("rank", &missing);
            let counted = match given {
                Some(_) => "",
                None => " (as many as the file has lines, as no -np is given)",
            };
            let text =
                format!("{expected} ranks are started{counted}, but the file has no {which}");
            self.reading.refuse(&traps::RANK_MISSING, None, text);
        }
        if given.is_some() {
            let beyond = self.entries.split_off(&expected);
            if let Some((rank, entry)) = beyond.first_key_value() {
                let text = format!("{expected} ranks are started, so rank {rank} is not");
                self.reading.warn(&traps::LINES_BEYOND, entry.line, text);
            }
        }
    }

    /// Warns of host names that Open MPI takes for one host, and of relative names.
    fn check_hosts(&mut self) {
        let Self { entries, reading, .. } = self;
        let mut whole: std::collections::HashMap<&str, &str> = std::collections::HashMap::new();
        let mut warned = std::collections::HashSet::new();
        for entry in entries.values() {
            let Some(host) = entry.host else { continue };
            if host.starts_with("+n") && warned.insert("+n") {
                let text = format!("{host}: a position among the hosts of the allocation");
                reading.warn(&traps::RELATIVE_HOST, entry.line, text);
            }
            let first = *whole.entry(short(host)).or_insert(host);
            let differ = first != host && first.contains('.') && host.contains('.');
            if differ && warned.insert(short(host)) {
                let text = format!("Open MPI takes both {first} and {host} for {}", short(host));
                reading.warn(&traps::SHORT_NAMES, entry.line, text);
            }
        }
    }
}

fn written(token: Token<'_>) -> String {
    match token {
        Token::Number(text) | Token::Text(text) | Token::Host(text) => text.to_owned(),
        Token::Quoted(text) => format!("\"{text}\""),
        Token::Other(character) => character.to_string(),
        _ => String::new(),
    }
}

/// Adds a rank with its effective host and binding.
fn add(
    reading: &mut Reading,
    source: &Source<'_>,
    (version, unit, unbound): (Version, Unit, bool),
    rank: usize,
    entry: &Entry<'_>,
) -> Result<(), InputError> {
    let Some(host) = entry.host else {
        let text = format!("rank {rank} without a host");
        return Err(source.wrong(Some(entry.line), &text, EXPECTED));
    };
    let relative = host.strip_prefix("+n").and_then(|number| number.parse::<usize>().ok());
    let nodes = source.machines.cluster().map(|cluster| &cluster.nodes);
    let node = nodes.zip(relative).and_then(|(nodes, number)| nodes.get(number));
    let host = node.map_or(host, |node| &node.name);
    let (number, is_number) = leading_number(host);
    let host = if is_number { number.to_string() } else { host.to_owned() };
    let Some(list) = entry.slots else {
        let text = format!("rank {rank} has no slot list");
        match version {
            Version::Four => reading.refuse(&traps::SLOT_MISSING, entry.line, text),
            Version::Five => {
                reading.warn(&traps::SLOT_MISSING, entry.line, text + " and is not bound");
            }
        }
        reading.add(rank, &host, Place::Unbound, entry.line);
        return Ok(());
    };
    let list = within_buffer(reading, version, rank, (short(&host), list), entry.line);
    let machine = source.machines.machine(&host);
    let SlotList { place, problems } = slot_list::read(list, version, unit, machine);
    for problem in problems {
        let text = format!("rank {rank}: {}", problem.text);
        if problem.refused {
            reading.refuse(problem.trap, entry.line, text);
        } else {
            reading.warn(problem.trap, entry.line, text);
        }
    }
    reading.add(rank, &host, if unbound { Place::Unbound } else { place }, entry.line);
    Ok(())
}

/// The part of a slot list that fits into the launcher's buffer.
fn within_buffer<'a>(
    reading: &mut Reading,
    version: Version,
    rank: usize,
    (host, list): (&str, &'a str),
    line: usize,
) -> &'a str {
    let length = list.len();
    match version {
        Version::Four if host.len() + length > LONGEST_TOGETHER => {
            let text = format!(
                "rank {rank}: host and slot list have {} characters, more than {LONGEST_TOGETHER} \
                 overflow a buffer",
                host.len() + length
            );
            reading.refuse(&traps::SLOT_LONG, line, text);
            list
        }
        // A slot list is ASCII.
        Version::Five if length > LONGEST_LIST => {
            let (kept, lost) = list.split_at(LONGEST_LIST);
            let text = format!(
                "rank {rank}: the slot list has {length} characters, the last `{lost}` is cut off"
            );
            reading.warn(&traps::SLOT_LONG, line, text);
            kept
        }
        _ => list,
    }
}
