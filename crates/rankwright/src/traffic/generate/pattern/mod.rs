//! Patterns: traffic of regular shape, as sent by stencil codes, rings and collective-like
//! programs.
//!
//! ```
//! use rankwright::traffic::generate::pattern::Pattern;
//! let job = Pattern::parse("halo-2d:16:points=9,length=64KiB").unwrap().job().unwrap();
//! assert_eq!(job.ranks, 16);
//! ```

use std::collections::BTreeSet;

use crate::ids::Rank;
use crate::named_options::{NamedOptions, one_of};
use crate::random::Generator;
use crate::traffic::{Flow, Job, LARGEST_CV, OUTSIDE, Send, Source};
use crate::units::{Bytes, PerSecond};

/// A pattern: shape and options.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Pairs that communicate.
    pub shape: Shape,
    /// Number of ranks.
    pub ranks: u32,
    /// Grid of a halo pattern: ranks along each axis; `None` for the most even one.
    pub grid: Option<Vec<u32>>,
    /// Stencil points of a halo pattern; `None` for 5 in 2D and 7 in 3D.
    pub points: Option<u32>,
    /// Whether a halo pattern's grid wraps around.
    pub periodic: bool,
    /// Destinations per rank of the random pattern.
    pub degree: u32,
    /// Message length. Messages over an edge or corner of a halo are a 16th of it.
    pub length: Bytes,
    /// Messages per pair.
    pub messages: u64,
    /// Rounds per second; in each, a rank sends one message to every destination. `None` without
    /// message timing.
    pub rate: Option<PerSecond>,
    /// Coefficient of variation of the gaps between rounds; used with `rate`.
    pub cv: f64,
    /// Whether the rounds of all ranks coincide; used with `rate`.
    pub in_step: bool,
    /// Whether rank numbers are shuffled.
    pub renumber: bool,
    /// Seed of the random generator.
    pub seed: u64,
}

macro_rules! shapes {
    ($($name:ident $text:literal $summary:literal),* $(,)?) => {
        /// Pairs that communicate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Shape {
            $(#[doc = $summary] $name),*
        }

        /// The shapes by name, with a summary of each.
        pub const SHAPES: &[(&str, Shape, &str)] = &[$(($text, Shape::$name, $summary)),*];
    };
}
shapes! {
    Halo2d "halo-2d" "neighbours on a 2D grid: points=5 (or 4), 9",
    Halo3d "halo-3d" "neighbours on a 3D grid: points=7, 27",
    Ring "ring" "rank r to rank r + 1, the last to the first",
    Linear "linear" "rank r to rank r + 1, the last to none",
    AllToAll "all-to-all" "every rank to every other",
    Bcast "bcast" "rank 0 to every other",
    Gather "gather" "every rank to rank 0",
    Random "random" "every rank to `degree` others",
    Outside "outside" "every rank to receivers outside the cluster; needs a rate",
}

/// Why a text or a set of options is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern: {field}: found {found}, expected {expected}")]
pub struct PatternError {
    /// The option or part.
    pub field: String,
    /// The text found.
    pub found: String,
    /// The texts expected.
    pub expected: String,
}

impl PatternError {
    fn new(field: &str, found: impl ToString, expected: impl ToString) -> Self {
        let (found, expected) = (found.to_string(), expected.to_string());
        Self { field: field.to_owned(), found, expected }
    }
}

impl Shape {
    /// The shape with this name.
    ///
    /// # Errors
    /// If the name is unknown; the error lists the shapes.
    pub fn named(name: &str) -> Result<Self, PatternError> {
        let shape = SHAPES.iter().find(|(text, _, _)| *text == name);
        shape.map(|(_, shape, _)| *shape).ok_or_else(|| {
            let expected = one_of(SHAPES.iter().map(|(name, _, _)| *name));
            PatternError::new("shape", format!("`{name}`"), expected)
        })
    }

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let entry = SHAPES.iter().find(|(_, shape, _)| *shape == self);
        entry.map_or("", |(name, _, _)| name)
    }
}

/// Most pairs that are generated; more would fill any disk.
pub(in crate::traffic) const MOST_PAIRS: u64 = 1 << 28;

const OPTIONS: [&str; 11] = [
    "points", "grid", "periodic", "degree", "length", "messages", "rate", "cv", "in_step",
    "renumber", "seed",
];

