//! What the machine has, and what this process took of it.

use std::fs;

/// Bytes that can be had without swapping; `None` where the system does not say (not Linux).
pub(crate) fn available() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The most memory this process has held, in bytes; `None` where the system does not say.
pub(crate) fn peak() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Bytes of a line such as `VmHWM:     1234 kB`.
fn kibibytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_read() {
        let text = "MemTotal:       24684000 kB\nMemAvailable:   22060000 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(22_060_000 * 1024));
        assert_eq!(kibibytes(text, "VmHWM:"), None);
        assert_eq!(kibibytes("VmHWM: many kB", "VmHWM:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_both() {
        assert!(available().unwrap() > 0);
        assert!(peak().unwrap() > 100_000);
    }
}
