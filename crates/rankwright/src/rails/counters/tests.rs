//! Records with counters as a network would have them.

use super::*;

const MB: u64 = 1_000_000;

/// Four nodes with two devices each, sixteen ranks in blocks; the first two of a node use `eth0`. Rank r
/// sends (1 + r % 5) * 100 MB to the next and half of it to the one after that.
fn planned() -> Record {
    let node = |at: usize| NodeDevices {
        name: format!("n{at}"),
        devices: vec![vec!["eth0".to_owned()], vec!["eth1".to_owned()]],
    };
    let rank = |rank: u32| RankDue {
        node: rank as usize / 4,
        nics: vec![if rank % 4 < 2 { "eth0" } else { "eth1" }.to_owned()],
        out: Due::default(),
        incoming: Due::default(),
    };
    let flow = |rank: u32| {
        let bytes = u64::from(1 + rank % 5) * 100 * MB;
        [(rank, (rank + 1) % 16, bytes, 10, 0), (rank, (rank + 2) % 16, bytes / 2, 10, 0)]
    };
    let mut record = Record {
        version: 1,
        cluster: "c".to_owned(),
        cluster_digest: "sha256:c".to_owned(),
        strategy: "blocked".to_owned(),
        job: "app".to_owned(),
        variables: vec!["UCX_NET_DEVICES".to_owned()],
        nodes: (0..4).map(node).collect(),
        ranks: (0..16).map(rank).collect(),
        predicted: true,
        flows: (0..16).flat_map(flow).collect(),
        before: Readings::default(),
        after: Readings::default(),
        end: Some(RunEnd { exit_code: 0, seconds: 10.0 }),
    };
    record.ranks = predicted_ranks(&record, &homes(&record));
    record
}

fn homes(record: &Record) -> Vec<usize> {
    record.ranks.iter().map(|rank| rank.node).collect()
}

/// The ranks with what is due for them under some homes.
fn predicted_ranks(record: &Record, homes: &[usize]) -> Vec<RankDue> {
    let mut ranks = record.ranks.clone();
    for (rank, home) in ranks.iter_mut().zip(homes) {
        (rank.node, rank.out, rank.incoming) = (*home, Due::default(), Due::default());
    }
    for (from, to, bytes, messages, _) in &record.flows {
        let (from, to) = (*from as usize, *to as usize);
        if homes[from] != homes[to] {
            let due = Due { bytes: *bytes as f64, estimated: 0.0, messages: *messages as f64 };
            ranks[from].out.add(&due, 1.0);
            ranks[to].incoming.add(&due, 1.0);
        }
    }
    ranks
}

/// What passes a device beside messages of the job, and at which rate before and after it.
#[derive(Clone, Copy, Default)]
struct Others {
    node: usize,
    device: usize,
    /// Bytes out and in during the job.
    during: [u64; 2],
}

/// The record of a run with these homes and devices, with 4 % of headers, and background of `rate` bytes/s.
fn ran(
    homes: &[usize],
    device_of: impl Fn(usize) -> usize,
    rate: u64,
    others: &[Others],
) -> Record {
    let mut record = planned();
    let placed = predicted_ranks(&record, homes);
    let mut bytes = [[[0_u64; 2]; 2]; 4];
    for (rank, due) in placed.iter().enumerate() {
        let of_device = &mut bytes[due.node][device_of(rank)];
        of_device[0] += (due.out.bytes * 1.04) as u64;
        of_device[1] += (due.incoming.bytes * 1.04) as u64;
    }
    for other in others {
        for (at, more) in other.during.iter().enumerate() {
            bytes[other.node][other.device][at] += more;
        }
    }
    let at = |seconds: u64, after: bool| {
        move |node: usize, device: usize, way: usize| {
            1000 + seconds * rate + if after { bytes[node][device][way] } else { 0 }
        }
    };
    record.before.nodes =
        (0..4).map(|node| reading(node, [0, 1], at(0, false), at(1, false))).collect();
    record.after.nodes =
        (0..4).map(|node| reading(node, [11, 12], at(11, true), at(12, true))).collect();
    record
}

