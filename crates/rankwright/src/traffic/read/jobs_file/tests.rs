use std::path::PathBuf;

use super::*;
use crate::ids::Rank;
use crate::traffic::Job;
use crate::traffic::generate::pattern::Pattern;
use crate::traffic::profile::Profile;
use crate::traffic::read::profile_file;
use crate::units::{Bytes, PerSecond};

fn workload(text: &str) -> Workload {
    parse(text, "jobs.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn message(text: &str) -> String {
    parse(text, "j.toml", Path::new("")).expect_err(text).to_string()
}

/// A table of a ring of four with some lines more.
fn ring(lines: &str) -> String {
    format!("[[job]]\nprocesses = 4\npattern = \"ring\"\n{lines}\n")
}

#[test]
fn a_job_says_who_sends_how_much_how_often() {
    let workload = workload(
        r#"
        name = "two"
        [[job]]
        processes = 32
        pattern = "all-to-all"
        rate = "100 /s"
        length = "64 KiB"
        messages = 2000
        cv = 1.0
        [[job]]
        name = "stencil"
        processes = 12
        pattern = "halo-2d"
        points = 9
        grid = "3x4"
        periodic = true
        renumber = true
        seed = 7
        duration = "10 s"
        messages = 50
        cv = 0
    "#,
    );
    assert_eq!(workload.name, "two");
    let [all, stencil] = workload.jobs.as_slice() else { panic!("{workload:?}") };
    assert_eq!((all.name.as_str(), stencil.name.as_str()), ("all-to-all-32", "stencil"));
    let source = &all.sources[31];
    assert_eq!((source.rank, source.rate, source.cv), (Rank(31), PerSecond(100.0), 1.0));
    assert_eq!((source.rounds, source.sends[30].length), (2000, Bytes(65536)));
    let pattern = "halo-2d:12:points=9,grid=3x4,periodic,renumber,seed=7,messages=50,rate=5,cv=0";
    let pattern = Pattern::parse(pattern).unwrap().job().unwrap();
    assert_eq!((&stencil.flows, &stencil.sources), (&pattern.flows, &pattern.sources));
}

#[test]
fn without_a_rate_a_job_has_no_message_timing() {
    let job = &workload(&ring("")).jobs[0];
    assert_eq!((job.flows.len(), job.flows[0].messages, job.sources.len()), (4, 100, 0));
}

#[test]
fn jobs_without_a_name_are_numbered() {
    let names = |text: &str| -> Vec<String> {
        workload(text).jobs.iter().map(|job| job.name.clone()).collect()
    };
    let (plain, named) = (ring(""), ring("name = \"ring-4-2\""));
    assert_eq!(names(&[plain.as_str(), &plain].concat()), ["ring-4", "ring-4-2"]);
    assert_eq!(
        names(&[plain.as_str(), &plain, &named].concat()),
        ["ring-4", "ring-4-3", "ring-4-2"]
    );
}

/// A folder with a profile, a matrix and an edge list of two jobs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("g.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 1000\n2 3 4000\n");
    write("two.csv", "job,source,destination,bytes\na,0,1,5\nb,0,1,5\n");
    let job = Pattern::parse("ring:4:messages=10,length=10B").unwrap().job().unwrap();
    let profile = Profile::of_job(&job, "generated");
    profile_file::write(&profile, &folder.path().join("a.rwp")).unwrap();
    folder
}

fn in_folder(table: &str) -> Result<Job, String> {
    let folder = folder();
    let text = format!("[[job]]\n{table}\n");
    let workload = parse(&text, "j.toml", folder.path());
    let workload = workload.map_err(|error| {
        error.to_string().replace(&format!("{}/", folder.path().display()), "FOLDER/")
    })?;
    Ok(workload.jobs.into_iter().next().unwrap())
}

