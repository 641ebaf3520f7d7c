//! `rankwright traffic messages`.

use std::path::PathBuf;

use clap::Args;
use rankwright::ids::Rank;
use rankwright::traffic::read::events::sent::{SentMessage, SentMessages};
use rankwright::traffic::read::events::store::Recording;

use crate::options::{Format, ResultOptions, parse_count};
use crate::output::exit_code::UsageError;
use crate::output::{csv, table};

/// Options of `rankwright traffic messages`.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// A profile with events (`rankwright profile --events`)
    profile: PathBuf,
    /// Rank whose messages to list
    #[arg(
        long,
        value_name = "RANK",
        default_value_t = 0,
        value_parser = parse_count::<u32>,
        allow_negative_numbers = true,
    )]
    rank: u32,
    /// Number of messages to list, from the first [default: all]
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count::<usize>,
        allow_negative_numbers = true,
    )]
    first: Option<usize>,
    #[command(flatten)]
    result: ResultOptions,
}

impl Messages {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let recording = Recording::open(&self.profile)?;
        if self.rank >= recording.ranks() {
            let last = recording.ranks().saturating_sub(1);
            let error = format!("--rank {}: the profile has ranks 0 to {last}", self.rank);
            return Err(UsageError(error).into());
        }
        let messages = SentMessages::new(&recording, Rank(self.rank))?;
        let messages: Vec<SentMessage> =
            messages.take(self.first.unwrap_or(usize::MAX)).collect::<Result<_, _>>()?;
        let header = ["message", "time_s", "destination", "bytes"];
        let row = |(number, message): (usize, &SentMessage)| {
            let SentMessage { time, destination, bytes } = message;
            [
                number.to_string(),
                format!("{:.9}", time.0),
                destination.to_string(),
                bytes.to_string(),
            ]
            .to_vec()
        };
        let rows: Vec<Vec<String>> = messages.iter().enumerate().map(row).collect();
        self.result.write(&match self.result.format {
            Format::Table => table(&header, &rows),
            Format::Csv => csv(&header, &rows),
            Format::Json => serde_json::to_string_pretty(&messages)? + "\n",
        })
    }
}