fn reading(
    node: usize,
    times: [u64; 2],
    first: impl Fn(usize, usize, usize) -> u64,
    second: impl Fn(usize, usize, usize) -> u64,
) -> NodeReading {
    let device = |device: usize, of: &dyn Fn(usize, usize, usize) -> u64| DeviceSample {
        name: format!("eth{device}"),
        aliases: Vec::new(),
        below: Vec::new(),
        driver: String::new(),
        combined: Combination::Sum,
        counters: vec![Counter {
            source: format!("net/eth{device}"),
            out: Some(of(node, device, 0)),
            incoming: Some(of(node, device, 1)),
            unknown: None,
        }],
    };
    let sample = |time: u64, of: &dyn Fn(usize, usize, usize) -> u64| Sample {
        uptime_s: time as f64,
        devices: (0..2).map(|at| device(at, of)).collect(),
    };
    let samples = vec![sample(times[0], &first), sample(times[1], &second)];
    NodeReading { host: format!("n{node}"), boot: "b".to_owned(), samples }
}

fn own_device(rank: usize) -> usize {
    usize::from(rank % 4 >= 2)
}

/// A file of 1 GB from one node to another, with its acknowledgements.
fn file(from: usize, to: usize, device: usize) -> [Others; 2] {
    let ack = 20 * MB;
    [
        Others { node: from, device, during: [1000 * MB, ack] },
        Others { node: to, device, during: [ack, 1000 * MB] },
    ]
}

fn says(record: &Record) -> (Verdict, String) {
    let judgement = judge(record);
    (judgement.verdict, judgement.sentence)
}

#[test]
fn a_run_as_placed_is_as_predicted_whatever_else_passes() {
    let planned = homes(&planned());
    for rate in [0, MB] {
        let record = ran(&planned, own_device, rate, &[]);
        let expected = "all 8 devices carried what was predicted: 1.04 of it, with headers";
        assert_eq!(says(&record), (Verdict::AsPredicted, expected.to_owned()));
        for (from, to) in [(0, 1), (2, 1), (3, 0)] {
            let record = ran(&planned, own_device, rate, &file(from, to, 1));
            let judgement = judge(&record);
            assert_eq!(judgement.verdict, Verdict::AsPredicted, "{}", judgement.sentence);
            let note = format!("eth1 on n{from} carried 1.0 GB more than predicted out");
            assert!(judgement.notes.contains(&note), "{:?}", judgement.notes);
        }
    }
}

#[test]
fn a_silent_device_names_the_variable_and_the_device_that_carried_its_bytes() {
    let record = ran(&homes(&planned()), |_| 0, MB, &file(0, 1, 1));
    let (verdict, sentence) = says(&record);
    assert_eq!(verdict, Verdict::Fault);
    // On n0 the file hides it.
    assert!(sentence.starts_with("eth1 on n1 carried nothing of"), "{sentence}");
    assert!(
        sentence.contains(": the library did not obey UCX_NET_DEVICES; eth0 carried"),
        "{sentence}"
    );
}

#[test]
fn exchanged_devices_are_found() {
    let record = ran(&homes(&planned()), |rank| 1 - own_device(rank), MB, &file(1, 3, 0));
    let (verdict, sentence) = says(&record);
    assert_eq!(verdict, Verdict::Fault);
    assert!(sentence.contains("the library did not obey UCX_NET_DEVICES; eth"), "{sentence}");
}

#[test]
fn every_exchange_of_two_ranks_is_found_beside_a_file() {
    let planned = homes(&planned());
    let mut named = 0;
    for first in 0..16 {
        for second in first + 1..16 {
            let mut exchanged = planned.clone();
            exchanged.swap(first, second);
            if exchanged == planned {
                continue;
            }
            let record = ran(&exchanged, own_device, MB / 10, &file(0, 1, 0));
            let (verdict, sentence) = says(&record);
            assert_eq!(verdict, Verdict::Fault, "{first} {second}: {sentence}");
            let both = format!("rank {first} (n{}) and rank {second} (n", planned[first]);
            named += usize::from(sentence.contains(&both));
        }
    }
    // Some exchanges give the nodes the same bytes as others.
    assert!(named > 60, "{named} of 96 are named");
}

