//! The known reasons why rows of section 5 are not reproduced.

use super::limits;
use super::workloads::{REAL_2012, REAL_2013};
use crate::row::{Row, Verdict};
use crate::simulation::{Results, short_name};

const SAME_PLACEMENT: &str = "the printed rules give both mappings the same placement, so the gain \
                              cannot come out of the printed text in any simulator";
const OPEN_CHOICES: &str = "no combination of the choices that the text leaves open brings the gain; \
                            perhaps their simulator charges something that the text does not state";
const TRACES: &str = "the traces are not published: neither their rates nor which messages wait for \
                      which; our clocks have rates from run times of another cluster, and never wait";
const RANK_ORDER: &str = "no job of it has a threshold; ranks are taken in the order of their demand, \
                          which separates ranks of CG that rank order keeps together";
const SEEDS_DIFFER: &str = "both are parts of the few percent of Cyclic's waiting that are left, and \
                            differ from seed to seed";

/// The row with its reason; `workload` is named without its paper.
pub(super) fn explained(row: Row, workload: &str, results: &Results) -> Row {
    match row.verdict {
        Verdict::Reproduced | Verdict::Calibrated | Verdict::NotPrinted => row,
        Verdict::SameOrdering | Verdict::NotReproduced => {
            let why = reason(&row, workload, results);
            row.because(why)
        }
    }
}

/// The reason; empty if none is known.
fn reason(row: &Row, workload: &str, results: &Results) -> String {
    let mut real = REAL_2013.iter().chain(&REAL_2012);
    let Some(paper) = row.paper else {
        let light = ["lw-1", "lw-2", "real-4"].contains(&workload);
        let is_real = real.any(|name| short_name(name) == workload);
        return if light {
            RANK_ORDER
        } else if is_real {
            TRACES
        } else {
            ""
        }
        .to_owned();
    };
    if real.any(|name| short_name(name) == workload) {
        TRACES.to_owned()
    } else if workload == "mixed-6" || workload == "synt-4" {
        SEEDS_DIFFER.to_owned()
    } else if row.what.contains("less than mapping-2012") && row.ours == 0.0 {
        SAME_PLACEMENT.to_owned()
    } else if let Some(most) = largest_gain(workload, results).filter(|most| *most < paper) {
        format!("no placement can gain more than {most:.1} % in this model")
    } else if paper > row.ours + 5.0 {
        OPEN_CHOICES.to_owned()
    } else {
        String::new()
    }
}

/// The bound of a workload named without its paper.
fn largest_gain(workload: &str, results: &Results) -> Option<f64> {
    let result = results.0.iter().find(|result| short_name(result.workload) == workload)?;
    limits::largest_gain(results, result.workload).ok()?
}
