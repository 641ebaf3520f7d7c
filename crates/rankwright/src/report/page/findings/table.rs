//! The table of all findings.

use super::super::data::Addressee::{Administrator, Developer, User};
use super::super::data::Severity::{High, Info, Ok, Warning};
use super::super::data::{Addressee, Severity};

/// A row of [`FINDINGS`]: code, severity, who can mend it, the remedy and the snippet unless the finding
/// brings its own.
pub(super) type Row = (&'static str, Severity, Addressee, &'static str, Option<&'static str>);

pub(super) const RECORD: Option<&str> = Some(
    "# with the launcher, and its options, that start your run\n\
     rankwright profile --events -o app.rwp -- mpirun -n {ranks} {program}",
);
pub(super) const RECORD_OVER_TIME: Option<&str> = Some(
    "# with the launcher, and its options, that start your run\n\
     rankwright profile --timeline mpi,device -o app.rwp -- mpirun -n {ranks} {program}",
);
pub(super) const CALIBRATE: Option<&str> = Some("{entry}rankwright calibrate --on {description}");
const COMPARE: Option<&str> = Some(
    "rankwright place {workload} --on {cluster} -- {program}\n\
     {entry}rankwright run placement.json --compare default,placement -- {program}",
);

pub(super) const PREDICT: Option<&str> =
    Some("rankwright simulate {workload} --on {cluster} --placement {placement} --replay");

/// `place` with the option that the remedy names.
const PLACE_WITH: Option<&str> =
    Some("rankwright place {workload} --on {cluster} {option} -- {program}");
pub(super) const COUNT: Option<&str> = Some(
    "{entry}rankwright run {placement} --profile {workload} --counters record.json -- {program}\n\
     rankwright check --counters record.json",
);
const PLACE: Option<&str> = Some("rankwright place {workload} --on {cluster} -- {program}");
const EXPORT: Option<&str> = Some("rankwright traffic export {workload} -o edges.csv");

/// The code of the finding that hosts are placeholders.
pub(super) const HOSTS_INVENTED: &str = "hosts-invented";

/// All findings. Codes never change.
pub(super) const FINDINGS: &[Row] = &[
    // Of the counters of devices.
    ("counters-fault", High, User, "start the ranks as placed, with their variables", COUNT),
    ("counters-untold", Warning, User, "repeat the run while the network is quiet", COUNT),
    ("counters-note", Info, Administrator, "", None),
    ("counters-as-predicted", Ok, User, "", None),
    // Of the recorded run.
    ("shared-pus", High, User, "", RECORD),
    ("disturbed-run", Warning, User, "", RECORD),
    ("no-message-timing", Warning, User, "", RECORD),
    ("no-calls", Info, User, "", RECORD),
    ("partial-profile", Warning, User, "record a run to its end", RECORD),
    (
        "traffic-beside-mpi",
        High,
        Developer,
        "only MPI was recorded: judge placements by measured runs",
        COMPARE,
    ),
    (
        "traffic-not-steady",
        Warning,
        User,
        "",
        Some("rankwright timeline show {workload} --on {cluster}"),
    ),
    (
        "ranks-unbalanced",
        Info,
        Developer,
        "divide the work more evenly; a placement cannot shorten the wait for this rank",
        None,
    ),
    (
        "one-host",
        Info,
        User,
        "",
        Some(
            "rankwright place {workload} --on {cluster} -o placement.json\n\
             rankwright timeline show {workload} --on {cluster} --placement placement.json",
        ),
    ),
    ("little-communication", Ok, User, "", None),
    ("nothing-to-gain", Ok, User, "", None),
    // Of the evaluation.
    ("simulation-too-slow", Warning, Administrator, "", CALIBRATE),
    ("rates-assumed", Warning, Administrator, "", CALIBRATE),
    (
        "not-simulated",
        Warning,
        User,
        "",
        Some("rankwright report {workload} --on {cluster} --effort normal"),
    ),
    (
        "part-simulated",
        Info,
        User,
        "",
        Some("rankwright report {workload} --on {cluster} --effort best"),
    ),
    ("ranked-without-simulation", Warning, User, "", None),
    ("not-replayed", Info, User, "", None),
    (
        "search-interrupted",
        Warning,
        User,
        "let the search end, or limit it with `--time`",
        Some("rankwright place {workload} --on {cluster} --time 60s -- {program}"),
    ),
    ("strategy-left-out", Info, User, "", None),
    ("collectives-estimated", Info, User, "", COMPARE),
    ("default-assumed", Info, User, "", COMPARE),
    (
        "devices-of-default",
        Info,
        User,
        "",
        Some(
            "# ucx, or the network stack of your MPI library\n\
             rankwright nic {placement} --fabric ucx --explain",
        ),
    ),
    ("other-node-neighbours", Info, Developer, "", PLACE_WITH),
    (
        "threads-without-cores",
        Warning,
        User,
        "",
        Some(
            "# 2 threads per rank; take what OMP_NUM_THREADS is in your job\n\
             rankwright place {workload} --on {cluster} --cores-per-rank 2 -- {program}",
        ),
    ),
    ("far-gpus", Warning, User, "", PLACE_WITH),
    // Of the cluster.
    (
        "cluster-description",
        Warning,
        Administrator,
        "correct the description of the cluster",
        Some(
            "# on a node of the cluster; in a job on several nodes with --all-nodes\n\
             rankwright cluster discover -o cluster.toml",
        ),
    ),
    // Of papers and pairs.
    ("not-reproduced", Warning, Developer, "the table says why", None),
    ("pair-note", Info, User, "", None),
    // Of measured run times.
    (
        "order-not-predicted",
        Warning,
        Developer,
        "the two ways differ in something that the prediction does not know",
        None,
    ),
    ("not-the-fastest", Warning, User, "use the faster way", None),
    ("gain-not-measured", Warning, User, "keep the launcher's default", None),
    ("gain-not-promised", Info, User, "use the placement", None),
    (
        "run-time-not-predicted",
        Info,
        Developer,
        "what the prediction leaves out takes time: computing that changed, copying between cores, short messages",
        None,
    ),
    // Of the report.
    ("ranks-aggregated", Info, User, "`rankwright traffic export` has all pairs", EXPORT),
    ("bytes-rounded", Info, User, "`rankwright traffic export` has all digits", EXPORT),
    (
        "devices-left-out",
        Info,
        User,
        "the CSV form has all",
        Some("rankwright timeline show {workload} --on {cluster} --format csv -o timeline.csv"),
    ),
    (
        HOSTS_INVENTED,
        Info,
        User,
        "name hosts with `--nodes HOSTLIST`, or give a cluster.toml of your cluster",
        Some(
            "# with the names of your hosts\n\
             rankwright place {workload} --on {cluster} --nodes 'node[1-{nodes}]' -- {program}",
        ),
    ),
    ("not-launchable", Warning, User, "", None),
    ("launch-files-left-out", Info, User, "`rankwright place` writes them", PLACE),
];