#[test]
fn ranks_in_a_launchers_order_are_found() {
    let cyclic: Vec<usize> = (0..16).map(|rank| rank % 4).collect();
    let record = ran(&cyclic, |rank| usize::from(rank / 4 >= 2), 0, &[]);
    let expected = "ranks run on other nodes than placed: the bytes between nodes are as if ranks were \
                    dealt to the nodes one by one";
    assert_eq!(says(&record), (Verdict::Fault, expected.to_owned()));
}

#[test]
fn a_run_of_another_length_is_no_fault() {
    let mut record = ran(&homes(&planned()), own_device, 0, &[]);
    for flow in &mut record.flows {
        flow.2 *= 10;
    }
    record.ranks = predicted_ranks(&record, &homes(&planned()));
    let (verdict, sentence) = says(&record);
    assert_eq!(verdict, Verdict::CannotTell);
    assert!(
        sentence.contains("0.10 to 0.10 of what was due: the program sent another"),
        "{sentence}"
    );
}

#[test]
fn too_much_background_cannot_tell() {
    let (verdict, sentence) = says(&ran(&homes(&planned()), own_device, 200 * MB, &[]));
    assert_eq!(verdict, Verdict::CannotTell);
    assert!(sentence.contains("too much background, 2.0 GB beside"), "{sentence}");
}

/// What is said after a change of the readings.
fn changed(change: impl Fn(&mut Record)) -> (Verdict, String) {
    let mut record = ran(&homes(&planned()), own_device, 0, &[]);
    change(&mut record);
    says(&record)
}

