//! The papers, by the name that the command line gives them.

use std::str::FromStr;

use anyhow::bail;

use crate::{
    Assumption, Case, Results, Row, contention, device_affinity, mixed_workloads, process_placement,
};

/// A paper that can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// Mercier, Clet-Ortega 2009.
    ProcessPlacement2009,
    /// Koop, Luo, Panda 2009.
    MixedWorkloads2009,
    /// Soryani, Analoui, Zarrinchian 2012.
    Contention2012,
    /// Soryani, Analoui, Zarrinchian 2013.
    Contention2013,
    /// Ganapathi, Gopalakrishnan, McGuire 2017.
    DeviceAffinity2017,
}

impl Paper {
    /// All papers, the oldest first.
    pub const ALL: [Self; 5] = [
        Self::ProcessPlacement2009,
        Self::MixedWorkloads2009,
        Self::Contention2012,
        Self::Contention2013,
        Self::DeviceAffinity2017,
    ];

    /// The name on the command line, which is also its folder in `papers/`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ProcessPlacement2009 => "2009-placement",
            Self::MixedWorkloads2009 => "2009-mixed",
            Self::Contention2012 => "2012",
            Self::Contention2013 => "2013",
            Self::DeviceAffinity2017 => "2017",
        }
    }

    /// Its authors and title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ProcessPlacement2009 => {
                "Mercier, Clet-Ortega: Towards an efficient process placement policy for MPI \
                 applications in multicore environments"
            }
            Self::MixedWorkloads2009 => {
                "Koop, Luo, Panda: Reducing network contention with mixed workloads on modern multicore \
                 clusters"
            }
            Self::Contention2012 => {
                "Soryani, Analoui, Zarrinchian: A novel process mapping strategy in clustered \
                 environments"
            }
            Self::Contention2013 => {
                "Soryani, Analoui, Zarrinchian: Improving inter-node communications in multi-core \
                 clusters using a contention-free process mapping algorithm"
            }
            Self::DeviceAffinity2017 => {
                "Ganapathi, Gopalakrishnan, McGuire: MPI process and network device affinitization \
                 for optimal HPC application performance"
            }
        }
    }

    /// The cases to [`simulate`](crate::simulate) for [`Paper::rows`]. Empty for papers that need
    /// no simulation, or only short ones, which run in `rows`.
    #[must_use]
    pub fn cases(self) -> Vec<Case> {
        match self {
            Self::ProcessPlacement2009 | Self::MixedWorkloads2009 | Self::DeviceAffinity2017 => {
                Vec::new()
            }
            Self::Contention2012 => contention::cases_2012(),
            Self::Contention2013 => contention::cases_2013(),
        }
    }

    /// The numbers and statements of the paper with ours, in the order of the paper, then numbers
    /// that it does not print. A row whose simulations are missing from `results` is left out.
    ///
    /// # Errors
    /// If a CSV file of the paper is malformed, or if this build lacks one of its strategies.
    pub fn rows(self, results: &Results) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::ProcessPlacement2009 => process_placement::rows(),
            Self::MixedWorkloads2009 => mixed_workloads::rows(),
            Self::Contention2012 => contention::rows_2012(results),
            Self::Contention2013 => contention::rows_2013(results),
            Self::DeviceAffinity2017 => device_affinity::rows(),
        }
    }

    /// The numbers that the paper does not print and that had to be chosen, if rows depend on them.
    ///
    /// # Errors
    /// If the built-in cluster of the paper does not exist.
    pub fn assumptions(self) -> anyhow::Result<Vec<Assumption>> {
        match self {
            Self::MixedWorkloads2009 => mixed_workloads::assumptions(),
            Self::DeviceAffinity2017 => device_affinity::assumptions(),
            _ => Ok(Vec::new()),
        }
    }

    /// The effect of [`Paper::assumptions`] on the rows, as a sentence; empty without assumptions.
    #[must_use]
    pub fn caveat(self) -> &'static str {
        match self {
            Self::MixedWorkloads2009 => mixed_workloads::CAVEAT,
            Self::DeviceAffinity2017 => device_affinity::CAVEAT,
            _ => "",
        }
    }

    /// The names and texts of files with figures of the paper: ours as SVG, or numbers as CSV from which
    /// they can be drawn.
    ///
    /// # Errors
    /// If the built-in cluster of the paper does not exist.
    pub fn figures(self) -> anyhow::Result<Vec<(String, String)>> {
        match self {
            Self::Contention2013 => {
                Ok(vec![("figure-7.csv".to_owned(), contention::FIGURE_7.text.to_owned())])
            }
            Self::MixedWorkloads2009 => mixed_workloads::figures(),
            _ => Ok(Vec::new()),
        }
    }
}

impl FromStr for Paper {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|paper| paper.name() == name) {
            Some(paper) => Ok(paper),
            None => {
                let names = Self::ALL.map(Self::name).join(", ");
                bail!("found `{name}`, expected a paper: {names}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_found_by_name() {
        for paper in Paper::ALL {
            assert_eq!(paper.name().parse::<Paper>().unwrap(), paper);
        }
        assert_eq!(
            "2014".parse::<Paper>().unwrap_err().to_string(),
            "found `2014`, expected a paper: 2009-placement, 2009-mixed, 2012, 2013, 2017"
        );
    }
}
