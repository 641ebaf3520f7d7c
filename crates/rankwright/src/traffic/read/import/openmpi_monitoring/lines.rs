//! Parses the file of one rank.

use std::collections::BTreeMap;

use super::EXPECTED;
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::read::import::MOST_RANKS;

/// Messages to one rank and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// Counters of one rank for one partner, by kind of line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Partner {
    /// `E`: messages of the program.
    pub(super) external: Option<Amount>,
    /// `I`: messages of the library, mainly of its collective algorithms.
    pub(super) internal: Option<Amount>,
    /// `S`: writes to the partner's windows, and requests for reads.
    pub(super) put: Option<Amount>,
    /// `R`: reads from the partner's windows.
    pub(super) got: Option<Amount>,
    /// `C`: amounts implied by the collective operations, independent of the algorithm.
    pub(super) collective: Option<Amount>,
    /// Messages by size bin, `E` and `I` together.
    pub(super) size_histogram: Vec<u64>,
}

/// The file of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RankFile {
    /// Rank that wrote the file.
    pub(super) rank: Rank,
    /// Size of `MPI_COMM_WORLD`; `None` if the file does not contain it.
    pub(super) world: Option<u32>,
    /// Counters by partner.
    pub(super) partners: BTreeMap<Rank, Partner>,
}

/// Section headings, in file order.
pub(super) const SECTIONS: [&str; 3] = ["# POINT TO POINT", "# OSC", "# COLLECTIVES"];
/// Lines after each communicator: totals of its one-to-all, all-to-one and all-to-all operations.
const TOTALS: [&str; 3] = ["O2A", "A2O", "A2A"];

/// Reads the file of one rank.
///
/// # Errors
/// If a line does not have Open MPI's format, a section is missing, the file is truncated, or its
/// lines are from several ranks.
pub(super) fn read(text: &str, file: &str) -> Result<RankFile, InputError> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(line).map_err(|expected| {
            let shown: String = line.chars().take(60).collect();
            InputError::new(file, format!("`{shown}`"), expected).at_line(number)
        })?;
    }
    let cut = |found: String| {
        let lines = text.lines().count();
        let advice = "the file is cut off: was the run ended before MPI_Finalize?";
        InputError::new(file, found, EXPECTED).at_line(lines.max(1)).with_advice(advice)
    };
    if !text.ends_with('\n') {
        return Err(cut("an end within a line".to_owned()));
    }
    if let Some(missing) = SECTIONS.get(reader.sections) {
        return Err(cut(format!("an end before `{missing}`")));
    }
    if !reader.communicators {
        return Err(cut("an end before the first communicator".to_owned()));
    }
    if let Some(missing) = TOTALS.get(reader.totals) {
        return Err(cut(format!("an end before the line `{missing}` of a communicator")));
    }
    let rank = reader.rank.ok_or_else(|| cut("no line of any rank".to_owned()))?;
    Ok(RankFile { rank, world: reader.world, partners: reader.partners })
}

struct Reader {
    /// Number of headings read.
    sections: usize,
    /// Number of total lines read for the current communicator.
    totals: usize,
    /// Whether a communicator has been read.
    communicators: bool,
    rank: Option<Rank>,
    world: Option<u32>,
    partners: BTreeMap<Rank, Partner>,
}

impl Default for Reader {
    fn default() -> Self {
        let totals = TOTALS.len();
        Self {
            sections: 0,
            totals,
            communicators: false,
            rank: None,
            world: None,
            partners: BTreeMap::new(),
        }
    }
}

