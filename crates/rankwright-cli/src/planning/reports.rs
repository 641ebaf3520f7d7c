//! Reports of what was placed: what the library makes of a plan, with what only the command line knows.

use std::path::Path;

use rankwright::choose::{Candidate, Plan};
use rankwright::cluster::Cluster;
use rankwright::launch::shell;
use rankwright::report::Comparison;
use rankwright::report::page::{Found, Names, Report};
use rankwright::report::partial::partial_records;
use rankwright::report::triage::Triage;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::profile_file;

use super::cluster_warnings::doubts;
use super::placing::{Job, PlacingOptions};
use super::time_line;
use crate::options::inputs;
use crate::output::Verbosity;

/// What was placed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) options: &'a PlacingOptions,
    pub(crate) job: &'a Job,
}

/// The report of a plan.
///
/// # Errors
/// If a profile cannot be read again.
pub(crate) fn of_plan(
    placed: Placed<'_>,
    (plan, comparison): (&Plan, &Comparison),
    verbosity: &Verbosity,
) -> anyhow::Result<Report> {
    let Job { whole, cluster, workload, .. } = placed.job;
    let report = Report::of_plan((cluster, workload), plan, comparison);
    let report = with_inputs(report, whole, &placed.options.workloads)?;
    let default = plan.candidates.iter().find(|candidate| candidate.score.launcher_default);
    let Candidate { strategy, placement, .. } = default.unwrap_or(plan.best());
    let of_ranks = (&*strategy.to_string(), placement);
    Ok(time_line::add(report, (cluster, workload), of_ranks, verbosity))
}

/// Adds what is known of the inputs: facts and doubts of the cluster, what profiles tell.
///
/// # Errors
/// If a profile cannot be read.
pub(crate) fn with_inputs(
    report: Report,
    whole: &Cluster,
    workloads: &[String],
) -> anyhow::Result<Report> {
    let mut report = with_cluster(report, whole);
    for (name, profile) in profiles(workloads)? {
        report = with_run(report, &name, &profile);
        report = report.with_triage(&name, &Triage::new(&profile, Expansion::Default));
    }
    Ok(report)
}

/// Adds facts and doubts of the cluster.
pub(crate) fn with_cluster(report: Report, whole: &Cluster) -> Report {
    let mut report = report.with_cluster_facts(whole);
    let doubts = doubts(whole).into_iter();
    let found = doubts.map(|doubt| {
        let found = Found::new("cluster-description", doubt.text);
        let found = doubt.lines.into_iter().fold(found, Found::snippet);
        found.finding()
    });
    report.find(found);
    report
}

/// Adds the day of a recorded run, whose file has this name, and what its profile lacks.
pub(crate) fn with_run(mut report: Report, name: &str, profile: &Profile) -> Report {
    let partial = partial_records(profile).into_iter();
    let partial = partial.map(|text| format!("{name} is partial: {text}"));
    report.find(partial.map(|text| Found::new("partial-profile", text).finding()));
    report.with_day_of(name, profile)
}

/// The profiles among some workloads, with their names.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn profiles(workloads: &[String]) -> anyhow::Result<Vec<(String, Profile)>> {
    let names = workloads.iter().flat_map(|names| inputs::split(names));
    let profiles = names.filter(|name| inputs::is_profile(Path::new(name)).unwrap_or(false));
    profiles.map(|name| Ok((name.clone(), profile_file::read(Path::new(&name))?))).collect()
}

/// The names that the user gave. `entry` goes before what is to run on the nodes of a lab.
pub(crate) fn names(options: &PlacingOptions, job: &Job, program: String, entry: String) -> Names {
    names_of(
        &options.workloads.join(","),
        (options.cluster.name(), entry),
        job.workload.rank_count(),
        program,
    )
}

/// As [`names`], of a workload on a cluster. The placement has the name that `place` gives it.
pub(crate) fn names_of(
    workload: &str,
    (cluster, entry): (Option<&str>, String),
    ranks: usize,
    program: String,
) -> Names {
    Names {
        workload: workload.to_owned(),
        cluster: cluster.unwrap_or("cluster.toml").to_owned(),
        placement: "placement.json".to_owned(),
        program,
        ranks,
        entry,
    }
}

/// The program and its arguments for a shell. If the user gave none it is that of the recorded run, as in the
/// launch files, or `./app`.
pub(crate) fn program_text(words: &[String], workload: &Workload) -> String {
    match (words, &workload.jobs[..]) {
        ([], [job]) if !job.seen.hosts.is_empty() => shell::quote(&format!("./{}", job.name)),
        ([], _) => "./app".to_owned(),
        _ => shell::join(words),
    }
}
