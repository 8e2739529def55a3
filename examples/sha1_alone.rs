//! Hashes every row of a file with SHA-1 and does nothing else: the bound on what any check of
//! plain passwords can reach. `scripts/bench-check` compares.

use std::error::Error;
use std::hint::black_box;

use hapax::screen::digest::sha1_of;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file of rows")?;
    let bytes = std::fs::read(path)?;
    let mut rows = 0;
    for row in bytes.split(|&byte| byte == b'\n') {
        black_box(sha1_of(black_box(row)));
        rows += 1;
    }
    eprintln!("{rows} rows hashed");
    Ok(())
}
