//! The counters of each driver, in one table.
//!
//! `counters/port_xmit_data` and `port_rcv_data` have the unit of 4 bytes that InfiniBand gives to them
//! (Linux `Documentation/ABI/stable/sysfs-class-infiniband`). Where the device has extended counters, the
//! kernel shows these, of 64 bits, under the same names, with `unicast_xmit_packets` beside them
//! (`get_counter_table` in `drivers/infiniband/core/sysfs.c`). Classic ones have 32 bits, stop at
//! 2^32 - 1, which is 16 GiB, and do not wrap (PortCounters, InfiniBand Architecture Specification).
//! `hw_counters` are kept for `lifespan` milliseconds (`update_hw_stats` in the same file).
//!
//! | driver | source | read in |
//! |---|---|---|
//! | network interfaces | `/proc/net/dev`, with Ethernet headers: what `net/*/statistics/{tx,rx}_bytes` has, but always of the reader's own network namespace | `dev_seq_printf_stats`, `net/core/net-procfs.c` |
//! | mlx5 | `counters`: bytes of the virtual port's InfiniBand traffic divided by 4; RoCE passes beside the network interface's counters | `pma_cnt_ext_assign`, `drivers/infiniband/hw/mlx5/mad.c` |
//! | hfi1 | `counters`: flits of 8 bytes, not of 4 | `pma_get_opa_port_dctrs`, `drivers/infiniband/hw/hfi1/mad.c` |
//! | efa | `hw_counters/{tx,rx}_bytes`, or by kind of operation | `EFA_DEFINE_PORT_STATS`, `drivers/infiniband/hw/efa/efa_verbs.c` |
//! | bnxt_re | `hw_counters/{tx,rx}_bytes`: unicast of the RoCE function, whose statistics are its own | `bnxt_re_ib_get_hw_stats`, `drivers/infiniband/hw/bnxt_re/hw_counters.c` |
//! | ionic | `hw_counters/{tx,rx}_rdma_ucast_bytes` | `struct ionic_lif_stats`, `drivers/net/ethernet/pensando/ionic/ionic_if.h` |
//! | irdma | `hw_counters/ip{4,6}{Out,In}Octets` | `irdma_hw_stat_names`, `drivers/infiniband/hw/irdma/verbs.c` |
//! | cxi | `cxi/*/device/telemetry/hni_sts_{tx,rx}_ok_octets`: `value@timestamp` | HPE Slingshot host software, `cxi_driver` |
//!
//! No source says whether `tx_bytes` of efa has the bytes of RDMA operations. Both are read; the one that
//! grew most during a job has all.
//!
//! None of the RDMA sources was tried on hardware; network interfaces were.

use rankwright::rails::counters::Combination;

/// The files of a port's byte counters, below `ports/N`.
pub(super) struct Files {
    /// Their values are added.
    pub(super) out: &'static [&'static str],
    pub(super) incoming: &'static [&'static str],
    /// Bytes of one unit.
    pub(super) unit: u64,
}

/// What an RDMA device of a driver counts.
pub(super) struct RdmaDriver {
    /// Names of the driver of the PCI device.
    pub(super) names: &'static [&'static str],
    /// The files; several ones are alternatives.
    pub(super) files: &'static [Files],
}

impl RdmaDriver {
    /// How the counters become the bytes of a port.
    pub(super) fn combined(&self) -> Combination {
        if self.files.len() > 1 { Combination::Largest } else { Combination::Sum }
    }
}

/// The row of a driver.
pub(super) fn of(driver: &str) -> &'static RdmaDriver {
    let row = DRIVERS.iter().find(|row| row.names.contains(&driver));
    row.unwrap_or(&INFINIBAND)
}

/// The files of all rows.
#[cfg(test)]
pub(super) fn all_files() -> impl Iterator<Item = &'static str> {
    let rows = DRIVERS.iter().chain([&INFINIBAND]).flat_map(|row| row.files);
    rows.flat_map(|files| files.out.iter().chain(files.incoming)).copied()
}

/// Every device that has no row of its own.
static INFINIBAND: RdmaDriver = RdmaDriver {
    names: &[],
    files: &[Files {
        out: &["counters/port_xmit_data"],
        incoming: &["counters/port_rcv_data"],
        unit: 4,
    }],
};

static DRIVERS: [RdmaDriver; 5] = [
    RdmaDriver {
        names: &["hfi1"],
        files: &[Files {
            out: &["counters/port_xmit_data"],
            incoming: &["counters/port_rcv_data"],
            unit: 8,
        }],
    },
    RdmaDriver {
        names: &["efa"],
        files: &[
            Files { out: &["hw_counters/tx_bytes"], incoming: &["hw_counters/rx_bytes"], unit: 1 },
            Files {
                out: &[
                    "hw_counters/send_bytes",
                    "hw_counters/rdma_read_resp_bytes",
                    "hw_counters/rdma_write_bytes",
                ],
                incoming: &[
                    "hw_counters/recv_bytes",
                    "hw_counters/rdma_read_bytes",
                    "hw_counters/rdma_write_recv_bytes",
                ],
                unit: 1,
            },
        ],
    },
    RdmaDriver {
        names: &["bnxt_en", "bnxt_re"],
        files: &[Files {
            out: &["hw_counters/tx_bytes"],
            incoming: &["hw_counters/rx_bytes"],
            unit: 1,
        }],
    },
    RdmaDriver {
        names: &["ionic", "ionic_rdma"],
        files: &[Files {
            out: &["hw_counters/tx_rdma_ucast_bytes"],
            incoming: &["hw_counters/rx_rdma_ucast_bytes"],
            unit: 1,
        }],
    },
    RdmaDriver {
        names: &["ice", "i40e", "idpf", "irdma"],
        files: &[Files {
            out: &["hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets"],
            incoming: &["hw_counters/ip4InOctets", "hw_counters/ip6InOctets"],
            unit: 1,
        }],
    },
];