#[test]
fn profiles_and_graphs_lie_beside_the_file() {
    let plain = in_folder("graph = \"g.mtx\"").unwrap();
    assert_eq!((plain.name.as_str(), plain.ranks, plain.sources.len()), ("g", 3, 0));
    let cut = in_folder("graph = \"g.mtx\"\nlength = \"1 kB\"\nrate = \"5 /s\"").unwrap();
    let clocks: Vec<(u64, f64, u64)> = cut
        .sources
        .iter()
        .map(|source| (source.rounds, source.rate.0, source.sends[0].length.0))
        .collect();
    assert_eq!(clocks, [(1, 5.0, 1000), (4, 5.0, 1000)]);
    let spread = in_folder("profile = \"a.rwp\"\nprocesses = 4\nduration = \"2 s\"").unwrap();
    assert_eq!((spread.name.as_str(), spread.sources.len()), ("ring-4", 4));
    assert_eq!((spread.sources[3].rounds, spread.sources[3].rate), (10, PerSecond(5.0)));
}

#[test]
fn nas_benchmarks_follow_the_duration() {
    let text = "[[job]]\nnas = \"cg.A\"\nprocesses = 8\n";
    let plain = &workload(text).jobs[0];
    assert_eq!(plain, &crate::traffic::generate::nas::parse("cg.A.8").unwrap().job().unwrap());
    let paced = &workload(&format!("{text}duration = \"3 s\"\ncv = 0.5\n")).jobs[0];
    let other =
        crate::traffic::generate::nas::parse("cg.A.8:time=3s,cv=0.5").unwrap().job().unwrap();
    assert_eq!(paced, &other);
}

#[test]
fn what_is_wrong_with_another_file_is_said_with_both_places() {
    let cases = [
        ("graph = \"no.mtx\"", "FOLDER/no.mtx: no such file; give traffic in a format"),
        ("graph = \"no.mtx\"", "; it is named in j.toml:2"),
        ("profile = \"no.rwp\"", "FOLDER/no.rwp: no such file; give a profile"),
        ("profile = \"g.mtx\"", "FOLDER/g.mtx: found another kind of file, expected a profile"),
        ("graph = \"two.csv\"", "j.toml:2: job.graph: found 2 jobs in it (a, b), expected one job"),
        ("graph = \"g.mtx\"\nprocesses = 8", "j.toml:3: job.processes: found 8, expected 3"),
        ("profile = \"a.rwp\"\nrate = \"5 /s\"", "j.toml:3: job.rate: found this field, expected"),
        ("profile = \"a.rwp\"\nlength = \"5 B\"", "j.toml:3: job.length: found this field"),
    ];
    for (table, expected) in cases {
        let error = in_folder(table).expect_err(table);
        assert!(error.contains(expected), "{table}\n{error}");
    }
}

#[test]
fn amounts_and_times_that_cannot_be_name_line_and_field() {
    let cases = [
        (ring("rate = \"0 /s\""), "j.toml:4: job.rate: found `0 /s`, expected a rate above 0 /s"),
        (ring("rate = \"-5 /s\""), "j.toml:4: job.rate: found `-5 /s`"),
        (ring("rate = \"nan /s\""), "j.toml:4: job.rate: found `nan /s`"),
        (ring("rate = \"1e15 /s\""), "job.rate: found `1e15 /s`, expected from 1e-9 /s to 1e12"),
        (ring("rate = \"5\""), "j.toml:4: job.rate: found `5`, expected a rate above 0 /s, like"),
        (ring("rate = 5"), "j.toml:4: found the number 5, expected"),
        (ring("length = \"0 B\""), "j.toml:4: job.length: found `0 B`, expected from 1 B to 1 TiB"),
        (ring("length = \"-1 B\""), "j.toml:4: job.length: found `-1 B`"),
        (ring("length = \"5 PB\""), "j.toml:4: job.length: found `5 PB`, "),
        (ring("messages = 0"), "j.toml:4: job.messages: found 0, expected a number from 1 to"),
        (ring("messages = -1"), "j.toml:4: job.messages: found -1"),
        (
            ring("length = \"1 TiB\"\nmessages = 1000000000000"),
            "j.toml:5: job.messages: found 1000000000000 messages of 1099511627776 bytes, expected",
        ),
        (
            ring("rate = \"5 /s\"\ncv = nan"),
            "j.toml:5: job.cv: found NaN, expected a number from 0",
        ),
        (ring("rate = \"5 /s\"\ncv = -1"), "j.toml:5: job.cv: found -1"),
        (
            ring("cv = 1"),
            "j.toml:4: job.cv: found this field, expected it only together with rate or duration",
        ),
        (
            ring("rate = \"5 /s\"\nduration = \"5 s\""),
            "j.toml:5: job.duration: found both a rate and a duration, expected either rate or",
        ),
        (ring("duration = \"0 s\""), "j.toml:4: job.duration: found `0 s`, expected a time above"),
    ];
    refused(&cases);
}

