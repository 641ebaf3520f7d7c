//! Rows of the library's tables as values of options.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Parses the name of a row; the table supplies names and summaries for `--help`.
#[derive(Debug)]
pub(crate) struct TableRow<T: 'static> {
    table: &'static [T],
    /// Name and summary.
    cells: fn(&'static T) -> (&'static str, &'static str),
}

impl<T> TableRow<T> {
    pub(crate) const fn new(
        table: &'static [T],
        cells: fn(&'static T) -> (&'static str, &'static str),
    ) -> Self {
        Self { table, cells }
    }
}

impl<T> Clone for TableRow<T> {
    fn clone(&self) -> Self {
        Self { table: self.table, cells: self.cells }
    }
}

impl<T: Sync> TypedValueParser for TableRow<T> {
    type Value = &'static T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let names: Vec<&str> = self.table.iter().map(|row| (self.cells)(row).0).collect();
        let name = PossibleValuesParser::new(names).parse_ref(command, argument, value)?;
        let row = self.table.iter().find(|row| (self.cells)(row).0 == name);
        row.ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |row: &'static T| {
            let (name, summary) = (self.cells)(row);
            PossibleValue::new(name).help(summary)
        };
        Some(Box::new(self.table.iter().map(value)))
    }
}