impl Pattern {
    /// A pattern with default options: 100 messages of 64 KiB per pair.
    #[must_use]
    pub fn new(shape: Shape, ranks: u32) -> Self {
        Self {
            shape,
            ranks,
            grid: None,
            points: None,
            periodic: false,
            degree: 4,
            length: Bytes(64 * 1024),
            messages: 100,
            rate: None,
            cv: 1.0,
            in_step: false,
            renumber: false,
            seed: 1,
        }
    }

    /// Reads `shape:ranks` or `shape:ranks:option=value,...`.
    ///
    /// # Errors
    /// If the shape or an option is unknown, or a value is wrong.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (shape, rest) = text.split_once(':').unwrap_or((text, ""));
        let shape = Shape::named(shape)?;
        let ranks = NamedOptions::new(rest);
        let mut pattern = Self::new(shape, number("ranks", ranks.name)?);
        for option in ranks.options() {
            if option.text.contains(':') {
                let expected = "options with commas between them, like rate=100,length=64KiB";
                return Err(PatternError::new("option", format!("`{}`", option.text), expected));
            }
            pattern.set(option.key, option.value.unwrap_or_default())?;
        }
        Ok(pattern)
    }

    /// Sets one option from its text.
    ///
    /// # Errors
    /// If the option is unknown or the value is wrong.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PatternError> {
        match key {
            "points" => self.points = Some(number(key, value)?),
            "grid" => {
                let axes = value.split('x').map(|axis| number(key, axis));
                self.grid = Some(axes.collect::<Result<_, _>>()?);
            }
            "periodic" => self.periodic = flag(key, value)?,
            "degree" => self.degree = number(key, value)?,
            "length" => {
                let wrong = |error: crate::units::UnitError| {
                    PatternError::new(key, format!("`{value}`"), error.expected)
                };
                self.length = value.parse().map_err(wrong)?;
            }
            "messages" => self.messages = number(key, value)?,
            "rate" => {
                let rate = value.parse().or_else(|error: crate::units::UnitError| {
                    // `pattern:ring:8:rate=100` needs no unit: blanks and slashes are awkward in a
                    // name.
                    format!("{value} /s").parse().map_err(|_| error)
                });
                let wrong = |error: crate::units::UnitError| {
                    PatternError::new(key, format!("`{value}`"), error.expected)
                };
                self.rate = Some(rate.map_err(wrong)?);
            }
            "in_step" => self.in_step = flag(key, value)?,
            "cv" => {
                let cv = value.parse().ok().filter(|cv| (0.0..=LARGEST_CV).contains(cv));
                let expected = format!("a number from 0 to {LARGEST_CV}");
                self.cv =
                    cv.ok_or_else(|| PatternError::new(key, format!("`{value}`"), expected))?;
            }
            "renumber" => self.renumber = flag(key, value)?,
            "seed" => self.seed = number(key, value)?,
            _ => return Err(PatternError::new("option", format!("`{key}`"), one_of(OPTIONS))),
        }
        Ok(())
    }

    /// Generates the job.
    ///
    /// # Errors
    /// If there are 0 ranks, the product of the grid differs from the number of ranks, the stencil
    /// is unknown, or there would be more than 2^28 pairs.
    pub fn job(&self) -> Result<Job, PatternError> {
        if self.ranks == 0 {
            return Err(PatternError::new("ranks", 0, "at least 1"));
        }
        let pairs = self.most_pairs();
        if pairs > MOST_PAIRS {
            let found = format!("{pairs} pairs");
            return Err(PatternError::new("ranks", found, format!("at most {MOST_PAIRS}")));
        }
        if self.length.0.checked_mul(self.messages).is_none() {
            let found = format!("{} messages of {} bytes", self.messages, self.length.0);
            return Err(PatternError::new("messages", found, "fewer than 2^64 bytes per pair"));
        }
        if self.rate.is_some() && self.length.0 == 0 {
            return Err(PatternError::new("length", self.length, "at least 1 B"));
        }
        if self.shape == Shape::Outside && self.rate.is_none() {
            return Err(PatternError::new("rate", "none", "how often each rank sends: rate=100"));
        }
        let mut rng = Generator::new(self.seed);
        let mut flows = self.flows(&mut rng)?;
        if self.renumber {
            let mut numbers: Vec<u32> = (0..self.ranks).collect();
            rng.shuffle(&mut numbers);
            for flow in &mut flows {
                flow.source = Rank(numbers[flow.source.index()]);
                if let Some(number) = numbers.get(flow.destination.index()) {
                    flow.destination = Rank(*number);
                }
            }
        }
        let name = format!("{}-{}", self.shape.name(), self.ranks);
        let job = match self.rate {
            Some(rate) => Job::from_sources(name, self.ranks, self.sources(flows, rate)),
            None => Job::new(name, self.ranks, flows),
        };
        job.map_err(|error| PatternError::new("pattern", error, "a job"))
    }

    /// Upper bound of the number of pairs.
    pub(in crate::traffic) fn most_pairs(&self) -> u64 {
        let ranks = u64::from(self.ranks);
        match self.shape {
            Shape::AllToAll => ranks * ranks,
            Shape::Random => ranks * u64::from(self.degree.min(self.ranks)),
            Shape::Halo3d => ranks * 26,
            _ => ranks * 8,
        }
    }

    /// One clock per sending rank.
    fn sources(&self, mut flows: Vec<Flow>, rate: PerSecond) -> Vec<Source> {
        flows.sort_by_key(|flow| flow.source);
        let source = |flows: &[Flow]| {
            let send =
                |flow: &Flow| Send { destination: flow.destination, length: Bytes(flow.largest) };
            let sends = flows.iter().map(send).collect();
            let (rank, cv, rounds) = (flows[0].source, self.cv, self.messages);
            Source { rank, rate, cv, in_step: self.in_step.then_some(0), rounds, sends }
        };
        flows.chunk_by(|a, b| a.source == b.source).map(source).collect()
    }

    fn flows(&self, rng: &mut Generator) -> Result<Vec<Flow>, PatternError> {
        let n = self.ranks;
        let all = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
            pairs.map(|(source, destination)| self.flow(source, destination, 1)).collect()
        };
        Ok(match self.shape {
            Shape::Ring if n > 1 => all(&mut (0..n).map(|rank| (rank, (rank + 1) % n))),
            Shape::Ring => Vec::new(),
            Shape::Linear => all(&mut (1..n).map(|rank| (rank - 1, rank))),
            Shape::Bcast => all(&mut (1..n).map(|rank| (0, rank))),
            Shape::Gather => all(&mut (1..n).map(|rank| (rank, 0))),
            Shape::AllToAll => {
                let to_others = |a: u32| (0..n).filter(move |b| *b != a).map(move |b| (a, b));
                all(&mut (0..n).flat_map(to_others))
            }
            Shape::Random => self.random_flows(rng),
            Shape::Halo2d | Shape::Halo3d => self.halo_flows()?,
            Shape::Outside => all(&mut (0..n).map(|rank| (rank, OUTSIDE.0))),
        })
    }

    fn flow(&self, source: u32, destination: u32, divisor: u64) -> Flow {
        let length = self.length.0 / divisor;
        Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages: self.messages,
            bytes: length * self.messages,
            largest: length,
        }
    }

    /// Floyd's sampling: one draw per destination, independent of the number of ranks.
    fn random_flows(&self, rng: &mut Generator) -> Vec<Flow> {
        let others = self.ranks - 1;
        let mut flows = Vec::new();
        for source in 0..self.ranks {
            let mut drawn = BTreeSet::new();
            for last in others - self.degree.min(others)..others {
                let other = rng.below(last as usize + 1) as u32;
                if !drawn.insert(other) {
                    drawn.insert(last);
                }
            }
            // `other` skips the source.
            let destination = |other: u32| other + u32::from(other >= source);
            flows.extend(drawn.into_iter().map(|other| self.flow(source, destination(other), 1)));
        }
        flows
    }

    fn halo_flows(&self) -> Result<Vec<Flow>, PatternError> {
        let dimensions = if self.shape == Shape::Halo2d { 2 } else { 3 };
        let corners = match (dimensions, self.points) {
            (2, None | Some(4 | 5)) | (3, None | Some(7)) => false,
            (2, Some(9)) | (3, Some(27)) => true,
            (2, Some(points)) => return Err(PatternError::new("points", points, "4, 5 or 9")),
            (_, Some(points)) => return Err(PatternError::new("points", points, "7 or 27")),
            (_, None) => false,
        };
        let grid = self.grid.clone().unwrap_or_else(|| most_even_grid(self.ranks, dimensions));
        let places = grid.iter().fold(1, |places: u64, axis| places.saturating_mul((*axis).into()));
        if grid.len() != dimensions || places != u64::from(self.ranks) {
            let found = grid.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let expected = format!("{dimensions} axes whose product is {} ranks", self.ranks);
            return Err(PatternError::new("grid", found, expected));
        }
        let mut flows = Vec::new();
        for source in 0..self.ranks {
            for offset in offsets(dimensions, corners) {
                let Some(destination) = self.neighbour(source, &grid, &offset) else { continue };
                let axes = offset.iter().filter(|step| **step != 0).count();
                let divisor = if axes == 1 { 1 } else { 16 };
                flows.push(self.flow(source, destination, divisor));
            }
        }
        Ok(flows)
    }

    /// The rank at `offset` from `source` on the grid; the last axis varies fastest.
    fn neighbour(&self, source: u32, grid: &[u32], offset: &[i64]) -> Option<u32> {
        let mut rest = source;
        let mut place = vec![0_i64; grid.len()];
        for (axis, size) in grid.iter().enumerate().rev() {
            place[axis] = i64::from(rest % size) + offset[axis];
            rest /= size;
        }
        let mut rank = 0_i64;
        for (place, size) in place.iter().zip(grid.iter().map(|size| i64::from(*size))) {
            if !self.periodic && !(0..size).contains(place) {
                return None;
            }
            rank = rank * size + place.rem_euclid(size);
        }
        let rank = u32::try_from(rank).ok()?;
        (rank != source).then_some(rank)
    }
}