#[test]
fn an_invalid_job_names_line_and_field() {
    let cases = [
        (ring("ponits = 5"), "j.toml:4: found unknown field `ponits`, expected one of `name`"),
        (ring("graph = \"a\""), "j.toml:4: job.graph: found `a` in addition to another origin"),
        (ring("name = \"\""), "j.toml:4: job.name: found ``"),
        (ring("name = \"a\\nb\""), "j.toml:4: job.name: found `a\\nb`, expected a name without"),
        (
            [ring("name = \"a\""), ring("name = \"a\"")].concat(),
            "j.toml:8: job.name: found a second job `a`, expected unique names; the first one is \
             named in line 4",
        ),
        ("".into(), "j.toml: job: found no job, expected at least one table [[job]]"),
        ("[[job]]\n".into(), "j.toml:1: job: found a job without traffic, expected one of"),
        ("[[job]]\npattern = \"ring\"".into(), "j.toml:1: job: found no field processes"),
        (
            "[[job]]\nprocesses = 0\npattern = \"ring\"".into(),
            "j.toml:2: job.processes: found 0, expected a number from 1 to 16777216",
        ),
        (
            "[[job]]\nprocesses = 8\npattern = \"star\"".into(),
            "j.toml:3: job.pattern: found `star`, expected one of halo-2d, halo-3d, ring",
        ),
        (
            "[[job]]\nprocesses = 8\npattern = \"halo-2d\"\ngrid = \"3x3\"".into(),
            "j.toml:4: job.grid: found 3x3, expected 2 axes whose product is 8 ranks",
        ),
        (
            "[[job]]\nprocesses = 8\npattern = \"halo-3d\"\npoints = 5".into(),
            "j.toml:4: job.points: found 5, expected 7 or 27",
        ),
        (
            "[[job]]\nprocesses = 20000\npattern = \"all-to-all\"".into(),
            "j.toml:3: job.pattern: found up to 400000000 pairs that communicate, expected at most",
        ),
        (
            "[[job]]\nnas = \"cg\"\nprocesses = 4".into(),
            "j.toml:2: job.nas: found `cg`, expected benchmark, class",
        ),
        (
            "[[job]]\nnas = \"bt.B\"\nprocesses = 24".into(),
            "j.toml:3: job.processes: found 24, expected",
        ),
        (
            "[[job]]\nnas = \"cg.B\"\nprocesses = 4\nseed = 5".into(),
            "j.toml:4: job.seed: found this field, expected it only together with pattern",
        ),
    ];
    refused(&cases);
}

fn refused(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let error = message(text);
        assert!(error.contains(expected), "{text}\n{error}\n{expected}");
    }
}

#[test]
fn patterns_read_back_as_written() {
    let texts = [
        "ring:8",
        "halo-2d:12:points=9,grid=3x4,periodic,rate=2.5,cv=0.1,length=3kB,messages=7",
        "random:16:degree=3,seed=9,renumber,rate=1e-3,in_step",
    ];
    let patterns: Vec<Pattern> = texts.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    let written = write(&patterns);
    assert!(sniff(&written));
    let jobs: Vec<Job> = patterns.iter().map(|pattern| pattern.job().unwrap()).collect();
    assert_eq!(workload(&written).jobs, jobs);
}

#[test]
fn the_examples_can_be_read() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/jobs.toml");
    let workload = read(&path).unwrap();
    assert_eq!(workload.name, "jobs");
    assert!(workload.jobs.iter().all(|job| !job.sources.is_empty()));
}
