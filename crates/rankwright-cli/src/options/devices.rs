//! Options about network devices and GPUs: which of them ranks get, and which network stack is told.

use clap::{Args, ValueEnum};
use rankwright::rails::fabric::{STACKS, Stack};
use rankwright::rails::{SELECTIONS, Selection};

use super::table_row::TableRow;

/// Which network devices and GPUs ranks get.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionOptions {
    /// Choose the network devices of all ranks too: by-load, device-affinity, paper-2017, round-robin,
    /// packed, round-robin-all, psm2-default or none
    #[arg(long, value_name = "SELECTION", default_value_t = Selection::NONE)]
    pub(crate) nics: Selection,
    /// Which GPUs ranks get, where the cluster names some [default: near; of `run` only with --nics]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) gpus: Option<Gpus>,
}

/// Which GPUs ranks get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gpus {
    /// Those near their network devices and cores, each rank its share
    Near,
    /// Left to the program
    None,
}

/// The selections for help texts: one line each.
pub(crate) fn selection_help() -> String {
    let line = |entry: &rankwright::rails::SelectionEntry| {
        let options: Vec<String> = entry.options.iter().map(|name| format!("{name}=..")).collect();
        let options = match options.is_empty() {
            true => String::new(),
            false => format!(" [{}]", options.join(",")),
        };
        format!("  {:<16}{}{options}\n", entry.name, entry.summary)
    };
    let lines: String = SELECTIONS.iter().map(line).collect();
    format!(
        "Selections of network devices; all take devices=NAME+NAME, the only ones that may be used:\n\
         {lines}"
    )
}

/// Which network stack is told the devices of the ranks.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct FabricOptions {
    /// The network stack that is told the devices of the placement, by variables for each rank
    /// [default: none, or the one that the devices and the MPI library tell for sure]
    #[arg(long, value_name = "STACK", value_parser = TableRow::new(STACKS, |stack| (stack.name, stack.summary)))]
    pub(crate) fabric: Option<&'static Stack>,
}
