//! The workloads that the papers simulate.

use crate::simulation::{Case, cases, searches};

/// The synthetic workloads of 2013, Tables 3 to 5.
pub(super) const SYNTHETIC_2013: [&str; 10] = [
    "paper:2013/all-to-all",
    "paper:2013/bcast",
    "paper:2013/gather",
    "paper:2013/linear",
    "paper:2013/mixed-1",
    "paper:2013/mixed-2",
    "paper:2013/mixed-3",
    "paper:2013/mixed-4",
    "paper:2013/mixed-5",
    "paper:2013/mixed-6",
];
/// The real workloads of 2013, Table 6.
pub(super) const REAL_2013: [&str; 5] =
    ["paper:2013/hw-1", "paper:2013/hw-2", "paper:2013/mw", "paper:2013/lw-1", "paper:2013/lw-2"];
/// The synthetic workloads of 2012.
pub(super) const SYNTHETIC_2012: [&str; 4] =
    ["paper:2012/synt-1", "paper:2012/synt-2", "paper:2012/synt-3", "paper:2012/synt-4"];
/// The real workloads of 2012.
pub(super) const REAL_2012: [&str; 4] =
    ["paper:2012/real-1", "paper:2012/real-2", "paper:2012/real-3", "paper:2012/real-4"];
/// The synthetic workloads of 2013 with jobs of several patterns, Tables 4 and 5.
pub(super) fn mixed_2013() -> [&'static str; 6] {
    std::array::from_fn(|number| SYNTHETIC_2013[4 + number])
}

/// The factors on the rates of real workloads, which are not printed.
pub(super) const RATES: [f64; 4] = [1.0, 0.5, 2.0, 4.0];

/// The cases of 2013.
pub(crate) fn cases_2013() -> Vec<Case> {
    [cases(&SYNTHETIC_2013, &[1.0]), cases(&REAL_2013, &RATES), searches(&mixed_2013())].concat()
}

/// The cases of 2012.
pub(crate) fn cases_2012() -> Vec<Case> {
    [cases(&SYNTHETIC_2012, &[1.0]), cases(&REAL_2012, &RATES)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright::traffic::generate::built_in;

    #[test]
    fn the_workloads_of_all_cases_exist() {
        for case in [cases_2012(), cases_2013()].concat() {
            assert!(built_in::find(case.workload).is_some(), "{}", case.workload);
        }
    }
}
