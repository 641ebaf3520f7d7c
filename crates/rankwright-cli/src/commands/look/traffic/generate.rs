//! `rankwright traffic generate`.

use std::path::PathBuf;

use clap::Args;
use rankwright::files::write_atomically;
use rankwright::traffic::generate::pattern::{Pattern, SHAPES};
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::jobs_file;

use super::written::write_profile;
use crate::options::parse_count;
use crate::output::exit_code::UsageError;

/// Options of `rankwright traffic generate`.
#[derive(Debug, Args)]
#[command(after_help = shapes())]
pub(crate) struct Generate {
    /// Pattern (see below), or PATTERN:RANKS:OPTION=VALUE,...
    pattern: String,
    /// Number of ranks
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>, allow_negative_numbers = true)]
    ranks: Option<u32>,
    /// Points of the stencil of a halo: 4, 5 or 9 in 2D, 7 or 27 in 3D
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>, allow_negative_numbers = true)]
    points: Option<u32>,
    /// Ranks along each axis of the grid of a halo, like 8x4 [default: as even as possible]
    #[arg(long, value_name = "AxB")]
    grid: Option<String>,
    /// Wrap the grid of a halo around at its borders
    #[arg(long)]
    periodic: bool,
    /// Number of destinations per rank, for `random`
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>, allow_negative_numbers = true)]
    degree: Option<u32>,
    /// Bytes per message, like "64 KiB"
    #[arg(long, value_name = "BYTES")]
    length: Option<String>,
    /// Number of messages per pair of ranks
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    messages: Option<u64>,
    /// Messages per second of a rank to each of its destinations, like "100 /s"; needs a workload
    /// file as output
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Coefficient of variation of the gaps between messages: 0 regular, 1 Poisson
    #[arg(long, value_name = "NUMBER")]
    cv: Option<String>,
    /// Renumber the ranks at random
    #[arg(long)]
    renumber: bool,
    /// Seed of all random choices
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Profile (.rwp), workload file (.toml) or edge list (.csv) to write [default: edge list on
    /// standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn shapes() -> String {
    let lines = SHAPES.iter().map(|(name, _, summary)| format!("  {name:<12}{summary}\n"));
    format!("Patterns:\n{}", lines.collect::<String>())
}

impl Generate {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let usage = |error: rankwright::traffic::generate::pattern::PatternError| {
            UsageError(error.to_string())
        };
        let text = match self.ranks {
            Some(ranks) => format!("{}:{ranks}", self.pattern),
            None if self.pattern.contains(':') => self.pattern.clone(),
            None => {
                return Err(UsageError(
                    "the number of ranks is missing: give --ranks or PATTERN:RANKS".to_owned(),
                )
                .into());
            }
        };
        let mut pattern = Pattern::parse(&text).map_err(usage)?;
        let given = [
            ("points", self.points.map(|points| points.to_string())),
            ("grid", self.grid),
            ("periodic", self.periodic.then(|| "true".to_owned())),
            ("degree", self.degree.map(|degree| degree.to_string())),
            ("length", self.length),
            ("messages", self.messages.map(|messages| messages.to_string())),
            ("rate", self.rate),
            ("cv", self.cv),
            ("renumber", self.renumber.then(|| "true".to_owned())),
            ("seed", self.seed.map(|seed| seed.to_string())),
        ];
        for (key, value) in given {
            if let Some(value) = value {
                pattern.set(key, &value).map_err(usage)?;
            }
        }
        let job = pattern.job().map_err(usage)?;
        let workload_file =
            self.output.as_deref().filter(|path| path.extension() == Some("toml".as_ref()));
        if let Some(path) = workload_file {
            let text = jobs_file::write(std::slice::from_ref(&pattern));
            return Ok(write_atomically(path, text.as_bytes())?);
        }
        if pattern.rate.is_some() {
            let text = "a rate needs a workload file as output (-o NAME.toml)";
            return Err(UsageError(text.to_owned()).into());
        }
        write_profile(&Profile::of_job(&job, "generated"), self.output.as_deref())
    }
}
