//! Rank orders of CrayPat and `grid_order` (`MPICH_RANK_ORDER`, `MPICH_RANK_ORDER.Grid`): lists of
//! ranks in the order in which they fill the nodes, with comments.
//!
//! A rank order contains placement, not traffic. But if it was made for a grid, a comment holds the
//! command, and with it the assumed communication pattern: neighbours on the grid exchange data.
//! This pattern is imported. Amounts are unknown: every pair gets one message of one byte.

use std::path::{Path, PathBuf};

use super::{MOST_RANKS, Sources};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::profile::{Profile, Run};
use crate::traffic::{Flow, Job};

const EXPECTED: &str =
    "a rank order with the comment of the command that made it: # grid_order -R -g 8,8 -c 4,4";
const NO_PAIRS: &str = "a rank order says where ranks run, not who sends to whom: profile the \
                        program, or name the grid by `traffic generate halo-2d --grid`";

/// Whether a text looks like a rank order: only comments and lists of ranks, and either a comment
/// that mentions rank orders or every rank exactly once.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let speaks = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.contains("grid_order") || line.contains("rank order") || line.contains("rank_order")
    };
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | ' ' | '\t');
    if lists(text).next().is_none() || !lists(text).all(|(_, list)| list.chars().all(allowed)) {
        return false;
    }
    if text.lines().any(|line| line.trim_start().starts_with('#') && speaks(line)) {
        return true;
    }
    // Without a comment, a square of numbers is taken as a matrix.
    let lines = lists(text).count();
    let square = lists(text).all(|(_, list)| list.split(',').count() == lines);
    !square && text.contains(',') && ranks(text, "").is_ok_and(|ranks| ranks.len() > 1)
}

/// The file: a rank order is a single file.
///
/// # Errors
/// Never.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    Ok(path.is_file().then(|| path.to_owned()).into_iter().collect())
}

/// Reads the pattern for which a rank order was made.
///
/// # Errors
/// If it names no grid or a grid of another size, or does not have every rank once.
pub fn read(sources: &mut Sources<'_>) -> Result<Profile, InputError> {
    let source =
        sources.next().unwrap_or_else(|| Err(InputError::new("-", "no file", EXPECTED)))?;
    let file = &source.file;
    let ranks = ranks(&source.text, file)?;
    let grid = grid(&source.text, file)?;
    let wrong = |found: String| InputError::new(file, found, EXPECTED).with_advice(NO_PAIRS);
    let Some(grid) = grid else {
        return Err(wrong(format!("an order of {} ranks and no grid", ranks.len())));
    };
    if grid.size() != Some(ranks.len() as u64) {
        return Err(wrong(format!("an order of {} ranks and a grid of {grid}", ranks.len())));
    }
    let job = Job::new(super::job_name(file), Rank::from_index(ranks.len()).0, grid.flows())
        .map_err(|error| InputError::new(file, error, EXPECTED))?;
    let origin = format!(
        "supposed by the grid of {grid} of a CrayPat rank order, one byte between neighbours"
    );
    let profile = Profile::of_job(&job, "");
    Ok(Profile { run: Run { origin, ..profile.run.clone() }, ..profile })
}

/// The lines with ranks, with line numbers from 1.
fn lists(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The ranks in file order; numbers and ranges separated by commas.
fn ranks(text: &str, file: &str) -> Result<Vec<u32>, InputError> {
    const RANKS: &str = "ranks and ranges like 0,1,8-11";
    let mut order: Vec<u32> = Vec::new();
    for (number, line) in lists(text) {
        let wrong = |found: String| InputError::new(file, found, RANKS).at_line(number);
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bounds = first.trim().parse().ok().zip(last.trim().parse().ok());
            let (first, last): (u32, u32) = bounds
                .filter(|(first, last)| first <= last && *last < MOST_RANKS)
                .ok_or_else(|| wrong(format!("`{part}`")))?;
            order.extend(first..=last);
            if order.len() > MOST_RANKS as usize {
                return Err(wrong(format!("{} ranks", order.len())));
            }
        }
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let expected = "every rank from 0 exactly once";
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(InputError::new(file, format!("rank {} twice", twice[0]), expected));
    }
    let gap = (0..).zip(&sorted).find(|(index, rank)| index != *rank);
    match gap {
        Some((missing, _)) => Err(InputError::new(file, format!("no rank {missing}"), expected)),
        None => Ok(order),
    }
}

/// A grid of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grid {
    /// Ranks along each dimension; the last varies fastest.
    extents: Vec<u64>,
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let extents: Vec<String> = self.extents.iter().map(u64::to_string).collect();
        f.write_str(&extents.join(" x "))
    }
}

/// The grid given by the commands in the comments, which must agree.
fn grid(text: &str, file: &str) -> Result<Option<Grid>, InputError> {
    let mut previous: Option<Grid> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start().strip_prefix('#');
        let command = comment.and_then(|line| line.split_once("grid_order ")).map(|(_, rest)| rest);
        let Some(command) = command.filter(|command| command.contains("-g ")) else { continue };
        let grid = Grid::parse(command).map_err(|found| {
            let expected = "grid_order with -R or -C, -g, -c, -P, -Z, -H, -N";
            InputError::new(file, found, expected).at_line(number).with_advice(NO_PAIRS)
        })?;
        if let Some(other) = previous.filter(|previous| *previous != grid) {
            let found = format!("a second grid, {grid}");
            let error = InputError::new(file, found, format!("{other}, as before"));
            return Err(error.at_line(number));
        }
        previous = Some(grid);
    }
    Ok(previous)
}

