use std::path::PathBuf;

use super::*;
use crate::cluster::read::toml;
use crate::cluster::{
    Cluster, ClusterDescription, GpuVendor, HardwareRates, MemoryAccess, NumaNode, Rates,
};
use crate::ids::{CoreId, NodeId, NumaId, PuId};
use crate::units::{BytesPerSecond, Seconds};

fn machine(name: &str) -> NodeGroup {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    read(&root.join(name)).unwrap()
}

fn near(numbers: &[u32]) -> Vec<NumaId> {
    numbers.iter().copied().map(NumaId).collect()
}

#[test]
fn a_pci_function_is_one_device_under_the_name_that_libraries_use() {
    let nics = machine("omni-path-2s.xml").machine.nics;
    let shown: Vec<_> =
        nics.iter().map(|nic| (nic.name.as_str(), nic.aliases.len(), nic.near.clone())).collect();
    assert_eq!(shown, [("eno1", 0, near(&[0])), ("hfi1_0", 1, near(&[1]))]);
    assert_eq!(nics[1].aliases, ["hsi0"]);
    assert_eq!(nics[1].pci.as_deref(), Some("0000:81:00.0"));
}

#[test]
fn ports_are_up_where_hwloc_saw_them_active() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let whole = std::fs::read_to_string(root.join("omni-path-2s.xml")).unwrap();
    let usable = |state: &str| {
        let info = format!("<info name=\"Port1State\" value=\"{state}\"/>");
        let device = "name=\"hfi1_0\" osdev_type=\"3\"";
        let text = whole.replace(&format!("{device}/>"), &format!("{device}>{info}</object>"));
        let nics = parse(&text, "x.xml").unwrap().machine.nics;
        assert_eq!(nics[1].ports.len(), 1);
        nics[1].is_usable()
    };
    assert_eq!(["1", "2", "4", "5"].map(usable), [false, false, true, true]);
}

#[test]
fn devices_are_in_the_order_of_the_bus() {
    let nics = machine("infiniband-2s-8ports.xml").machine.nics;
    let names: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
    let wanted: Vec<String> = (0..8).map(|number| format!("mlx5_{number}")).collect();
    assert_eq!(names, wanted);
    assert_eq!(nics[3].near, near(&[0]));
    assert_eq!(nics[4].near, near(&[1]));
}

