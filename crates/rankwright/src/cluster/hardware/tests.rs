use super::*;
use crate::cluster::read::{hwloc_xml, synthetic};
use crate::cluster::{Link, MemoryAccess, NumaNode, Port};
use crate::ids::CoreId;

const GIGABIT: f64 = 1e9 / 8.0;

fn with_nics(nics: Vec<Nic>) -> NodeGroup {
    let mut machine = synthetic::parse("pack:2 numa:1 core:8 pu:1").unwrap();
    machine.nics = nics;
    NodeGroup::all_free(machine)
}

/// Gbit/s of each device under the rates of this name, and whose word that is.
fn nics(rates: &str, nics: Vec<Nic>) -> Vec<(f64, Origin)> {
    let rates = HardwareRates::new(&Rates::named(rates).unwrap(), &with_nics(nics));
    let gigabits = |nic: NicRates| (nic.bandwidth.value.0 / GIGABIT).round();
    rates.nics.into_iter().map(|nic| (gigabits(nic.clone()), nic.bandwidth.origin)).collect()
}

fn gigabits(name: &str, id: Option<&str>) -> f64 {
    let pci_id = id.map(|id| id.parse().unwrap());
    nics("typical", vec![Nic { pci_id, ..Nic::new(name) }])[0].0
}

#[test]
fn devices_have_the_rate_of_their_model_else_of_their_kind() {
    for (name, id, rate) in [
        ("mlx5_0", Some("15b3:101b"), 200.0),
        ("mlx5_0", Some("15b3:1021"), 400.0),
        ("mlx5_0", None, 100.0),
        ("mlx4_0", None, 55.0),
        ("hfi1_0", Some("8086:24f0"), 100.0),
        ("hsn0", Some("17db:0501"), 200.0),
        // Slingshot 10.
        ("hsn0", Some("15b3:1019"), 100.0),
        ("cxi0", None, 200.0),
        ("rdmap0s6", Some("1d0f:efa0"), 100.0),
        ("eno1", Some("8086:1521"), 1.0),
        ("eno1", Some("14e4:16d6"), 10.0),
        ("eno1", Some("14e4:1750"), 200.0),
        ("eno1", Some("1425:5401"), 10.0),
        ("mlx4_0", Some("15b3:6732"), 16.0),
        ("eno1", None, 10.0),
        ("bxi0", None, 100.0),
        ("nic0", None, 100.0),
        // A model that no row has.
        ("mlx5_0", Some("15b3:ffff"), 100.0),
    ] {
        assert_eq!(gigabits(name, id), rate, "{name} {id:?}");
    }
}

#[test]
fn what_is_stated_comes_before_what_is_assumed() {
    let port =
        Port { number: 1, link: Some(Link::Up), bandwidth: Some(BytesPerSecond(50.0 * GIGABIT)) };
    let linked = Nic { ports: vec![port], ..Nic::new("mlx5_0") };
    let described = Nic { bandwidth: Some(BytesPerSecond(25.0 * GIGABIT)), ..linked.clone() };
    let all = || vec![described.clone(), linked.clone(), Nic::new("mlx5_1")];
    let typical = Origin::Hardware("InfiniBand EDR".into());
    let expected = [(25.0, Origin::Described), (50.0, Origin::Link), (100.0, typical)];
    assert_eq!(nics("typical", all()), expected);
    let expected = [(25.0, Origin::Described), (50.0, Origin::Link), (8.0, Origin::Rates)];
    assert_eq!(nics("paper-2013", all()), expected);
}

#[test]
fn calibrated_rates_are_not_assumed() {
    let calibrated = Rates { calibrated: true, ..Rates::paper_2013() };
    let rates = HardwareRates::new(&calibrated, &with_nics(vec![Nic::new("mlx5_0")]));
    let all = [&rates.nics[0].bandwidth, &rates.memories[0], &rates.caches.shared];
    assert_eq!(all.map(|rate| rate.origin.clone()), [const { Origin::Calibrated }; 3]);
    assert_eq!(all.map(ToString::to_string), ["1 GB/s", "4 GB/s", "8 GB/s"]);
    // What [rates] does not state is assumed all the same.
    let calibrated = Rates { calibrated: true, ..Rates::typical() };
    let rates = HardwareRates::new(&calibrated, &with_nics(vec![Nic::new("mlx5_0")]));
    assert!(rates.nics[0].bandwidth.origin.is_assumed());
}

