//! What is done before any secret is read: this process leaves no memory image behind.
//!
//! Not covered, and not in our hands: swap, the kernel's pipe and terminal buffers, the terminal's
//! scrollback, and whoever may read all memory of the machine.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Turns core dumps off, and on Linux also `ptrace` and `/proc/PID/mem` for other processes of the
/// same user. Only takes rights away, so it works without privileges.
///
/// # Errors
///
/// What the system said, if it refused (a sandbox may); the run can go on unprotected.
pub(crate) fn forbid_core_dumps() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_dumps_are_off_afterwards() {
        forbid_core_dumps().unwrap();
        let limit = rustix::process::getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        #[cfg(target_os = "linux")]
        assert_eq!(
            rustix::process::dumpable_behavior().unwrap(),
            rustix::process::DumpableBehavior::NotDumpable
        );
    }
}
