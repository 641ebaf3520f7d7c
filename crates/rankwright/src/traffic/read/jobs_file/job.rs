//! Reads one `[[job]]` table.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use ::toml::Spanned;

use super::schema::{JobTable, Origin, Text};
use crate::files::{InputError, TomlText};
use crate::traffic::Job;
use crate::traffic::expansion::Expansion;
use crate::traffic::generate::nas::{self, NasError};
use crate::traffic::generate::pattern::{Pattern, PatternError, Shape};
use crate::traffic::read::import::{self, Imported, Reader};
use crate::traffic::read::profile_file;
use crate::traffic::{LARGEST_CV, RATES};
use crate::units::{Bytes, PerSecond, Seconds};

/// What a job can be made from, for error messages.
const ORIGINS: &str = "one of pattern, profile, nas and graph";
/// Longest message accepted.
const LONGEST: Bytes = Bytes(1 << 40);
/// Most messages per pair accepted.
const MOST_MESSAGES: i64 = 1_000_000_000_000;
/// Valid durations, in seconds.
const DURATIONS: RangeInclusive<f64> = 1e-9..=1e9;

/// Upper bound of the pairs that the table's pattern will generate, without generating it; 0 for
/// jobs that are not a pattern. An error if it exceeds `most_pairs`.
pub(super) fn pattern_pairs(
    text: &TomlText<'_>,
    table: &Spanned<JobTable>,
    most_pairs: u64,
) -> Result<u64, InputError> {
    let reader = Reading { text, table: table.get_ref(), span: table.span(), most_pairs };
    match reader.table.origins().as_slice() {
        [Origin::Pattern(shape)] => Ok(reader.pattern(shape)?.most_pairs()),
        _ => Ok(0),
    }
}

/// Reads the job of a table; its name is that of its origin. An error if it has more than
/// `most_pairs` pairs.
pub(super) fn read(
    text: &TomlText<'_>,
    table: &Spanned<JobTable>,
    most_pairs: u64,
) -> Result<Job, InputError> {
    let reader = Reading { text, table: table.get_ref(), span: table.span(), most_pairs };
    let origin = match reader.table.origins().as_slice() {
        [origin] => *origin,
        [] => return Err(text.error(reader.span, "job", "a job without traffic", ORIGINS)),
        [_, second, ..] => {
            let (field, value) = second.field();
            let found = format!("`{}` in addition to another origin", value.get_ref());
            return Err(text.error(value.span(), field, found, ORIGINS));
        }
    };
    reader.refuse_options_of_others(origin)?;
    let job = match origin {
        Origin::Pattern(shape) => {
            let wrong = |error| reader.pattern_error(shape, error);
            reader.pattern(shape)?.job().map_err(wrong)?
        }
        Origin::Profile(file) => reader.profile(file)?,
        Origin::Nas(benchmark) => reader.nas(benchmark)?,
        Origin::Graph(file) => reader.graph(file)?,
    };
    if job.flows.len() as u64 > most_pairs {
        return Err(reader.too_many_pairs(origin, job.flows.len() as u64));
    }
    reader.computing(job)
}

struct Reading<'a> {
    text: &'a TomlText<'a>,
    table: &'a JobTable,
    span: Range<usize>,
    most_pairs: u64,
}

/// Message timing given by a table.
enum Pace {
    Rate(PerSecond),
    Duration(Seconds),
}