#[test]
fn a_card_shares_its_pcie_link() {
    let function = |pci: &str, link| Nic {
        pci: Some(pci.to_owned()),
        pci_id: Some("15b3:1021".parse().unwrap()),
        pci_bandwidth: Some(BytesPerSecond(link)),
        ..Nic::new(format!("mlx5_{pci}"))
    };
    // PCIe 3 x16 carries 126 Gbit/s, of which .85 are data; PCIe 5 x16 four times as much.
    let (third, fifth) = (15.753_846e9, 63.015e9);
    let one = function("0000:41:00.0", third);
    assert_eq!(nics("typical", vec![one.clone()]), [(107.0, Origin::Pcie)]);
    let two = vec![one.clone(), function("0000:41:00.1", third), function("0000:42:00.0", fifth)];
    let rates: Vec<f64> = nics("typical", two).into_iter().map(|(rate, _)| rate).collect();
    assert_eq!(rates, [54.0, 54.0, 400.0]);
    let down = Port { number: 1, link: Some(Link::Down), bandwidth: None };
    let down = Nic { ports: vec![down], ..function("0000:41:00.1", third) };
    assert_eq!(nics("typical", vec![one.clone(), down])[0].0, 107.0);
    // Who states a bandwidth means it.
    let stated = Nic { bandwidth: Some(BytesPerSecond(200.0 * GIGABIT)), ..one };
    assert_eq!(nics("typical", vec![stated])[0].0, 200.0);
}

#[test]
fn latencies_follow_the_kind() {
    let names = ["mlx5_0", "cxi0", "rdmap0s6", "eth0"];
    let group = with_nics(names.map(Nic::new).to_vec());
    let latencies = |rates: &str| -> Vec<f64> {
        let rates = HardwareRates::new(&Rates::named(rates).unwrap(), &group);
        rates.nics.iter().map(|nic| (nic.latency.0 * 1e9).round()).collect()
    };
    assert_eq!(latencies("typical"), [1000.0, 2000.0, 15500.0, 25000.0]);
    assert_eq!(latencies("paper-2013"), [100.0; 4]);
}

/// GB/s of each NUMA node under `typical`.
fn memories(machine: &Machine) -> Vec<f64> {
    let group = NodeGroup::all_free(machine.clone());
    let rates = HardwareRates::new(&Rates::default(), &group);
    rates.memories.iter().map(|rate| (rate.value.0 / 1e9).round()).collect()
}

#[test]
fn memories_have_the_rate_of_the_processor() {
    for (model, package) in [
        ("Intel(R) Xeon(R) CPU E5-2695 v4 @ 2.10GHz", 61.0),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", 41.0),
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 113.0),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 102.0),
        ("INTEL(R) XEON(R) PLATINUM 8568Y+", 287.0),
        ("Intel(R) Xeon(R) Platinum 8480+", 246.0),
        ("Intel(R) Xeon(R) 6980P", 492.0),
        ("AMD EPYC 7551 32-Core Processor", 136.0),
        ("AMD EPYC 7742 64-Core Processor", 164.0),
        ("AMD EPYC 7A53 64-Core Processor", 164.0),
        ("AMD EPYC 9654 96-Core Processor", 369.0),
        ("AMD EPYC 9755 128-Core Processor", 461.0),
        ("AMD EPYC 9575F 64-Core Processor", 461.0),
        ("POWER9, altivec supported", 136.0),
        ("Arm implementer 0x46 part 0x001", 830.0),
        ("A64FX", 830.0),
        ("NVIDIA Grace", 450.0),
        ("AMD Instinct MI300A Accelerator", 200.0),
        ("Ampere(R) Altra(R) Max Processor", 170.0),
        ("AWS Graviton3", 245.0),
        // Memory slower than that of the series.
        ("Intel(R) Xeon(R) CPU E5-2603 v3 @ 1.60GHz", 41.0),
        ("Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz", 55.0),
        ("Intel(R) Xeon(R) CPU E5-2620 0 @ 2.00GHz", 34.0),
        ("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", 82.0),
        ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", 123.0),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 164.0),
        ("AMD EPYC 7282 16-Core Processor", 68.0),
        // Unknown: not 4 GB/s for each of 8 cores, but that of two channels.
        ("Genuine Intel(R) CPU 0000%@", 40.0),
        ("", 40.0),
    ] {
        let mut machine = synthetic::parse("pack:2 numa:1 core:8 pu:1").unwrap();
        machine.processor = Some(model.to_owned());
        assert_eq!(memories(&machine), [package; 2], "{model}");
    }
}

