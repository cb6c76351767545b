//! What the system and the processor say of themselves: the model and the caches.

use std::path::Path;

/// A data or unified cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cache {
    /// 1 is the innermost.
    pub level: u32,
    /// Bytes.
    pub capacity: u64,
    /// Bytes of a line.
    pub line: Option<u64>,
    /// Lines of a set.
    pub ways: Option<u64>,
    /// Cores that share it.
    pub shared: Option<u64>,
    /// Who says so.
    pub source: &'static str,
}

/// The caches, the innermost first; none where nobody says.
pub(super) fn caches() -> Vec<Cache> {
    let mut found = of_folder(Path::new("/sys/devices/system/cpu/cpu0"));
    if found.is_empty() {
        found = of_processor();
    }
    if found.is_empty() {
        found = of_sysctl();
    }
    found.sort_by_key(|c| c.level);
    found.dedup_by_key(|c| c.level);
    found
}

/// The processor's name, where the system says it.
pub(super) fn model() -> Option<String> {
    let name = |text: String| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    std::fs::read_to_string("/proc/cpuinfo").ok().and_then(name).or_else(|| sysctl("machdep.cpu.brand_string"))
}

/// Whether this is a virtual machine, where the system says it.
pub(super) fn is_virtual() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|l| l.starts_with("flags"));
    flags.is_some_and(|l| l.split_whitespace().any(|f| f == "hypervisor"))
}

/// Linux's description of a processor.
fn of_folder(cpu: &Path) -> Vec<Cache> {
    let threads = std::fs::read_to_string(cpu.join("topology/thread_siblings_list")).ok();
    let threads = threads.and_then(|t| listed(&t)).unwrap_or(1).max(1);
    let mut out = Vec::new();
    for index in 0.. {
        let folder = cpu.join(format!("cache/index{index}"));
        let text = |file: &str| std::fs::read_to_string(folder.join(file)).ok().map(|t| t.trim().to_owned());
        let Some(kind) = text("type") else { return out };
        let number = |file: &str| text(file).and_then(|t| t.parse::<u64>().ok()).filter(|n| *n > 0);
        let level = text("level").and_then(|t| t.parse().ok());
        let (Some(level), Some(capacity)) = (level, text("size").and_then(|t| size(&t))) else { continue };
        if kind == "Instruction" {
            continue;
        }
        out.push(Cache {
            level,
            capacity,
            line: number("coherency_line_size"),
            ways: number("ways_of_associativity"),
            shared: text("shared_cpu_list").and_then(|t| listed(&t)).map(|n| n.div_ceil(threads)),
            source: "Linux, sysfs",
        });
    }
    out
}

/// `48K`, `2M`
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|n| *n > 0)
}

/// How many `0-3,8` lists.
fn listed(text: &str) -> Option<u64> {
    let mut count = 0_u64;
    for part in text.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
        count = count.checked_add(high.checked_sub(low)?.checked_add(1)?)?;
    }
    Some(count)
}

/// What `cpuid` enumerates: leaf 4, or AMD's.
#[cfg(target_arch = "x86_64")]
fn of_processor() -> Vec<Cache> {
    use std::arch::x86_64::__cpuid_count;
    #[allow(unused_unsafe, reason = "newer compilers know that every x86-64 processor has the instruction")]
    // SAFETY: every x86-64 processor has the instruction; it changes nothing.
    let ask = |leaf: u32, part: u32| unsafe { __cpuid_count(leaf, part) };
    let name = ask(0, 0);
    let amd = name.ebx == u32::from_le_bytes(*b"Auth") || name.ebx == u32::from_le_bytes(*b"Hygo");
    let leaf = if amd { 0x8000_001d } else { 4 };
    let most = if amd { ask(0x8000_0000, 0).eax } else { name.eax };
    if most < leaf {
        return Vec::new();
    }
    let mut out = Vec::new();
    for part in 0..16 {
        let r = ask(leaf, part);
        let (kind, level) = (r.eax & 31, (r.eax >> 5) & 7);
        if kind == 0 {
            break;
        }
        let field = |shift: u32, bits: u32| u64::from((r.ebx >> shift) & ((1 << bits) - 1)) + 1;
        let (line, parts, ways) = (field(0, 12), field(12, 10), field(22, 10));
        let capacity = line * parts * ways * (u64::from(r.ecx) + 1);
        if kind != 2 {
            out.push(Cache { level, capacity, line: Some(line), ways: Some(ways), shared: None, source: "cpuid" });
        }
    }
    out
}

/// Only x86-64 has the instruction.
#[cfg(not(target_arch = "x86_64"))]
fn of_processor() -> Vec<Cache> {
    Vec::new()
}

/// What macOS says.
fn of_sysctl() -> Vec<Cache> {
    let number = |names: &[&str]| names.iter().find_map(|n| sysctl(n)?.parse::<u64>().ok()).filter(|n| *n > 0);
    let line = number(&["hw.cachelinesize"]);
    let mut out = Vec::new();
    let first = number(&["hw.perflevel0.l1dcachesize", "hw.l1dcachesize"]);
    let second = number(&["hw.perflevel0.l2cachesize", "hw.l2cachesize"]);
    for (level, capacity, shared) in [(1, first, None), (2, second, number(&["hw.perflevel0.cpusperl2"]))] {
        if let Some(capacity) = capacity {
            out.push(Cache { level, capacity, line, ways: None, shared, source: "sysctl" });
        }
    }
    out
}

#[cfg(target_os = "macos")]
fn sysctl(name: &str) -> Option<String> {
    let out = std::process::Command::new("/usr/sbin/sysctl").args(["-n", name]).output().ok()?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_owned()).filter(|t| !t.is_empty())
}

#[cfg(not(target_os = "macos"))]
fn sysctl(_: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists() {
        assert_eq!(
            (size("48K"), size("2M"), size("64"), size("x"), size("K")),
            (Some(49152), Some(2 << 20), Some(64), None, None)
        );
        assert_eq!((listed("0-3,8\n"), listed("5"), listed("3-1"), listed("")), (Some(5), Some(1), None, None));
    }

    #[test]
    fn a_described_processor() {
        let folder = std::env::temp_dir().join(format!("cachet-detect-{}", std::process::id()));
        let put = |file: &str, text: &str| {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("topology/thread_siblings_list", "0,8\n");
        for (index, (kind, level, bytes, shared)) in [
            ("Data", 1, "48K", "0,8"),
            ("Instruction", 1, "32K", "0,8"),
            ("Unified", 2, "2M", "0,8"),
            ("Unified", 3, "32M", "0-15"),
        ]
        .iter()
        .enumerate()
        {
            for (file, text) in [
                ("type", kind.to_string()),
                ("level", level.to_string()),
                ("size", bytes.to_string()),
                ("shared_cpu_list", shared.to_string()),
                ("coherency_line_size", "64".to_string()),
            ] {
                put(&format!("cache/index{index}/{file}"), &format!("{text}\n"));
            }
        }
        let found: Vec<_> =
            of_folder(&folder).iter().map(|c| (c.level, c.capacity, c.line, c.ways, c.shared)).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        let mib = 1 << 20;
        assert_eq!(
            found,
            [
                (1, 49152, Some(64), None, Some(1)),
                (2, 2 * mib, Some(64), None, Some(1)),
                (3, 32 * mib, Some(64), None, Some(8))
            ]
        );
        assert!(of_folder(&folder).is_empty());
    }
}
