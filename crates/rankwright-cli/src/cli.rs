//! The command line as a whole: commands, their groups in the help, and the options that all share.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::output::Verbosity;

/// Places MPI processes on cores, memories and network devices so that they wait as little as
/// possible for each other.
#[derive(Debug, Parser)]
#[command(name = "rankwright", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    /// Without a command: what to do next here.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The error of a command line that clap refuses. Missing arguments are explained. Where `--` starts the
/// user's program, the advice is about that, not clap's, to pass an unknown option behind `--`. A file in the place
/// of a command leads to the command that shows it.
pub(crate) fn explained(mut error: clap::Error) -> clap::Error {
    if let Some(text) = missing_arguments(&error) {
        return clap::Error::raw(error.kind(), text);
    }
    if let Some(advice) = command_for_file(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return error };
    let takes_program =
        |usage: &ContextValue| ["-- <", "[-- "].iter().any(|mark| usage.to_string().contains(mark));
    if error.kind() != ErrorKind::UnknownArgument
        || !error.get(ContextKind::Usage).is_some_and(takes_program)
    {
        return error;
    }
    let advice = match word.starts_with('-') {
        false => format!("'--' goes before the program: '-- {word} ...'"),
        true => "options of the program follow it, behind '--'".to_owned(),
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

/// What is missing on a command line, each with its help.
fn missing_arguments(error: &clap::Error) -> Option<String> {
    let (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let usage = error.get(ContextKind::Usage)?.to_string();
    let (_, words) = usage.split_once("rankwright ")?;
    let mut whole = command();
    whole.build();
    let mut command = &whole;
    for word in words.split(' ') {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
    }
    // An argument that only some options make unnecessary is `[WORKLOAD]` for itself.
    let bare = |arg: &str| arg.trim_matches(['<', '>', '[', ']', '.']).to_owned();
    let explained = |wanted: &String| {
        let arg = command.get_arguments().find(|arg| bare(&arg.to_string()) == bare(wanted));
        let help = arg.and_then(|arg| arg.get_help()).map(|help| format!(": {help}"));
        format!("missing {wanted}{}\n", help.unwrap_or_default())
    };
    let list: Vec<String> = missing.iter().map(explained).collect();
    Some(format!("{}\n{usage}\n\nFor more information, try '--help'.\n", list.join("       ")))
}

/// What to type where a file stands in the place of a command.
fn command_for_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let is_input = Path::new(word).exists() || word.contains(['.', ':']);
    let usage = error.get(ContextKind::Usage)?.to_string();
    let group = ["traffic", "timeline", "cluster"]
        .into_iter()
        .find(|group| usage.contains(&format!("rankwright {group} ")));
    let command = match group {
        Some(group) => format!("{group} show"),
        None if usage.contains("rankwright [") => "place".to_owned(),
        None => return None,
    };
    is_input.then(|| format!("for that file: 'rankwright {command} {word}'"))
}

/// The groups of `rankwright --help`; a command in none of them is an error in a test.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Every day", &["profile", "place", "run", "check", "doctor"]),
    ("Look", &["report", "traffic", "timeline", "compare", "cluster"]),
    ("Plan", &["calibrate", "map", "nic", "simulate", "pair", "lint", "launch"]),
    ("Prove", &["lab", "reproduce"]),
    ("For programs", &["exec", "completion", "man"]),
];

/// The options that the help of long commands lists under a heading; all others come first.
const HEADINGS: [(&str, &[&str]); 7] = [
    (
        "Ranks",
        &[
            "share",
            "cores-per-rank",
            "per",
            "ranks-per-node",
            "ranks-per-package",
            "ranks-per-numa",
            "ranks-per-gpu",
            "own-nodes",
            "nics",
            "gpus",
        ],
    ),
    (
        "Search",
        &[
            "seed",
            "threads",
            "effort",
            "time",
            "objective",
            "moves",
            "balance",
            "keep-node-groups",
            "keep-best",
        ],
    ),
    (
        "Simulation",
        &["arrivals", "loop", "service", "eager-limit", "discipline", "top", "replications"],
    ),
    ("Several numbers of nodes (--nodes 4..16)", &["prefer", "memory-traffic"]),
    (
        "Launch",
        &[
            "for",
            "fabric",
            "launch-files",
            "launcher-args",
            "binding",
            "agent",
            "shim",
            "threads-per-core",
            "memory",
            "hostfile",
            "timeout",
        ],
    ),
    ("Comparison (--compare)", &["compare", "repeat", "warmup", "time-regex"]),
    ("Output", &["format", "output", "report"]),
];

/// The least number of arguments of a command whose help has headings.
const LONG: usize = 22;

/// The command line with its grouped help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(with_headings);
    let mut list = String::new();
    for (title, names) in GROUPS {
        list.push_str(&format!("{title}:\n"));
        for name in names {
            if let Some(subcommand) = command.find_subcommand(name) {
                let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
                list.push_str(&format!("  {name:<12}{about}\n"));
            }
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}\n\n\
         `rankwright help COMMAND` lists the options of a command.\n"
    );
    command.help_template(template)
}