impl Reading<'_> {
    /// Refuses fields that have no meaning for this origin.
    fn refuse_options_of_others(&self, origin: Origin<'_>) -> Result<(), InputError> {
        let table = self.table;
        let refuse = |name: &str, span: Range<usize>, with: &str| {
            let expected = format!("it only together with {with}");
            Err(self.text.error(span, &format!("job.{name}"), "this field", expected))
        };
        let is_pattern = matches!(origin, Origin::Pattern(_));
        let is_nas = matches!(origin, Origin::Nas(_));
        let cut_and_paced = is_pattern || matches!(origin, Origin::Graph(_));
        if let Some((name, _, span)) = table.pattern_options().into_iter().next()
            && !is_pattern
        {
            return refuse(name, span, "pattern");
        }
        match (&table.messages, &table.length, &table.rate, &table.cv) {
            (Some(messages), ..) if !is_pattern => refuse("messages", messages.span(), "pattern"),
            (_, Some(length), ..) if !cut_and_paced => {
                refuse("length", length.span(), "pattern or graph")
            }
            (_, _, Some(rate), _) if !cut_and_paced => {
                refuse("rate", rate.span(), "pattern or graph")
            }
            (.., None, Some(cv)) if table.duration.is_none() && !is_nas => {
                refuse("cv", cv.span(), "rate or duration")
            }
            _ => Ok(()),
        }
    }

    fn pattern(&self, shape: &Text) -> Result<Pattern, InputError> {
        let wrong = |error: PatternError| self.pattern_error(shape, error);
        let processes = self.processes()?.ok_or_else(|| self.no_processes())?;
        let mut pattern = Pattern::new(Shape::named(shape.get_ref()).map_err(wrong)?, processes);
        for (name, value, _) in self.table.pattern_options() {
            pattern.set(name, &value).map_err(wrong)?;
        }
        if let Some(length) = self.length()? {
            pattern.length = length;
        }
        if let Some(messages) = &self.table.messages {
            pattern.messages = self.whole(messages, "job.messages", 1..=MOST_MESSAGES)?;
        }
        pattern.cv = self.cv()?;
        pattern.rate = match self.pace()? {
            Some(Pace::Rate(rate)) => Some(rate),
            Some(Pace::Duration(duration)) => {
                let rate = pattern.messages as f64 / duration.0;
                Some(PerSecond(rate.clamp(*RATES.start(), *RATES.end())))
            }
            None => None,
        };
        if pattern.most_pairs() > self.most_pairs {
            return Err(self.too_many_pairs(Origin::Pattern(shape), pattern.most_pairs()));
        }
        Ok(pattern)
    }

    fn profile(&self, file: &Text) -> Result<Job, InputError> {
        let path = self.text.folder.join(file.get_ref());
        let named = |error| self.named_here(file, error);
        let profile = profile_file::read(&path).map_err(named)?;
        let mut job = profile
            .job(Expansion::Default)
            .map_err(|error| named(InputError::new(path.display(), error, "a profile")))?;
        if job.name.is_empty() {
            job.name = stem(&path);
        }
        self.paced(job, file)
    }

    /// A NAS job: `cg.B` with the table's number of processes; `duration` sets its run time.
    fn nas(&self, name: &Text) -> Result<Job, InputError> {
        let wrong = |error: NasError| self.nas_error(name, error);
        let processes = self.processes()?.ok_or_else(|| self.no_processes())?;
        let mut run = nas::parse_for(name.get_ref(), processes).map_err(wrong)?;
        if let Some(Pace::Duration(duration)) = self.pace()? {
            run.run_time = Some(duration);
        }
        if self.table.cv.is_some() {
            run.cv = self.cv()?;
        }
        run.job().map_err(wrong)
    }

    fn graph(&self, file: &Text) -> Result<Job, InputError> {
        let path = self.text.folder.join(file.get_ref());
        let imported = imported(&path).map_err(|error| self.named_here(file, error))?;
        let job = match imported {
            Imported::Run(profile) => profile
                .job(Expansion::Default)
                .map_err(|error| InputError::new(path.display(), error, "traffic"))?,
            Imported::Traffic(mut workload) => {
                let names: Vec<&str> = workload.jobs.iter().map(|job| job.name.as_str()).collect();
                if names.len() != 1 {
                    let found = format!("{} jobs in it ({})", names.len(), names.join(", "));
                    let advice =
                        "`rankwright traffic import FILE --job NAME -o NAME.rwp` takes one";
                    let error = self.text.error(file.span(), "job.graph", found, "one job");
                    return Err(error.with_advice(advice));
                }
                workload.jobs.remove(0)
            }
        };
        let job = match self.length()? {
            Some(length) => job.in_messages_of(length),
            None => job,
        };
        self.paced(job, file)
    }

    /// Applies the table's timing to a job read from a file, and checks its number of processes.
    fn paced(&self, job: Job, origin: &Text) -> Result<Job, InputError> {
        if let Some(processes) = self.processes()?.filter(|processes| *processes != job.ranks) {
            let span = self.table.processes.as_ref().map_or(origin.span(), Spanned::span);
            let expected = format!("{}, as in `{}`", job.ranks, origin.get_ref());
            return Err(self.text.error(span, "job.processes", processes.to_string(), expected));
        }
        let cv = self.cv()?;
        let Some(pace) = self.pace()? else { return Ok(job) };
        if let (Some(given), Pace::Duration(_), false) =
            (&self.table.cv, &pace, job.sources.is_empty())
        {
            let expected = "none: the job has message timing, which duration scales";
            return Err(self.text.error(given.span(), "job.cv", cv.to_string(), expected));
        }
        let job = match pace {
            Pace::Rate(rate) => job.at_rate(rate, cv),
            Pace::Duration(duration) => job.lasting(duration, cv),
        };
        if job.sources.is_empty() {
            let found = "0 messages, or too many to count";
            return Err(self.text.error(
                origin.span(),
                "job",
                found,
                "traffic to spread over time",
            ));
        }
        Ok(job)
    }

    /// Adds the table's compute times, if any.
    fn computing(&self, mut job: Job) -> Result<Job, InputError> {
        let Some(times) = &self.table.compute else { return Ok(job) };
        let read = |text: &Text| self.text.quantity::<Seconds>(text, "job.compute");
        let given: Vec<Seconds> = times.get_ref().iter().map(read).collect::<Result<_, _>>()?;
        job.compute = match given.as_slice() {
            [for_all] => vec![*for_all; job.ranks as usize],
            each if each.len() == job.ranks as usize => given,
            _ => {
                let expected = format!("1 (for all ranks) or {} (one per rank)", job.ranks);
                let found = format!("{} times", given.len());
                return Err(self.text.error(times.span(), "job.compute", found, expected));
            }
        };
        Ok(job)
    }

    fn processes(&self) -> Result<Option<u32>, InputError> {
        let Some(processes) = &self.table.processes else { return Ok(None) };
        let most = i64::from(import::MOST_RANKS);
        Ok(Some(self.whole(processes, "job.processes", 1..=most)?))
    }

    fn no_processes(&self) -> InputError {
        let expected = "processes: the number of ranks";
        self.text.error(self.span.clone(), "job", "no field processes", expected)
    }

    fn length(&self) -> Result<Option<Bytes>, InputError> {
        let Some(text) = &self.table.length else { return Ok(None) };
        let length: Bytes = self.text.quantity(text, "job.length")?;
        if length.0 == 0 || length > LONGEST {
            let expected = format!("from 1 B to {LONGEST}");
            return Err(self.text.error(
                text.span(),
                "job.length",
                format!("`{}`", text.get_ref()),
                expected,
            ));
        }
        Ok(Some(length))
    }

    fn pace(&self) -> Result<Option<Pace>, InputError> {
        match (&self.table.rate, &self.table.duration) {
            (None, None) => Ok(None),
            (Some(_), Some(duration)) => {
                let found = "both a rate and a duration";
                let expected = "either rate or duration";
                Err(self.text.error(duration.span(), "job.duration", found, expected))
            }
            (Some(text), None) => {
                let rate: PerSecond = self.text.quantity(text, "job.rate")?;
                let expected = "from 1e-9 /s to 1e12 /s";
                self.within(text, "job.rate", rate.0, &RATES, expected)?;
                Ok(Some(Pace::Rate(rate)))
            }
            (None, Some(text)) => {
                let duration: Seconds = self.text.quantity(text, "job.duration")?;
                let expected = "a time above 0 s, up to 1e9 s";
                self.within(text, "job.duration", duration.0, &DURATIONS, expected)?;
                Ok(Some(Pace::Duration(duration)))
            }
        }
    }

    fn within(
        &self,
        text: &Text,
        field: &str,
        value: f64,
        allowed: &RangeInclusive<f64>,
        expected: &str,
    ) -> Result<(), InputError> {
        if allowed.contains(&value) {
            return Ok(());
        }
        Err(self.text.error(text.span(), field, format!("`{}`", text.get_ref()), expected))
    }

    fn cv(&self) -> Result<f64, InputError> {
        let Some(cv) = &self.table.cv else { return Ok(1.0) };
        let value = *cv.get_ref();
        if (0.0..=LARGEST_CV).contains(&value) {
            return Ok(value);
        }
        let expected = format!("a number from 0 to {LARGEST_CV}");
        Err(self.text.error(cv.span(), "job.cv", value.to_string(), expected))
    }

    fn whole<T: TryFrom<i64>>(
        &self,
        number: &Spanned<i64>,
        field: &str,
        allowed: RangeInclusive<i64>,
    ) -> Result<T, InputError> {
        let value = Some(*number.get_ref()).filter(|value| allowed.contains(value));
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| {
            let expected = format!("a number from {} to {}", allowed.start(), allowed.end());
            self.text.error(number.span(), field, number.get_ref().to_string(), expected)
        })
    }

    /// Turns a pattern error into one at the field that caused it.
    fn pattern_error(&self, shape: &Text, error: PatternError) -> InputError {
        let table = self.table;
        let options = table.pattern_options().into_iter();
        let option =
            options.map(|(name, _, span)| (name, span)).find(|(name, _)| *name == error.field);
        let processes = table.processes.as_ref().map(|processes| ("processes", processes.span()));
        let messages = table.messages.as_ref().map(|messages| ("messages", messages.span()));
        let place = match error.field.as_str() {
            "ranks" | "grid" => option.or(processes),
            "messages" => messages,
            _ => option,
        };
        let (name, span) = place.unwrap_or(("pattern", shape.span()));
        self.text.error(span, &format!("job.{name}"), error.found, error.expected)
    }

    /// Turns a NAS error into one at the field that caused it.
    fn nas_error(&self, name: &Text, error: NasError) -> InputError {
        let processes = self.table.processes.as_ref().map(Spanned::span);
        match error {
            NasError::Field { found, expected, .. } => {
                self.text.error(name.span(), "job.nas", found, expected)
            }
            NasError::ProcessCount { rule, choices, found, .. } => {
                let expected = format!("{rule}: {choices}, as `{}` needs it", name.get_ref());
                let span = processes.unwrap_or(name.span());
                self.text.error(span, "job.processes", found.to_string(), expected)
            }
            NasError::Traffic(error) => {
                self.text.error(name.span(), "job.nas", error.to_string(), "a job")
            }
        }
    }

    fn too_many_pairs(&self, origin: Origin<'_>, pairs: u64) -> InputError {
        let (field, value) = origin.field();
        let found = format!("up to {pairs} pairs that communicate");
        let expected = format!("at most {} (2^28 in all jobs together)", self.most_pairs);
        self.text.error(value.span(), field, found, expected)
    }

    /// Adds the line of this file that names the broken file.
    fn named_here(&self, file: &Text, error: InputError) -> InputError {
        let here = format!("it is named in {}:{}", self.text.file, self.text.line(file.span()));
        let advice = match &error.advice {
            Some(advice) => format!("{advice}; {here}"),
            None => here,
        };
        error.with_advice(advice)
    }
}

/// Reads traffic in a format of another tool, recognised by content.
fn imported(path: &Path) -> Result<Imported, InputError> {
    let expected = "traffic in a format that `rankwright traffic import` reads";
    let format = match import::sniff_path(path) {
        Some(format) => format,
        None => {
            let text = crate::files::read_text(path, expected)?;
            let found = match text.trim().is_empty() {
                true => "an empty file",
                false => "text of an unknown format",
            };
            let unknown = || InputError::new(path.display(), found, expected);
            import::sniff(&text).ok_or_else(unknown)?
        }
    };
    if let Reader::Printed { printer, archive, .. } = format.read
        && archive(path).is_some()
    {
        let found = format!("an archive that only {} can read", printer[0]);
        let advice = "`rankwright traffic import` makes a profile of it";
        return Err(InputError::new(path.display(), found, expected).with_advice(advice));
    }
    format.read_path(path)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