impl Grid {
    /// Parses the options of `grid_order`. The error says what was found.
    fn parse(options: &str) -> Result<Self, String> {
        let mut words = options.split_whitespace();
        let mut extents = None;
        let mut column_major = None;
        while let Some(option) = words.next() {
            match option {
                "-R" => column_major = Some(false),
                "-C" => column_major = Some(true),
                "-P" | "-Z" | "-H" | "-q" => {}
                "-c" | "-N" | "-n" => {
                    words.next();
                }
                "-g" => {
                    let list = words.next().unwrap_or_default();
                    let numbers = list.split(',').map(|extent| extent.parse().ok());
                    let numbers: Option<Vec<u64>> = numbers.collect();
                    let numbers = numbers.filter(|numbers| !numbers.contains(&0));
                    extents = Some(numbers.ok_or_else(|| format!("-g `{list}`"))?);
                }
                // Other options change the set of ranks or their numbering.
                other => return Err(format!("grid_order with `{other}`")),
            }
        }
        let mut extents = extents.ok_or_else(|| "no -g".to_owned())?;
        if column_major.ok_or_else(|| "neither -R nor -C".to_owned())? {
            extents.reverse();
        }
        Ok(Self { extents })
    }

    fn size(&self) -> Option<u64> {
        self.extents.iter().try_fold(1_u64, |size, extent| size.checked_mul(*extent))
    }

    /// One message from every rank to each of its neighbours.
    fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        let ranks = self.size().unwrap_or_default();
        let mut stride = ranks;
        for extent in &self.extents {
            stride /= extent;
            for rank in (0..ranks).filter(|rank| rank / stride % extent + 1 < *extent) {
                // All ranks occur in the order, so they are below MOST_RANKS.
                let (here, next) = (Rank(rank as u32), Rank((rank + stride) as u32));
                for (source, destination) in [(here, next), (next, here)] {
                    flows.push(Flow { source, destination, messages: 1, bytes: 1, largest: 1 });
                }
            }
        }
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::read::import::Source;

    fn import(text: &str) -> Result<Profile, InputError> {
        let source = Source { file: "MPICH_RANK_ORDER.Grid".to_owned(), text: text.to_owned() };
        read(&mut std::iter::once(Ok(source)))
    }

    fn pairs(profile: &Profile) -> Vec<(u32, u32)> {
        let pair = |flow: Flow| (flow.source.0, flow.destination.0);
        profile.flows.iter().map(|record| pair(record.flow)).collect()
    }

    #[test]
    fn neighbours_on_the_grid_exchange_data() {
        let text = "# grid_order -R -Z -c 1,2 -g 2,3\n# Region 0: 0,0 (0..5)\n0,1,3,4\n2,5\n";
        assert!(sniff(text));
        let profile = import(text).unwrap();
        let rows = [(0, 1), (0, 3), (1, 0), (1, 2), (1, 4), (2, 1), (2, 5)];
        assert_eq!(pairs(&profile)[..7], rows);
        assert_eq!(profile.flows.len(), 2 * (3 + 4));
        assert_eq!(profile.run.program, "MPICH_RANK_ORDER");
        assert!(profile.run.origin.contains("the grid of 2 x 3"), "{}", profile.run.origin);
        // The first coordinate runs fastest.
        let columns = import(&text.replace("-R", "-C")).unwrap();
        assert_eq!(pairs(&columns)[..3], [(0, 1), (0, 2), (1, 0)]);
        let three = import("# grid_order -C -c 2,2,2 -g 2,2,2 -N 8\n0-7\n").unwrap();
        assert_eq!(three.flows.len(), 24);
    }

    #[test]
    fn an_order_is_known_by_its_content() {
        assert!(sniff("0,4,1,5\n2,6,3,7\n"));
        assert!(sniff("0-3,8-11,4-7"));
        assert!(sniff("# The 'USER_Time' rank order in this file targets nodes ...\n0,1\n2,3\n"));
        for text in
            ["0,1\n1,0\n", "0 1 2\n", "", "# rank order\n", "0,1,2,9\n", "2 1\n2\n1\n", "a,1"]
        {
            assert!(!sniff(text), "{text}");
        }
    }

    #[test]
    fn an_order_without_a_pattern_is_refused_with_advice() {
        let grid = "# grid_order -R -c 2,2 -g 2,2\n";
        let cases = [
            ("0,4,1,5\n2,6,3,7\n".to_owned(), "found an order of 8 ranks and no grid"),
            (format!("{grid}0-7"), "found an order of 8 ranks and a grid of 2 x 2"),
            (format!("{grid}0,1,1,2"), "found rank 1 twice"),
            (format!("{grid}0,1,3"), "found no rank 2"),
            (format!("{grid}0,1,x"), "Grid:2: found `x`, expected ranks"),
            (format!("{grid}3-0"), "Grid:2: found `3-0`"),
            (
                format!("{grid}{}0-3", grid.replace("2,2\n", "4\n")),
                "Grid:2: found a second grid, 4",
            ),
            (format!("{}0-3", grid.replace("-R", "-T -R")), "Grid:1: found grid_order with `-T`"),
            (format!("{}0-3", grid.replace("-R ", "")), "Grid:1: found neither -R nor -C"),
            (format!("{}0-3", grid.replace("2,2\n", "2,0\n")), "Grid:1: found -g `2,0`"),
            (format!("{grid}0-4000000000"), "Grid:2: found `0-4000000000`"),
        ];
        for (text, message) in cases {
            let error = import(&text).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
