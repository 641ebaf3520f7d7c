//! `-rankmap` of MPICH: the line of the hostfile of every rank, from 0.

use crate::files::InputError;
use crate::lint::{MOST_RANKS, Source};

const EXPECTED: &str =
    "-rankmap with lines of the hostfile (1,0,0,1) or (vector,(LINE,LINES,RANKS),..)";

/// The line of each of `ranks` ranks; fewer if the map has fewer.
pub(in crate::lint) fn read(
    source: &Source<'_>,
    map: &str,
    ranks: usize,
) -> Result<Vec<usize>, InputError> {
    let wrong = || source.wrong_argument(&format!("-rankmap {map}"), EXPECTED);
    if let Some(vector) = map.trim().strip_prefix("(vector,") {
        let vector = vector.strip_suffix(')').ok_or_else(wrong)?;
        return blocks(vector, ranks).ok_or_else(wrong);
    }
    let line = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    map.split(',').take(ranks).map(line).collect()
}

/// `(LINE,LINES,RANKS),..`: RANKS ranks on each of LINES lines from LINE on; the whole is repeated.
fn blocks(text: &str, ranks: usize) -> Option<Vec<usize>> {
    let mut lines = Vec::new();
    for block in text.split(')').map(|block| block.trim_start_matches(',').trim()) {
        if block.is_empty() {
            continue;
        }
        let numbers: Result<Vec<usize>, _> =
            block.strip_prefix('(')?.split(',').map(|number| number.trim().parse()).collect();
        let [first, count, each] = numbers.ok()?[..] else { return None };
        if first > MOST_RANKS || count.saturating_mul(each) > MOST_RANKS {
            return None;
        }
        lines.extend((first..first + count).flat_map(|line| std::iter::repeat_n(line, each)));
        if lines.len() >= ranks {
            break;
        }
    }
    (!lines.is_empty()).then(|| lines.into_iter().cycle().take(ranks).collect())
}