#[test]
fn gpus_are_counted_once_and_console_displays_are_none() {
    // The Matrox adapter of the board; others in its place.
    assert!(machine("omni-path-2s.xml").machine.gpus.is_empty());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/machines/omni-path-2s.xml");
    let text = std::fs::read_to_string(file).unwrap();
    let amd = Some(GpuVendor::Amd);
    for (device, vendors) in [
        ("1002:515e", vec![]),
        ("1002:5159", vec![]),
        ("1a03:2000", vec![]),
        ("18ca:0020", vec![]),
        ("19e5:1711", vec![]),
        ("1002:740c", vec![amd]),
        ("10de:1db1", vec![Some(GpuVendor::Nvidia)]),
        ("8086:0bd5", vec![Some(GpuVendor::Intel)]),
    ] {
        let gpus = parse(&text.replace("102b:0522", device), file).unwrap().machine.gpus;
        let found: Vec<_> = gpus.iter().map(|gpu| gpu.vendor).collect();
        assert_eq!(found, vendors, "{device}");
    }
    let gpus = machine("slingshot-4numa.xml").machine.gpus;
    let shown: Vec<_> = gpus.iter().map(|gpu| (gpu.name.as_str(), gpu.near.clone())).collect();
    let wanted = [
        ("rsmi2", near(&[2])),
        ("rsmi3", near(&[3])),
        ("rsmi0", near(&[0])),
        ("rsmi1", near(&[1])),
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn pus_that_are_not_allowed_are_not_free() {
    let group = machine("slingshot-4numa.xml");
    let pus = group.machine.pus.iter().zip(&group.free);
    let taken: Vec<PuId> = pus.filter(|(_, free)| !**free).map(|(pu, _)| pu.id).collect();
    assert_eq!(taken, [PuId(0), PuId(16)]);
}

#[test]
fn distances_are_those_between_numa_nodes() {
    let distance = machine("opteron-2218.xml").machine.numa_distance.unwrap();
    assert_eq!(distance[1], [16, 10, 22, 16]);
}

#[test]
fn cores_are_local_to_dram() {
    let machine = machine("hbm-2die.xml").machine;
    let kinds: Vec<_> = machine.numa_nodes.iter().map(|node| node.kind.as_deref()).collect();
    assert_eq!(kinds, [None, Some("HBM"), None, Some("HBM")]);
    assert_eq!(machine.cores[3].numa, NumaId(2));
    assert!(machine.nics[0].near.is_empty(), "a device of the whole machine is near nothing");
}

#[test]
fn numbers_above_32_and_memory_caches_are_read() {
    let machine = machine("sparse-numbers.xml").machine;
    let numbers: Vec<u32> = machine.pus.iter().map(|pu| pu.id.0).collect();
    assert_eq!(numbers, [0, 8, 33, 40, 64, 70]);
    assert_eq!(machine.numa_nodes.len(), 2);
}

#[test]
fn lists_of_distances_may_be_split_and_numbered_by_hwloc() {
    let text = r#"<topology version="2.0"><object type="Machine">
        <object type="Group"><object type="NUMANode" os_index="3" gp_index="11"/>
          <object type="Core"><object type="PU" os_index="0"/></object></object>
        <object type="Group"><object type="NUMANode" os_index="5" gp_index="12"/>
          <object type="Core"><object type="PU" os_index="1"/></object></object></object>
        <distances2 type="NUMANode" nbobjs="2" kind="5" indexing="gp">
          <indexes length="3">12 </indexes><indexes length="3">11 </indexes>
          <u64values length="6">10 21 </u64values><u64values length="6">22 11 </u64values>
        </distances2></topology>"#;
    let machine = parse(text, "x.xml").unwrap().machine;
    assert_eq!(machine.numa_distance, Some(vec![vec![11, 22], vec![21, 10]]));
}

#[test]
fn version_1_has_its_memories_above_the_cores() {
    let group = machine("many-core-version-1.xml");
    let machine = group.machine;
    let memories: Vec<_> =
        machine.numa_nodes.iter().map(|node| (node.os_index, node.kind.as_deref())).collect();
    assert_eq!(memories, [(0, None), (2, Some("MCDRAM")), (1, None), (3, Some("MCDRAM"))]);
    let beside: Vec<u32> = machine.cores.iter().map(|core| core.numa.0).collect();
    assert_eq!(beside, [0, 0, 0, 0, 2, 2, 2, 2]);
    let caches: Vec<_> = machine.cores.iter().filter_map(|core| core.cache).collect();
    assert_eq!(caches, [0, 0, 1, 1, 2, 2, 3, 3], "caches of instructions are not shared data");
    assert_eq!(machine.packages, 1);
    let taken = machine.pus.iter().zip(&group.free).filter(|(_, free)| !**free);
    let taken: Vec<u32> = taken.map(|(pu, _)| pu.id.0).collect();
    assert_eq!(taken, [0, 13], "one not allowed, one offline");
    // By L#: P#0, P#2, P#1, P#3.
    assert_eq!(machine.numa_distance.unwrap()[1], [31, 10, 41, 41]);
    let nic = &machine.nics[0];
    assert_eq!((nic.name.as_str(), &nic.aliases[..]), ("hfi1_0", &["hsi0".to_owned()][..]));
    assert_eq!(nic.near, near(&[0, 1]), "beside the cores, so beside both of their memories");
}

#[test]
fn version_1_may_begin_with_a_numa_node_or_have_none() {
    let pu = |number: u32| {
        format!("<object type=\"PU\" os_index=\"{number}\" cpuset=\"0x{:x}\"/>", 1 << number)
    };
    let root = format!(
        "<topology><object type=\"Node\" os_index=\"3\" local_memory=\"4096\" nodeset=\"0x8\">\
         <object type=\"Misc\" cpuset=\"0x1\">{}</object></object></topology>",
        pu(0)
    );
    let memory = Some(crate::units::Bytes(4096));
    let actual = parse(&root, "x.xml").unwrap().machine;
    assert_eq!(actual.numa_nodes, [NumaNode { memory, ..NumaNode::new(3) }]);
    let none = format!(
        "<topology><object type=\"System\" local_memory=\"4096\">{}</object></topology>",
        pu(0)
    );
    let actual = parse(&none, "x.xml").unwrap().machine;
    assert_eq!(actual.numa_nodes, [NumaNode { memory, ..NumaNode::new(0) }]);
    // The cgroup does not allow the second NUMA node; the third has no PUs and comes last.
    let taken = format!(
        "<topology><object type=\"Machine\" complete_cpuset=\"0x3\">\
         <distances nbobjs=\"3\" latency_base=\"0.5\">{}</distances>\
         <object type=\"Socket\"><object type=\"NUMANode\" os_index=\"2\" complete_cpuset=\"0x0\"/>\
         </object>\
         <object type=\"NUMANode\" os_index=\"0\" complete_cpuset=\"0x1\">{}</object>\
         <object type=\"NUMANode\" os_index=\"1\" complete_cpuset=\"0x2\" nodeset=\"0x0\">{}</object>\
         </object></topology>",
        "<latency value=\"2\"/>".repeat(8) + "<latency value=\"1\"/>",
        pu(0),
        pu(1)
    );
    let actual = parse(&taken, "x.xml").unwrap().machine;
    let memories: Vec<u32> = actual.numa_nodes.iter().map(|node| node.os_index).collect();
    assert_eq!((memories, actual.packages), (vec![0, 2], 1));
    // Not all distances are whole numbers: in thousandths.
    assert_eq!(actual.numa_distance, Some(vec![vec![1000, 1000], vec![1000, 1000]]));
    let short = taken.replacen("<latency value=\"2\"/>", "", 1);
    assert!(parse(&short, "x.xml").unwrap_err().to_string().contains("8 distances"));
    let endless = taken.replace("latency_base=\"0.5\"", "latency_base=\"inf\"");
    assert!(parse(&endless, "x.xml").unwrap_err().to_string().contains("latency_base=\"inf\""));
}

#[test]
fn version_3_has_a_bit_for_each_type_of_device() {
    let machine = machine("bxi-version-3.xml").machine;
    let nics: Vec<_> =
        machine.nics.iter().map(|nic| (nic.name.as_str(), nic.near.clone())).collect();
    assert_eq!(nics, [("mlx5_0", near(&[0])), ("eno1", near(&[1])), ("bxi0", near(&[1]))]);
    assert_eq!(machine.nics[0].aliases, ["ib0"]);
    let gpus: Vec<_> =
        machine.gpus.iter().map(|gpu| (gpu.name.as_str(), gpu.near.clone())).collect();
    assert_eq!(gpus, [("cuda0", near(&[0]))]);
    assert_eq!(machine.numa_distance, Some(vec![vec![10, 21], vec![21, 10]]));
}

#[test]
fn other_versions_are_named() {
    for (text, part) in [
        ("<topology version=\"9.1\"/>", "version 9.1, "),
        ("<topology><object type=\"Machine\"/></topology>", "no PU"),
        ("<topology version=\"2.0\"><object type=\"NUMANode\"/></topology>", "of type Machine"),
        ("<html/>", "<html>"),
        ("<topology version=\"2.0\"/>", "no object of type Machine"),
        ("<topology version=\"2.0\"><object type=\"Machine\"/></topology>", "no PU"),
    ] {
        let message = parse(text, "x.xml").unwrap_err().to_string();
        assert!(message.contains(part) && message.starts_with("x.xml:1: "), "{message}");
    }
}

#[test]
fn hostile_files_end_in_an_error_with_a_line() {
    let deep = format!("<topology version=\"2.0\">\n{}", "<object type=\"Group\">".repeat(100_000));
    let whole = std::fs::read_to_string(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines/hbm-2die.xml"),
    )
    .unwrap();
    let entities =
        "<!DOCTYPE t [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]>\n<topology>&b;</topology>";
    let unknown = "<topology version=\"2.0\">\n<object type=\"&bomb;\"/></topology>";
    for text in [deep.as_str(), entities, unknown, "", "\n<a", "<a></b>", "plain text"] {
        assert!(parse(text, "x.xml").unwrap_err().line.is_some(), "{text:.40}");
    }
    // A file that is cut off is an error, unless only blanks are missing.
    for name in ["many-core-version-1.xml", "bxi-version-3.xml"] {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
        let whole = std::fs::read_to_string(root.join(name)).unwrap();
        let ends = (0..whole.trim_end().len()).step_by(61);
        assert!(ends.into_iter().all(|end| parse(&whole[..end], "x.xml").is_err()), "{name}");
    }
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        if let Ok(group) = parse(&whole[..end], "x.xml") {
            assert!(end >= whole.trim_end().len(), "cut at {end}: {}", group.machine);
        }
    }
}

#[test]
fn numa_nodes_have_kinds_and_attributes_by_initiator() {
    let memories = machine("hbm-and-cxl.xml").machine.numa_nodes;
    let shown: Vec<_> =
        memories.iter().map(|memory| (memory.os_index, memory.kind.as_deref())).collect();
    let (fast, far) = (Some("HBM"), Some("CXL-DRAM"));
    assert_eq!(shown, [(0, None), (1, fast), (2, None), (3, fast), (4, far)]);
    let access = |cores: std::ops::Range<u32>, bandwidth: f64, latency: u32| MemoryAccess {
        cores: cores.map(CoreId).collect(),
        bandwidth: Some(BytesPerSecond(bandwidth * 1_048_576.0)),
        latency: Some(Seconds(f64::from(latency) / 1e9)),
    };
    assert_eq!(memories[1].access, [access(0..4, 4e5, 140), access(4..8, 1e5, 200)]);
    // Reading at 60 000 and writing at 40 000 MiB/s.
    assert_eq!(memories[4].access, [access(0..8, 5e4, 320)]);
}

/// Two packages, in a cpuset that hides the NUMA node of the second.
const WITHOUT_SECOND_MEMORY: &str = r#"<topology version="2.0">
<object type="Machine" cpuset="0x3" nodeset="0x1"><info name="CPUModel" value="AMD EPYC 9654"/>
<object type="Package" os_index="0" cpuset="0x1">
<object type="NUMANode" os_index="0" nodeset="0x1"/>
<object type="Core" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object></object>
<object type="Package" os_index="1" cpuset="0x2">
<object type="Core" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object></object>
</object></topology>"#;

#[test]
fn a_memory_belongs_to_the_package_that_it_is_attached_to() {
    let group = parse(WITHOUT_SECOND_MEMORY, "x.xml").unwrap();
    assert_eq!(group.machine.numa_nodes[0].package, Some(0));
    assert_eq!(group.machine.packages_beside(), [Some(0)]);
    let rates = HardwareRates::new(&Rates::default(), &group);
    assert_eq!((rates.memories[0].value.0 / 1e9).round(), 369.0);
    // A memory above both packages is that of both.
    let above = WITHOUT_SECOND_MEMORY
        .replace("<object type=\"NUMANode\" os_index=\"0\" nodeset=\"0x1\"/>\n", "");
    let memory = "<object type=\"NUMANode\" os_index=\"0\" nodeset=\"0x1\"/><object type=\"Package\" os_index=\"0\"";
    let above = above.replacen("<object type=\"Package\" os_index=\"0\"", memory, 1);
    let machine = parse(&above, "x.xml").unwrap().machine;
    assert_eq!((machine.numa_nodes[0].package, machine.packages_beside()), (None, vec![None]));
}

#[test]
fn a_memory_has_its_share_of_a_package_whose_other_memories_are_hidden() {
    let text = WITHOUT_SECOND_MEMORY.replacen(
        "cpuset=\"0x1\"",
        "cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x0000000f\"",
        1,
    );
    let group = parse(&text, "x.xml").unwrap();
    assert_eq!(group.machine.numa_nodes[0].package_numa_nodes, Some(4));
    let cluster = ClusterDescription::uniform("c", vec!["n0".to_owned()], group).build().unwrap();
    let rate =
        |cluster: &Cluster| (cluster.memory_bandwidth(NodeId(0), NumaId(0)).value.0 / 1e9).round();
    assert_eq!(rate(&cluster), 92.0);
    let written = toml::write(&cluster);
    let read = toml::parse(&written, "cluster.toml", std::path::Path::new(".")).unwrap();
    assert_eq!((read.groups.clone(), rate(&read)), (cluster.groups.clone(), 92.0));
    let wrong = written.replace("package_numa_nodes = 4", "package_numa_nodes = 0");
    let error = toml::parse(&wrong, "cluster.toml", std::path::Path::new(".")).unwrap_err();
    assert!(error.to_string().contains("package_numa_nodes: found 0"), "{error}");
    // The hidden one may be the HBM or the DRAM.
    let text = text.replace("nodeset=\"0x1\"/>", "nodeset=\"0x1\" subtype=\"HBM\"/>");
    assert_eq!(parse(&text, "x.xml").unwrap().machine.numa_nodes[0].package_numa_nodes, None);
}

#[test]
fn arm_processors_have_numbers_where_the_model_is_the_instruction_set() {
    let machine = |infos: &str| {
        let infos = format!("<info name=\"CPUModel\" value=\"ARMv8 Processor rev 0\"/>{infos}");
        let model = "<info name=\"CPUModel\" value=\"AMD EPYC 9654\"/>";
        let text = WITHOUT_SECOND_MEMORY.replace(model, &infos);
        parse(&text, "x.xml").unwrap().machine.processor
    };
    let numbers =
        "<info name=\"CPUImplementer\" value=\"0x46\"/><info name=\"CPUPart\" value=\"0x001\"/>";
    assert_eq!(machine(numbers).as_deref(), Some("Arm implementer 0x46 part 0x001"));
    assert_eq!(machine(""), None);
}

/// A core local to NUMA nodes P#0 and P#1; `rest` is added to the file.
fn two_memories(second: &str, rest: &str) -> Result<NodeGroup, InputError> {
    let text = format!(
        r#"<topology version="3.0"><object type="Machine" cpuset="0x1" nodeset="0x3">
<object type="NUMANode" os_index="0" id="obj5" nodeset="0x1"/>
<object type="NUMANode" os_index="1" id="obj6" nodeset="0x2" {second}
<object type="Core" id="obj7" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
</object>{rest}</topology>"#
    );
    parse(&text, "two.xml")
}

#[test]
fn a_memory_without_a_subtype_has_the_kind_of_its_device_or_tier() {
    let kind = |second: &str, rest: &str| {
        two_memories(second, rest).unwrap().machine.numa_nodes.remove(1).kind
    };
    let info =
        |name: &str, value: &str| format!("><info name=\"{name}\" value=\"{value}\"/></object>");
    assert_eq!(kind("/>", ""), None);
    assert_eq!(kind(&info("DAXType", "NVM"), "").as_deref(), Some("NVM"));
    assert_eq!(kind(&info("CXLDevice", "0000:35:00.0"), "").as_deref(), Some("CXL-DRAM"));
    assert_eq!(kind("/>", r#"<memtier kinds="1" nodeset="0x2"/>"#).as_deref(), Some("HBM"));
    assert_eq!(kind("/>", r#"<memtier kinds="2" nodeset="0x2"/>"#), None);
    assert_eq!(kind("subtype=\"DRAM\" />", r#"<memtier kinds="1" nodeset="0x2"/>"#), None);
}

#[test]
fn impossible_memory_attributes_are_refused() {
    let value = |attributes: &str| {
        let value = format!("<memattr name=\"Latency\">\n<memattr_value {attributes}/></memattr>");
        two_memories("/>", &value)
    };
    let target = r#"target_obj_type="NUMANode" target_obj_gp_index="6""#;
    let fine = format!(r#"{target} initiator_obj_gp_index="7" value="80""#);
    let access = &value(&fine).unwrap().machine.numa_nodes[1].access;
    assert_eq!(access[0].latency, Some(Seconds(8e-8)));
    for (attributes, part) in [
        (format!(r#"{target} initiator_cpuset="0x1" value="1e400""#), "two.xml:6: found value="),
        (format!(r#"{target} initiator_cpuset="0x1" value="9999999999999""#), "nanoseconds up to"),
        (format!(r#"{target} initiator_cpuset="all" value="80""#), "a bitmap like"),
        (fine.replace("\"6\"", "\"7\""), "the gp_index of a NUMANode"),
    ] {
        let error = value(&attributes).map(|_| ()).expect_err(&attributes).to_string();
        assert!(error.contains(part), "{error}");
    }
    // Values for cores or targets that the machine does not have are ignored.
    for attributes in [
        format!(r#"{target} initiator_cpuset="0x2" value="80""#),
        r#"target_obj_type="PU" target_obj_gp_index="9" value="80""#.to_owned(),
    ] {
        assert!(value(&attributes).unwrap().machine.numa_nodes[1].access.is_empty());
    }
}