/// What was expected in place of a line.
type Expected = String;

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Expected> {
        if line.starts_with('#') {
            let expected =
                || SECTIONS.get(self.sections).map_or("no further headline", |name| name);
            if SECTIONS.get(self.sections) != Some(&line) {
                return Err(expected().to_owned());
            }
            self.sections += 1;
            return Ok(());
        }
        let cells: Vec<&str> = line.split('\t').collect();
        let kinds = match self.sections {
            0 => return Err(format!("the headline {}", SECTIONS[0])),
            1 => "E or I",
            2 => "S or R",
            _ if self.totals < TOTALS.len() => return self.total(&cells),
            _ => "C or D",
        };
        match (self.sections, cells.as_slice()) {
            (1, ["E", rest @ ..]) => self.pair(rest, |partner| &mut partner.external, true),
            (1, ["I", rest @ ..]) => self.pair(rest, |partner| &mut partner.internal, true),
            (2, ["S", rest @ ..]) => self.pair(rest, |partner| &mut partner.put, false),
            (2, ["R", rest @ ..]) => self.pair(rest, |partner| &mut partner.got, false),
            (3, ["C", rest @ ..]) => self.pair(rest, |partner| &mut partner.collective, false),
            (3, ["D", name, members]) => self.communicator(name, members),
            _ => Err(format!("a line {kinds} of `{}`", SECTIONS[self.sections - 1])),
        }
    }

    /// Reads source, destination, amount, and a histogram if allowed.
    fn pair(
        &mut self,
        cells: &[&str],
        place: fn(&mut Partner) -> &mut Option<Amount>,
        may_have_histogram: bool,
    ) -> Result<(), Expected> {
        let (cells, histogram) = match cells {
            [cells @ .., histogram] if may_have_histogram && cells.len() == 4 => {
                let bins: Option<Vec<u64>> =
                    histogram.split(',').map(|bin| bin.parse().ok()).collect();
                (cells, bins.ok_or("the numbers of messages by size, with commas between them")?)
            }
            cells => (cells, Vec::new()),
        };
        let [source, destination, bytes, messages] = cells else {
            return Err("source, destination, `N bytes` and `N msgs sent`".to_owned());
        };
        self.source(source)?;
        let destination = rank(destination)?;
        let amount = amount(bytes, messages)?;
        let partner = self.partners.entry(destination).or_default();
        if place(partner).replace(amount).is_some() {
            return Err(format!("one line of this kind for rank {destination}"));
        }
        if !histogram.is_empty() {
            partner.size_histogram = histogram;
        }
        Ok(())
    }

    fn source(&mut self, cell: &str) -> Result<(), Expected> {
        let source = rank(cell)?;
        match *self.rank.get_or_insert(source) {
            first if first == source => Ok(()),
            first => Err(format!("a line of rank {first}, as before")),
        }
    }

    fn communicator(&mut self, name: &str, members: &str) -> Result<(), Expected> {
        let expected = "procs: and ranks with commas between them";
        let members = members.strip_prefix("procs: ").ok_or(expected)?;
        let mut count = 0;
        for member in members.split(',') {
            rank(member)?;
            count += 1;
        }
        if name == "MPI_COMM_WORLD" {
            self.world = Some(count);
        }
        self.totals = 0;
        self.communicators = true;
        Ok(())
    }

    fn total(&mut self, cells: &[&str]) -> Result<(), Expected> {
        let name = TOTALS[self.totals];
        match cells {
            [found, source, bytes, messages] if *found == name => {
                self.source(source)?;
                amount(bytes, messages)?;
                self.totals += 1;
                Ok(())
            }
            _ => Err(format!("the line `{name}` of a communicator")),
        }
    }
}

fn rank(cell: &str) -> Result<Rank, Expected> {
    let rank = cell.parse().ok().filter(|rank| *rank < MOST_RANKS).map(Rank);
    rank.ok_or_else(|| format!("a rank in place of `{cell}`"))
}

fn amount(bytes: &str, messages: &str) -> Result<Amount, Expected> {
    let number = |cell: &str, unit: &str| {
        let number = cell.strip_suffix(unit)?.parse().ok();
        number.filter(|number| *number <= i64::MAX as u64)
    };
    Ok(Amount {
        bytes: number(bytes, " bytes").ok_or("`N bytes` in the fourth place")?,
        messages: number(messages, " msgs sent").ok_or("`N msgs sent` in the fifth place")?,
    })
}