#[test]
fn numa_nodes_share_the_memory_of_their_package() {
    let epyc = |text: &str| {
        let mut machine = synthetic::parse(text).unwrap();
        machine.processor = Some("AMD EPYC 7742 64-Core Processor".to_owned());
        memories(&machine)
    };
    assert_eq!(epyc("pack:2 numa:4 core:16 pu:1"), [41.0; 8]);
    // One memory for both packages.
    assert_eq!(epyc("numa:1 pack:2 core:64 pu:1"), [328.0]);
    // A virtual machine with a package for each core does not have the memory of six packages.
    assert_eq!(memories(&synthetic::parse("numa:1 pack:6 core:1 pu:1").unwrap()), [40.0]);
}

#[test]
fn memories_have_the_rate_of_their_kind() {
    let mut machine = synthetic::parse("pack:1 [numa] [numa] core:64 pu:4").unwrap();
    machine.processor = Some("Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz".to_owned());
    machine.numa_nodes[1].kind = Some("MCDRAM".to_owned());
    assert_eq!(memories(&machine), [92.0, 480.0]);
    machine.processor = Some("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz".to_owned());
    assert_eq!(memories(&machine), [82.0, 427.0]);
    machine.processor = Some("Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz".to_owned());
    machine.numa_nodes[1] = NumaNode { kind: Some("NVM".to_owned()), ..NumaNode::new(1) };
    assert_eq!(memories(&machine), [92.0, 25.0]);
    let bandwidth = Some(BytesPerSecond(77e9));
    let access = MemoryAccess { cores: vec![CoreId(0)], bandwidth, latency: None };
    machine.numa_nodes[0].access = vec![access];
    assert_eq!(memories(&machine), [77.0, 25.0]);
}

#[test]
fn the_facts_of_a_machine_come_from_its_file() {
    let root =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/machines/infiniband-2s-8ports.xml");
    let group = hwloc_xml::read(std::path::Path::new(root)).unwrap();
    let nic = group.machine.nics.iter().find(|nic| nic.name == "mlx5_0").unwrap();
    assert_eq!(nic.pci_id, Some(PciId { vendor: 0x15b3, device: 0x101b }));
    assert_eq!(nic.pci_bandwidth, Some(BytesPerSecond(15.753_846e9)));
}

/// GB/s between cores that share a cache under `typical`: of one core, of several.
fn caches(machine: Machine) -> [f64; 2] {
    let rates = HardwareRates::new(&Rates::default(), &NodeGroup::all_free(machine)).caches;
    [rates.core.value.0 / 1e9, rates.shared.value.0 / 1e9]
}

#[test]
fn caches_have_the_rate_of_their_level() {
    for (topology, shared) in [
        // CCX, tile with an L2, whole package, unknown.
        ("pack:2 l3:8 core:8 pu:2", 12.0),
        ("pack:1 l2:32 core:2 pu:4", 12.0),
        ("pack:2 l3:1 core:24 pu:2", 10.0),
        ("pack:2 core:64 pu:1", 10.0),
    ] {
        assert_eq!(caches(synthetic::parse(topology).unwrap()), [25.0, shared], "{topology}");
    }
    let machine = synthetic::parse("pack:2 l3:8 core:8 pu:2").unwrap();
    let paper = CacheRates::new(&Rates::paper_2013(), &machine);
    assert_eq!([paper.core.value.0, paper.shared.value.0], [8e9; 2]);
    assert_eq!(paper.shared.origin, Origin::Rates);
}

#[test]
fn the_level_of_a_cache_comes_from_the_source() {
    let level = |text: &str| synthetic::parse(text).unwrap().cache_level;
    assert_eq!(level("pack:1 L3Cache:2 l2:4 core:1 pu:1"), Some(3));
    assert_eq!(level("pack:1 l2:4 core:2 pu:1"), Some(2));
    assert_eq!(level("pack:1 core:2 pu:1"), None);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/machines/");
    for (file, expected) in [("many-core-version-1.xml", Some(2)), ("slingshot-4numa.xml", Some(3))]
    {
        let path = std::path::Path::new(root).join(file);
        assert_eq!(hwloc_xml::read(&path).unwrap().machine.cache_level, expected, "{file}");
    }
}
