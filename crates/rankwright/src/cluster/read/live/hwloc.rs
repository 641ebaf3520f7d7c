//! The system's libhwloc.
//!
//! It is only asked for its XML, because the layout of its structures changes between versions.

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ptr;

use super::DiscoveryError;

/// The XML of libhwloc for this machine, or for a synthetic string.
pub(super) fn export(synthetic: Option<&CStr>) -> Result<String, DiscoveryError> {
    let topology = Topology::load(synthetic)?;
    topology.xml()
}

/// `HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED`: PUs that this process may not use, too.
const INCLUDE_DISALLOWED: c_ulong = 1;
/// `HWLOC_TYPE_FILTER_KEEP_IMPORTANT`: network devices, GPUs and the PCI devices above them.
const KEEP_IMPORTANT: c_int = 3;

#[link(name = "hwloc")]
#[expect(unsafe_code, reason = "libhwloc is a C library")]
unsafe extern "C" {
    fn hwloc_topology_init(topology: *mut *mut c_void) -> c_int;
    fn hwloc_topology_set_synthetic(topology: *mut c_void, description: *const c_char) -> c_int;
    fn hwloc_topology_set_io_types_filter(topology: *mut c_void, filter: c_int) -> c_int;
    fn hwloc_topology_set_flags(topology: *mut c_void, flags: c_ulong) -> c_int;
    fn hwloc_topology_load(topology: *mut c_void) -> c_int;
    fn hwloc_topology_destroy(topology: *mut c_void);
    fn hwloc_topology_export_xmlbuffer(
        topology: *mut c_void,
        buffer: *mut *mut c_char,
        length: *mut c_int,
        flags: c_ulong,
    ) -> c_int;
    fn hwloc_free_xmlbuffer(topology: *mut c_void, buffer: *mut c_char);
}

/// A topology of libhwloc, destroyed when dropped.
struct Topology(*mut c_void);

