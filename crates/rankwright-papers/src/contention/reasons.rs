//! The known reasons why rows of section 5 are not reproduced.

use super::workloads::{REAL_2012, REAL_2013};
use crate::row::{Row, Verdict};
use crate::simulation::short_name;

const OPEN_CHOICES: &str = "in this reading both mappings place nearly alike, and none of the \
                            choices that the text leaves open brings the gain; perhaps their \
                            simulator charges something that the text does not state";
const TRACES: &str = "the traces are not published: neither their rates nor which messages wait for \
                      which; our clocks have rates from run times of another cluster, and never wait";
const SEEDS_DIFFER: &str = "both are parts of the few percent of Cyclic's waiting that are left, and \
                            differ from seed to seed";

/// The row with its reason.
pub(super) fn explained(row: Row, workload: &str) -> Row {
    match row.verdict {
        Verdict::Reproduced | Verdict::NotPrinted => row,
        Verdict::SameOrdering | Verdict::NotReproduced => {
            let why = reason(workload, &row);
            row.because(why)
        }
    }
}

/// The reason; empty if none is known.
fn reason(workload: &str, row: &Row) -> &'static str {
    let mut real = REAL_2013.iter().chain(&REAL_2012);
    if real.any(|name| short_name(name) == workload) {
        TRACES
    } else if workload == "mixed-6" || workload == "synt-4" {
        SEEDS_DIFFER
    } else if row.paper.is_some_and(|paper| paper > row.ours + 5.0) {
        OPEN_CHOICES
    } else {
        ""
    }
}