#[test]
fn counters_that_went_back_vanished_or_stopped_are_unknown() {
    let device = |record: &mut Record, change: &dyn Fn(&mut Vec<DeviceSample>)| {
        record.after.nodes[2].samples.iter_mut().for_each(|sample| change(&mut sample.devices));
    };
    let (verdict, sentence) = changed(|record| {
        device(record, &|devices| devices[1].counters[0].out = Some(7));
    });
    assert_eq!(verdict, Verdict::CannotTell);
    let expected = "cannot tell: eth1 on n2: net/eth1 went back: it was reset, or wrapped";
    assert_eq!(sentence, expected);
    type Change<'a> = &'a dyn Fn(&mut Vec<DeviceSample>);
    let cases: [(Change<'_>, &str); 4] = [
        (&|devices| drop(devices.pop()), "it is not there after the job"),
        (&|devices| devices[1].counters.clear(), "it has no byte counters that are known"),
        (
            &|devices| {
                devices[1].counters[0].out = None;
                devices[1].counters[0].unknown = Some("stands at 2^32-1".to_owned());
            },
            "net/eth1: stands at 2^32-1",
        ),
        (
            &|devices| devices[1].counters[0].source = "other".to_owned(),
            "a counter vanished between the readings",
        ),
    ];
    for (change, why) in cases {
        let (verdict, sentence) = changed(|record| device(record, change));
        assert_eq!(
            (verdict, sentence),
            (Verdict::CannotTell, format!("cannot tell: eth1 on n2: {why}"))
        );
    }
}

#[test]
fn nodes_without_readings_and_jobs_that_did_not_end_are_told() {
    type Change<'a> = &'a dyn Fn(&mut Record);
    let cases: [(Change<'_>, &str); 6] = [
        (
            &|record| {
                record.after.nodes.remove(1);
                record.after.failed.insert("n1".to_owned(), "no answer".to_owned());
            },
            "eth0 on n1: no reading after the job: no answer; and 1 more",
        ),
        (
            &|record| record.after.missing = Some("the job was killed".to_owned()),
            "no reading after the job: the job was killed",
        ),
        (&|record| record.end = None, "no reading after the job: the job did not end"),
        (
            &|record| record.end = Some(RunEnd { exit_code: 3, seconds: 1.0 }),
            "the program ended with exit code 3, perhaps early",
        ),
        (
            &|record| record.after.nodes[0].boot = "c".to_owned(),
            "eth0 on n0: the node was started again between the readings; and 1 more",
        ),
        (
            &|record| record.predicted = false,
            "nothing is predicted: give the traffic of the program (--profile)",
        ),
    ];
    for (change, why) in cases {
        assert_eq!(changed(change), (Verdict::CannotTell, format!("cannot tell: {why}")));
    }
}

#[test]
fn bytes_of_a_bond_and_of_the_interfaces_below_it_count_once() {
    // eth0 becomes the only interface below eth1: a bond with the same bytes.
    let bonded = |described: &[&str]| {
        let mut record = ran(&homes(&planned()), |_| 0, 0, &[]);
        for node in &mut record.nodes {
            node.devices = described.iter().map(|name| vec![(*name).to_owned()]).collect();
        }
        let nics: Vec<String> = described.iter().map(|name| (*name).to_owned()).collect();
        record.ranks.iter_mut().for_each(|rank| rank.nics.clone_from(&nics));
        for readings in [&mut record.before, &mut record.after] {
            for sample in readings.nodes.iter_mut().flat_map(|node| &mut node.samples) {
                let counters = sample.devices[0].counters.clone();
                sample.devices[1].counters = counters;
                sample.devices[1].below = vec!["eth0".to_owned()];
            }
        }
        judge(&record)
    };
    for described in [&[][..], &["eth0"], &["eth1"]] {
        let judgement = bonded(described);
        assert_eq!(judgement.verdict, Verdict::AsPredicted, "{}", judgement.sentence);
        assert!(judgement.notes.is_empty(), "{:?}", judgement.notes);
        let devices: Vec<&str> = judgement.devices.iter().map(|row| &row.device[..]).collect();
        assert_eq!(devices, [described.first().copied().unwrap_or("eth0"); 4]);
        let [predicted, counted] = judgement.bytes().unwrap();
        assert!(counted as f64 / predicted as f64 - 1.04 < 1e-3, "{counted} of {predicted}");
    }
}

#[test]
fn of_alternative_counters_the_one_that_grew_most_counts() {
    let (verdict, sentence) = changed(|record| {
        for readings in [&mut record.before, &mut record.after] {
            for sample in readings.nodes.iter_mut().flat_map(|node| &mut node.samples) {
                for device in &mut sample.devices {
                    device.combined = Combination::Largest;
                    let counted = device.counters[0].clone();
                    let small = |bytes: Option<u64>| bytes.map(|bytes| bytes / 7 + 5000);
                    device.counters.push(Counter {
                        source: "by kind".to_owned(),
                        out: small(counted.out),
                        incoming: small(counted.incoming),
                        unknown: None,
                    });
                }
            }
        }
    });
    assert_eq!(verdict, Verdict::AsPredicted, "{sentence}");
}

#[test]
fn a_record_survives_its_file_and_other_placements_are_refused() {
    let record = ran(&homes(&planned()), own_device, MB, &[]);
    assert_eq!(Record::parse(&record.to_json(), "r").unwrap(), record);
    let placement = |digest: &str, job: &str| {
        let ranks: Vec<String> = (0..16)
            .map(|rank| {
                format!(
                    r#"{{"rank": {rank}, "node": "n{}", "cores": [{1}], "pus": [{1}], "numa": 0}}"#,
                    rank % 4,
                    rank / 4
                )
            })
            .collect();
        let nodes: Vec<String> = (0..4)
            .map(|node| format!(r#"{{"name": "n{node}", "cores": 4, "pus": 4, "numa_os": [0]}}"#))
            .collect();
        let text = format!(
            r#"{{"format": 1, "strategy": "by hand", "workload_digest": "",
                "cluster": {{"name": "d", "digest": "{digest}"}}, "nodes": [{}],
                "jobs": [{{"name": "{job}", "ranks": [{}]}}]}}"#,
            nodes.join(","),
            ranks.join(",")
        );
        crate::placement::PlacementFile::parse(&text, "p").unwrap()
    };
    let other = record.placed_as(&placement("sha256:c", "app")).unwrap();
    assert_eq!(judge(&other).verdict, Verdict::Fault);
    let refused = |digest, job| record.placed_as(&placement(digest, job)).unwrap_err();
    assert_eq!(
        refused("sha256:d", "app"),
        "the placement is for another cluster, `d`, than the record, `c`"
    );
    let mut same_name = placement("sha256:d", "app");
    same_name.cluster.name = "c".to_owned();
    let refused_for = record.placed_as(&same_name).unwrap_err();
    assert!(refused_for.starts_with("the placement was made for another description of `c`"));
    assert_eq!(refused("sha256:c", "b"), "the placement has no job `app` of 16 ranks");
}
