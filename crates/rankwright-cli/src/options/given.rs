//! Errors for options that have no effect in combination with others. Options that exclude each
//! other whatever their values are declared with clap (`conflicts_with`, `requires`).

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Id};

use crate::output::exit_code::UsageError;

/// The options on the command line with their values. It must be the first field of a command,
/// because later fields take their values out of the parsed arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given(Vec<(Id, Vec<OsString>)>);

impl Given {
    /// The first option of a group that was given a value other than its default, as users write
    /// it.
    pub(crate) fn first_of<Group: Args>(&self) -> Option<String> {
        let group = Group::augment_args(Command::new("group"));
        group.get_arguments().filter(|option| self.has(option)).find_map(shown)
    }

    /// The option of a group with this identifier, if it was given a value other than its default.
    pub(crate) fn option_of<Group: Args>(&self, id: &str) -> Option<String> {
        let group = Group::augment_args(Command::new("group"));
        let option = group.get_arguments().find(|option| option.get_id() == id)?;
        self.has(option).then(|| shown(option)).flatten()
    }

    /// The options of a group that were given, as words of a command line, those without a name first.
    pub(crate) fn words_of<Group: Args>(&self) -> Vec<String> {
        let group = Group::augment_args(Command::new("group"));
        let mut options: Vec<&Arg> = group.get_arguments().collect();
        options.sort_by_key(|option| !option.is_positional());
        options.into_iter().flat_map(|option| self.words(option)).collect()
    }

    fn words(&self, option: &Arg) -> Vec<String> {
        let values = self.0.iter().filter(|(id, _)| id == option.get_id());
        let values = values.flat_map(|(_, values)| values);
        let mut values = values.map(|value| value.to_string_lossy().into_owned());
        let Some(name) = shown(option) else { return values.collect() };
        if !option.get_action().takes_values() {
            return values.next().map(|_| name).into_iter().collect();
        }
        let with_name =
            |value: String| match option.is_require_equals_set() || value.starts_with('-') {
                true => vec![format!("{name}={value}")],
                false => vec![name.clone(), value],
            };
        values.flat_map(with_name).collect()
    }

    fn has(&self, option: &Arg) -> bool {
        let given = self.0.iter().find(|(id, _)| id == option.get_id());
        given.is_some_and(|(_, values)| *values != option.get_default_values())
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |id: &&Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let values = |id: &Id| {
            let values = matches.get_raw(id.as_str()).into_iter().flatten();
            (id.clone(), values.map(ToOwned::to_owned).collect())
        };
        Ok(Self(matches.ids().filter(given).map(values).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

fn shown(option: &Arg) -> Option<String> {
    option.get_long().map(|name| format!("--{name}"))
}

/// `option`, if the user gave it.
pub(crate) fn given(option: &str, is_given: bool) -> Option<String> {
    is_given.then(|| option.to_owned())
}

/// An error for the first row whose option is given: its name, then the text of the row.
pub(crate) fn refuse(rows: &[(Option<String>, &str)]) -> Result<(), UsageError> {
    match rows.iter().find_map(|(option, why)| option.as_ref().zip(Some(why))) {
        Some((option, why)) => Err(UsageError(format!("{option}{why}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        given: Given,
        #[command(flatten)]
        size: Size,
        #[arg(long)]
        other: bool,
    }

    #[derive(Debug, Args)]
    struct Line {
        #[arg(long)]
        on: Option<String>,
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
        keep: Option<String>,
        #[arg(short, long)]
        whole: bool,
        #[arg(long, allow_hyphen_values = true)]
        argument: Vec<String>,
        inputs: Vec<String>,
    }

    #[derive(Debug, Parser)]
    struct WithLine {
        #[command(flatten)]
        given: Given,
        #[command(flatten)]
        line: Line,
        #[arg(short)]
        quiet: bool,
        #[arg(short, long)]
        output: Option<String>,
    }

    #[test]
    fn options_of_a_group_become_words_again() {
        let words = |text: &str| {
            let words = ["program"].into_iter().chain(text.split(' '));
            let WithLine { given, line, quiet, output } = WithLine::try_parse_from(words).unwrap();
            assert!(
                line.on.is_some() && line.keep.is_some() == line.whole && !line.inputs.is_empty()
            );
            assert!(quiet && output.is_some() && line.argument.len() <= 2);
            given.words_of::<Line>().join(" ")
        };
        assert_eq!(words("-qo x --on c.toml a b"), "a b --on c.toml");
        assert_eq!(
            words("--on=c.toml -wqox a --keep --argument --v --argument w"),
            "a --on c.toml --keep=all --whole --argument=--v --argument w"
        );
    }

    #[derive(Debug, Args)]
    struct Size {
        #[arg(long, default_value = "1")]
        cores: u32,
        #[arg(long)]
        whole: bool,
        #[arg(long, env = "PATH")]
        agent: Option<String>,
    }

    #[test]
    fn an_option_of_the_command_line_is_named_unless_it_is_the_default() {
        let first = |words: &[&str]| {
            let words = ["program"].into_iter().chain(words.iter().copied());
            let Program { given, size, other } = Program::try_parse_from(words).unwrap();
            assert_eq!((size.cores, size.whole, other), (1 + u32::from(size.whole), other, other));
            assert!(size.agent.is_some());
            given.first_of::<Size>()
        };
        assert_eq!(first(&[]), None);
        assert_eq!(first(&["--cores", "1"]), None);
        let all = ["--other", "--whole", "--cores", "2"];
        assert_eq!(first(&all).as_deref(), Some("--cores"));
    }

    #[test]
    fn the_first_row_that_is_given_is_the_error() {
        let rows = [
            (None, ": never"),
            (given("--b", false), ": never"),
            (given("--c", true), " is for d"),
            (given("--e", true), ": later"),
        ];
        assert_eq!(refuse(&rows).expect_err("two are given").0, "--c is for d");
        assert!(refuse(&rows[..2]).is_ok());
    }
}