#[expect(unsafe_code, reason = "libhwloc is a C library")]
impl Topology {
    fn load(synthetic: Option<&CStr>) -> Result<Self, DiscoveryError> {
        let check = |result: c_int, call| {
            if result == 0 { Ok(()) } else { Err(DiscoveryError::Hwloc(call)) }
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is valid for writing; on success it owns a topology.
        check(unsafe { hwloc_topology_init(&raw mut raw) }, "hwloc_topology_init")?;
        let topology = Self(raw);
        if let Some(description) = synthetic {
            // SAFETY: the topology is not loaded yet and the text ends with a zero.
            let result = unsafe { hwloc_topology_set_synthetic(raw, description.as_ptr()) };
            check(result, "hwloc_topology_set_synthetic")?;
        } else {
            // SAFETY: the topology is not loaded yet.
            let result = unsafe { hwloc_topology_set_flags(raw, INCLUDE_DISALLOWED) };
            check(result, "hwloc_topology_set_flags")?;
        }
        // SAFETY: the topology is not loaded yet.
        let result = unsafe { hwloc_topology_set_io_types_filter(raw, KEEP_IMPORTANT) };
        check(result, "hwloc_topology_set_io_types_filter")?;
        // SAFETY: the topology was initialised and is loaded once.
        check(unsafe { hwloc_topology_load(raw) }, "hwloc_topology_load")?;
        Ok(topology)
    }

    fn xml(&self) -> Result<String, DiscoveryError> {
        let mut buffer = ptr::null_mut();
        let mut length = 0;
        // SAFETY: the topology is loaded and both pointers are valid for writing.
        let result =
            unsafe { hwloc_topology_export_xmlbuffer(self.0, &raw mut buffer, &raw mut length, 0) };
        if result != 0 || buffer.is_null() {
            return Err(DiscoveryError::Hwloc("hwloc_topology_export_xmlbuffer"));
        }
        // SAFETY: on success the buffer is a text that ends with a zero, until it is freed below.
        let text = unsafe { CStr::from_ptr(buffer) }.to_string_lossy().into_owned();
        // SAFETY: the buffer comes from this topology and is freed once.
        unsafe { hwloc_free_xmlbuffer(self.0, buffer) };
        Ok(text)
    }
}

impl Drop for Topology {
    #[expect(unsafe_code, reason = "libhwloc is a C library")]
    fn drop(&mut self) {
        // SAFETY: the topology was initialised and is destroyed once.
        unsafe { hwloc_topology_destroy(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use proptest::prelude::*;

    use super::*;
    use crate::cluster::read::{hwloc_xml, synthetic};

    /// Our machine and libhwloc's for a synthetic string.
    fn both(text: &str) -> (crate::cluster::Machine, crate::cluster::Machine) {
        let ours = synthetic::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let description = CString::new(text).unwrap();
        let xml = export(Some(&description)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut theirs = hwloc_xml::parse(&xml, text).unwrap().machine;
        // libhwloc has default sizes where the string has none.
        for (theirs, ours) in theirs.numa_nodes.iter_mut().zip(&ours.numa_nodes) {
            theirs.memory = theirs.memory.filter(|_| ours.memory.is_some());
        }
        (ours, theirs)
    }

    #[test]
    fn synthetic_strings_mean_the_same_to_libhwloc() {
        for text in [
            "4",
            "2 2",
            "4 3 2",
            "2 2 2 2",
            "1 2 3 4 2",
            "1 2 1 2 1 2 2",
            "1 2 1 2 1 2 1 2",
            "1 2 1 2 1 2 1 2 2",
            "2 1 1 1 1 1 1 1 1 1 1 2",
            "2 2 pu:2",
            "pack:2 numa:1 core:4 pu:1",
            "pack:2 core:4 pu:2",
            "node:2 socket:2 co:2 2",
            "numa:2 l3:2 l2:2 core:2 pu:1",
            "pack:2 die:2 [numa] l3:2 core:2 pu:1",
            "[numa] pack:2 [numa(memory=16GB)] core:2 pu:2",
            "pack:2 [numa] [numa(memory=1GiB)] die:2 [numa] pu:1",
            "pack:2 numa:2 core:1 pu:1",
            "pack:2 core:2 numa:2 pu:1",
            "pack:2 core:2 [numa] pu:2",
            "pack:2 pu:2 [numa]",
            "numa:3(indexes=2,0,1) core:2 pu:2",
            "pack:2(indexes=1,0) [numa(indexes=1,0)] core:2 pu:1(indexes=1,2,3,4)",
            "pack:2 core:2 pu:2(indexes=pack:core)",
            "pack:2 numa:2 core:2 pu:2(indexes=numa:core:pack)",
            "pack:2 numa:2 core:2 pu:2(indexes=core:pack)",
            "pack:2 core:24 pu:2(indexes=2*24:48*2:1*2)",
            "pu:4(indexes=7,9,2,100)",
            "core:2 pu:4(indexes=7,9,2,100,3,1,50,4)",
            "pack:2 l3:1(size=32MB) l2:2 core:1 pu:2",
            "group:2 group:2 numa:1 core:2 pu:1",
            "(memory=4GB) pack:2 core:2 pu:1",
        ] {
            let (ours, theirs) = both(text);
            assert_eq!(ours, theirs, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn any_nesting_agrees_with_libhwloc(
            counts in prop::collection::vec(1_u32..4, 5),
            numa in 0_usize..5,
            attached in any::<bool>(),
        ) {
            let names = ["pack", "die", "l3", "core", "pu"];
            let mut words = Vec::new();
            for (level, (name, count)) in names.iter().zip(&counts).enumerate() {
                if level == numa && attached {
                    words.push("[numa]".to_owned());
                } else if level == numa {
                    words.push(format!("numa:{}", counts[0]));
                }
                words.push(format!("{name}:{count}"));
            }
            let (ours, theirs) = both(&words.join(" "));
            prop_assert_eq!(ours, theirs);
        }
    }
}
