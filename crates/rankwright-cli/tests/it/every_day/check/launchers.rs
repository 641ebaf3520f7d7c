//! What `rankwright check` finds under every launcher of this machine that can start ranks on invented
//! hosts. `slurm/` has the same for `srun`.

use rankwright::placement::PlacementFile;

use crate::command::{pus_here, say};
use crate::every_day::real_launchers::{Job, code, launchers};
use crate::invented_hosts::can_invent_hosts;
use crate::placements::{device, placement};

/// Two ranks on n0 and one on n1, on PUs, memory and network devices that no machine has.
pub(crate) fn nowhere(hosts: [&str; 3]) -> PlacementFile {
    let mut nowhere =
        placement(60_003, false, &[(hosts[0], 60_000), (hosts[1], 60_001), (hosts[2], 60_002)]);
    for node in &mut nowhere.nodes {
        node.nics = vec![device("mlx5_70"), device("mlx5_71")];
        node.numa_os = vec![5];
    }
    for (entry, nic) in nowhere.jobs[0].ranks.iter_mut().zip(["mlx5_70", "mlx5_71", "mlx5_71"]) {
        entry.nics = vec![nic.to_owned()];
    }
    nowhere
}

#[test]
fn every_kind_of_difference_is_told_under_every_launcher() {
    if !can_invent_hosts() {
        return;
    }
    // A remote shell that puts n1's ranks on a host n9, in an environment that says another device.
    let job = Job::new(&nowhere(["n0", "n0", "n1"])).with_agent(
        "export UCX_NET_DEVICES=all\nexec \"$FAKE_SSH\" $(printf '%s\\n' \"$@\" | sed 's/^n1$/n9/')",
    );
    for launcher in launchers() {
        let options = ["--binding", "exec", "--fabric", "ucx", "--timeout", "60s"];
        let arguments = [&options[..], &["--format", "csv"]].concat();
        let output = job.output(launcher, "check", &arguments, |output| code(output) == 5);
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(lines.len(), 3, "{}: {table}", launcher.program);
        for (rank, device) in ["mlx5_70", "mlx5_71", "mlx5_71"].iter().enumerate() {
            let told = [
                format!("UCX_NET_DEVICES is all instead of {device}:1"),
                format!("instead of P#6000{rank} (the job may use P#"),
                format!(" has no device {device}"),
            ];
            for what in told {
                assert!(lines[rank].contains(&what), "{}: `{what}`: {table}", launcher.program);
            }
            assert_eq!(lines[rank].contains("on n9 instead of n1"), rank == 2, "{table}");
            let memory = "memory policy default with PUs beside NUMA node P#";
            if lines[rank].contains(",-,default,") {
                say("SKIPPED: this system does not tell the memories of PUs");
            } else {
                assert!(lines[rank].contains(memory), "{}: {table}", launcher.program);
                assert!(lines[rank].contains(" instead of P#5"), "{}: {table}", launcher.program);
            }
        }
        // Both were refused their own PUs, so they share all that there are.
        for (rank, other) in [(0, 1), (1, 0)] {
            let shares = format!("shares PU P#0 with rank {other}");
            assert!(lines[rank].contains(&shares), "{}: {table}", launcher.program);
        }
        assert!(!lines[2].contains("shares"), "{}: {table}", launcher.program);
    }
}

#[test]
fn devices_are_looked_for_where_launchers_bind() {
    if !can_invent_hosts() || pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let mut gone = placement(2, false, &[("n1", 0), ("n0", 0)]);
    gone.nodes.iter_mut().for_each(|node| node.nics = vec![device("mlx5_70")]);
    gone.jobs[0].ranks[0].nics = vec!["mlx5_70".to_owned()];
    let job = Job::new(&gone);
    for launcher in launchers().filter(|launcher| launcher.binds) {
        let arguments = ["--binding", "native", "--timeout", "60s", "--format", "csv"];
        let output = job.output(launcher, "check", &arguments, |output| code(output) == 5);
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert!(lines[0].contains("n1 has no device mlx5_70"), "{}: {table}", launcher.program);
        assert!(!lines[1].contains("device"), "{}: {table}", launcher.program);
    }
}

#[test]
fn variables_that_the_launcher_sets_are_verified() {
    if !can_invent_hosts() || pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let mut same = placement(2, false, &[("n1", 0), ("n0", 0)]);
    // The one device that every machine has.
    same.nodes.iter_mut().for_each(|node| node.nics = vec![device("lo")]);
    same.jobs[0].ranks.iter_mut().for_each(|entry| entry.nics = vec!["lo".to_owned()]);
    let job = Job::new(&same);
    for launcher in launchers().filter(|launcher| launcher.binds) {
        let options = ["--binding", "native", "--fabric", "tcp", "--timeout", "60s"];
        let arguments = [&options[..], &["--format", "json"]].concat();
        let output = job.output(launcher, "check", &arguments, |output| code(output) == 0);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
        for rank in 0..2 {
            let actual = &json["ranks"][rank]["actual"]["variables"]["FI_TCP_IFACE"];
            assert_eq!(actual, "lo", "{}: {json}", launcher.program);
        }
    }
}
