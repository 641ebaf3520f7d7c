//! The `[[node.nic]]` and `[[node.gpu]]` tables.

use std::ops::RangeInclusive;

use super::node::Place;
use super::schema::{self, Text};
use crate::cluster::{Gpu, GpuVendor, Link, Machine, Nic, Port};
use crate::files::InputError;
use crate::ids::{NumaId, parse_index_list};

/// Adds the devices of a `[[node]]` table. A table for a device that the XML file has already
/// overrides fields of that device.
pub(super) fn add(
    at: &Place<'_>,
    table: &schema::Node,
    machine: &mut Machine,
) -> Result<(), InputError> {
    let discovered = machine.nics.len();
    for nic in &table.nic {
        add_nic(at, nic, discovered, machine)?;
    }
    let discovered = machine.gpus.len();
    for gpu in &table.gpu {
        add_gpu(at, gpu, discovered, machine)?;
    }
    Ok(())
}

fn add_nic(
    at: &Place<'_>,
    table: &schema::Nic,
    discovered: usize,
    machine: &mut Machine,
) -> Result<(), InputError> {
    let name = check_name(at, &table.name, "nic")?;
    let field = |field: &str| format!("nic \"{name}\".{field}");
    let named = |nic: &Nic| nic.name == name || nic.aliases.iter().any(|alias| alias == name);
    if machine.nics[discovered..].iter().any(named) {
        return Err(twice(at, &table.name, "nic"));
    }
    let existing = machine.nics[..discovered].iter().position(named);
    let mut nic = existing.map_or_else(|| Nic::new(name), |index| machine.nics[index].clone());
    if let Some(near) = &table.near {
        nic.near = near_numa(at, near, &field("near"), machine)?;
    }
    if let Some(aliases) = &table.aliases {
        nic.aliases.clone_from(aliases);
    }
    if let Some(text) = &table.bandwidth {
        nic.bandwidth = Some(at.source.quantity(text, &at.field(&field("bandwidth")))?);
    }
    if let Some(text) = &table.latency {
        nic.latency = Some(at.source.quantity(text, &at.field(&field("latency")))?);
    }
    if let Some(contexts) = &table.contexts {
        if *contexts.get_ref() == 0 {
            return Err(at.error(contexts.span(), &field("contexts"), "0", "a number from 1 up"));
        }
        nic.contexts = Some(*contexts.get_ref());
    }
    nic.pci = pci_address(at, table.pci.as_ref(), &field("pci"))?.or(nic.pci);
    if let Some(text) = &table.pci_id {
        let wrong = || {
            let expected = "vendor and device like 15b3:101b (`lspci -n` has them)";
            at.error(text.span(), &field("pci_id"), format!("`{}`", text.get_ref()), expected)
        };
        nic.pci_id = Some(text.get_ref().parse().map_err(|()| wrong())?);
    }
    if let Some(text) = &table.pci_bandwidth {
        let field = at.field(&field("pci_bandwidth"));
        nic.pci_bandwidth = Some(at.source.quantity(text, &field)?);
    }
    nic.rail = table.rail.or(nic.rail);
    nic.mpi = table.mpi.or(nic.mpi);
    add_ports(at, table, &field, &mut nic)?;
    match existing {
        Some(index) => machine.nics[index] = nic,
        None => machine.nics.push(nic),
    }
    Ok(())
}

fn add_ports(
    at: &Place<'_>,
    table: &schema::Nic,
    field: &dyn Fn(&str) -> String,
    nic: &mut Nic,
) -> Result<(), InputError> {
    for (index, port) in table.port.iter().enumerate() {
        let number = *port.number.get_ref();
        if table.port[..index].iter().any(|before| *before.number.get_ref() == number) {
            let actual = format!("a second port {number}");
            return Err(at.error(port.number.span(), &field("port.number"), actual, "each once"));
        }
        let link = match &port.link {
            None => None,
            Some(text) => Some(match text.get_ref().as_str() {
                "up" => Link::Up,
                "down" => Link::Down,
                other => {
                    let (actual, expected) = (format!("`{other}`"), "`up` or `down`");
                    return Err(at.error(text.span(), &field("port.link"), actual, expected));
                }
            }),
        };
        let bandwidth = match &port.bandwidth {
            None => None,
            Some(text) => Some(at.source.quantity(text, &at.field(&field("port.bandwidth")))?),
        };
        nic.add_port(Port { number, link, bandwidth });
    }
    Ok(())
}

fn add_gpu(
    at: &Place<'_>,
    table: &schema::Gpu,
    discovered: usize,
    machine: &mut Machine,
) -> Result<(), InputError> {
    let name = check_name(at, &table.name, "gpu")?;
    if machine.gpus[discovered..].iter().any(|gpu| gpu.name == name) {
        return Err(twice(at, &table.name, "gpu"));
    }
    let near = match &table.near {
        Some(near) => Some(near_numa(at, near, &format!("gpu \"{name}\".near"), machine)?),
        None => None,
    };
    let pci = pci_address(at, table.pci.as_ref(), &format!("gpu \"{name}\".pci"))?;
    let vendor = gpu_vendor(at, table.vendor.as_ref(), &format!("gpu \"{name}\".vendor"))?;
    let existing = machine.gpus[..discovered].iter_mut().find(|gpu| gpu.name == name);
    if let Some(gpu) = existing {
        gpu.near = near.unwrap_or_else(|| gpu.near.clone());
        gpu.pci = pci.or(gpu.pci.take());
        gpu.vendor = vendor.or(gpu.vendor);
    } else {
        let near = near.unwrap_or_default();
        let vendor = vendor.or_else(|| GpuVendor::of_name(name));
        machine.gpus.push(Gpu { name: name.to_owned(), near, pci, vendor });
    }
    Ok(())
}