fn number<N: std::str::FromStr>(field: &str, text: &str) -> Result<N, PatternError> {
    let text = text.trim();
    let wrong = |_| {
        let too_large = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let expected = match too_large {
            true => format!("at most {}", u64::MAX >> (64 - 8 * size_of::<N>())),
            false => "a number".to_owned(),
        };
        PatternError::new(field, format!("`{text}`"), expected)
    };
    text.parse().map_err(wrong)
}

fn flag(field: &str, text: &str) -> Result<bool, PatternError> {
    match text {
        "" | "true" | "yes" => Ok(true),
        "false" | "no" => Ok(false),
        _ => Err(PatternError::new(field, format!("`{text}`"), "true or false")),
    }
}

/// Offsets to the neighbours of a grid point; without `corners` only those along one axis.
fn offsets(dimensions: usize, corners: bool) -> Vec<Vec<i64>> {
    let count = 3_usize.pow(dimensions as u32);
    let offset = |number: usize| {
        (0..dimensions).map(move |axis| (number / 3_usize.pow(axis as u32) % 3) as i64 - 1)
    };
    let steps = |number: usize| offset(number).filter(|step| *step != 0).count();
    (0..count)
        .filter(|number| steps(*number) == 1 || (corners && steps(*number) > 1))
        .map(|number| offset(number).collect())
        .collect()
}

/// Splits `ranks` into `dimensions` factors with the least surface between neighbours.
fn most_even_grid(ranks: u32, dimensions: usize) -> Vec<u32> {
    let divisors: Vec<u32> = (1..=ranks.isqrt())
        .filter(|divisor| ranks.is_multiple_of(*divisor))
        .flat_map(|divisor| [divisor, ranks / divisor])
        .collect();
    let candidates: Vec<Vec<u32>> = if dimensions == 2 {
        divisors.iter().map(|a| vec![ranks / a, *a]).collect()
    } else {
        let pairs = divisors.iter().flat_map(|a| divisors.iter().map(move |b| (*a, *b)));
        pairs
            .filter(|(a, b)| ranks.is_multiple_of(*a) && (ranks / a).is_multiple_of(*b))
            .map(|(a, b)| vec![ranks / a / b, a, b])
            .collect()
    };
    // Longest axis first; the grid with the shortest longest axis is the most even.
    let descending = |grid: &&Vec<u32>| grid.is_sorted_by(|a, b| a >= b);
    let best = candidates.iter().filter(descending).min();
    best.cloned().unwrap_or_else(|| vec![ranks])
}

#[cfg(test)]
mod tests;