/// A command whose options stand under headings if they are many.
fn with_headings(command: clap::Command) -> clap::Command {
    if command.get_arguments().count() < LONG {
        return command;
    }
    let heading = |arg: &clap::Arg| {
        let name = arg.get_long()?;
        HEADINGS.iter().find(|(_, names)| names.contains(&name)).map(|(heading, _)| *heading)
    };
    command.mut_args(|arg| match heading(&arg) {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn advice_for_unknown_words_knows_where_the_program_starts() {
        let said = |line: &str| {
            let words = std::iter::once("rankwright").chain(line.split(' '));
            explained(command().try_get_matches_from(words).unwrap_err()).to_string()
        };
        let forgotten = said("profile -o app.rwp mpirun -np 2 ./app");
        assert!(forgotten.contains("'--' goes before the program: '-- mpirun ...'"), "{forgotten}");
        let of_program = said("place app.rwp --on c.toml --iterations 20");
        assert!(
            of_program.contains("options of the program follow it, behind '--'"),
            "{of_program}"
        );
        for mistyped in ["place app.rwp --onn c.toml", "run x.json --forc -- ./app"] {
            let text = said(mistyped);
            assert!(text.contains("a similar argument exists"), "{text}");
            assert!(!text.contains("as a value"), "{text}");
        }
        let without_program = said("cluster check --onn c.toml");
        assert!(!without_program.contains("the program"), "{without_program}");
    }

    #[test]
    fn missing_arguments_are_explained() {
        let error = command().try_get_matches_from(["rankwright", "map"]).unwrap_err();
        let text = explained(error).to_string();
        let lines: Vec<&str> = text.lines().take(2).collect();
        assert!(lines[0].starts_with("error: missing --strategy <STRATEGY>: "), "{text}");
        assert!(lines[1].starts_with("       missing <WORKLOAD>: "), "{text}");
        assert!(
            text.contains("\n\nUsage: rankwright map --strategy <STRATEGY> <WORKLOAD>\n"),
            "{text}"
        );
    }

    #[test]
    fn each_option_with_a_heading_exists() {
        let command = command();
        let of = |subcommand: &clap::Command| -> Vec<String> {
            let longs = subcommand.get_arguments().filter_map(clap::Arg::get_long);
            longs.map(str::to_owned).collect()
        };
        let known: Vec<String> = command.get_subcommands().flat_map(of).collect();
        for name in HEADINGS.iter().flat_map(|(_, names)| *names) {
            assert!(known.iter().any(|known| known == name), "--{name}");
        }
        let place = command.find_subcommand("place").unwrap();
        let heading = |id| place.get_arguments().find(|arg| arg.get_id() == id)?.get_help_heading();
        assert_eq!(heading("output"), Some("Output"));
        assert_eq!(heading("program"), None);
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed = grouped.clone();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }
}