fn gpu_vendor(
    at: &Place<'_>,
    text: Option<&Text>,
    field: &str,
) -> Result<Option<GpuVendor>, InputError> {
    let Some(text) = text else { return Ok(None) };
    let vendor = GpuVendor::ALL.into_iter().find(|vendor| vendor.name() == text.get_ref());
    let vendor = vendor.ok_or_else(|| {
        let expected = "`nvidia`, `amd` or `intel`";
        at.error(text.span(), field, format!("`{}`", text.get_ref()), expected)
    })?;
    Ok(Some(vendor))
}

fn twice(at: &Place<'_>, name: &Text, kind: &str) -> InputError {
    let actual = format!("a second device `{}`", name.get_ref());
    at.error(name.span(), &format!("{kind}.name"), actual, "every device of a node once")
}

/// Refuses device names that cannot be part of environment variables and of lists.
fn check_name<'a>(at: &Place<'_>, name: &'a Text, kind: &str) -> Result<&'a str, InputError> {
    let text = name.get_ref();
    let allowed =
        |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | ';' | '"' | '\'');
    if !text.is_empty() && text.chars().all(allowed) {
        return Ok(text);
    }
    let field = format!("{kind}.name");
    Err(at.error(name.span(), &field, format!("`{text}`"), "a device name like mlx5_0"))
}

/// The PCI address in a field, in the kernel's form.
fn pci_address(
    at: &Place<'_>,
    text: Option<&Text>,
    field: &str,
) -> Result<Option<String>, InputError> {
    let Some(text) = text else { return Ok(None) };
    let address = kernel_address(text.get_ref()).ok_or_else(|| {
        let expected = "a PCI address like 0000:41:00.0 or 41:00.0, as `lspci -D` shows it";
        at.error(text.span(), field, format!("`{}`", text.get_ref()), expected)
    })?;
    Ok(Some(address))
}

/// `DOMAIN:BUS:DEVICE.FUNCTION` in hexadecimal digits, as in the names of the folders of
/// /sys/bus/pci/devices: lower case, and a domain of at least four digits. A missing domain is 0.
fn kernel_address(text: &str) -> Option<String> {
    let number = |digits: &str, lengths: RangeInclusive<usize>| {
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok();
        number.filter(|_| is_hex && lengths.contains(&digits.len()))
    };
    let (slot, function) = text.split_once('.')?;
    let mut parts = slot.rsplit(':');
    let device = number(parts.next()?, 2..=2)?;
    let bus = number(parts.next()?, 2..=2)?;
    let domain = parts.next().map_or(Some(0), |domain| number(domain, 4..=8))?;
    let function = number(function, 1..=1)?;
    let address = format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}");
    parts.next().is_none().then_some(address)
}

/// `numa:0,1` or `package:1`: the NUMA nodes (L#) nearest to a device.
fn near_numa(
    at: &Place<'_>,
    text: &Text,
    field: &str,
    machine: &Machine,
) -> Result<Vec<NumaId>, InputError> {
    let wrong = |actual: String, expected: String| at.error(text.span(), field, actual, expected);
    let parsed = text.get_ref().split_once(':').and_then(|(kind, list)| {
        let indices = parse_index_list(list).ok().filter(|indices| !indices.is_empty())?;
        Some((kind.trim(), indices))
    });
    let form = "`numa:0`, `numa:0,1` or `package:1` (L#)";
    let Some((kind @ ("numa" | "package"), mut indices)) = parsed else {
        return Err(wrong(format!("`{}`", text.get_ref()), form.to_owned()));
    };
    let (count, thing) = match kind {
        "numa" => (machine.numa_nodes.len(), "NUMA node"),
        _ => (machine.packages, "package"),
    };
    if let Some(index) = indices.iter().find(|index| **index as usize >= count) {
        let actual = format!("`{}`: {thing} L#{index}", text.get_ref());
        let expected = match count {
            1 => format!("{kind}:0: this node has one {thing}"),
            _ => format!("{kind}:0 to {kind}:{}: this node has {count} {thing}s", count - 1),
        };
        return Err(wrong(actual, expected));
    }
    if kind == "package" {
        let inside = |core: &&crate::cluster::Core| indices.contains(&(core.package as u32));
        indices = machine.cores.iter().filter(inside).map(|core| core.numa.0).collect();
    }
    indices.sort_unstable();
    indices.dedup();
    Ok(indices.into_iter().map(NumaId).collect())
}

#[cfg(test)]
mod tests {
    use super::kernel_address;

    #[test]
    fn pci_addresses_get_the_form_of_the_kernel() {
        let unchanged = ["0000:41:00.0", "10000:e1:00.1", "ffffffff:ff:1f.7"];
        for address in unchanged {
            assert_eq!(kernel_address(address).as_deref(), Some(address));
        }
        for (text, address) in [
            ("41:00.0", "0000:41:00.0"),
            ("0000:C5:0A.1", "0000:c5:0a.1"),
            ("00000000:41:00.0", "0000:41:00.0"),
            ("0001F000:41:00.0", "1f000:41:00.0"),
        ] {
            assert_eq!(kernel_address(text).as_deref(), Some(address), "{text}");
        }
        for text in [
            "",
            "zz",
            "../../../class/net",
            "0000:41:00.0 ",
            " 41:00.0",
            "41:00",
            "0000:41:00",
            "1:00.0",
            "000:41:00.0",
            "100000000:41:00.0",
            "0:0000:41:00.0",
            "0000:41:00.10",
            "0000:41:00.",
            "41:+1.0",
            "+000:41:00.0",
            ":41:00.0",
            "0000:4g:00.0",
            "0000-41-00.0",
            "41:00.0.0",
        ] {
            assert_eq!(kernel_address(text), None, "{text}");
        }
    }
}
