//! Operations on a cuckoo filter against a map of counts.
#![cfg_attr(fuzzing, no_main)]

use hapax::CuckooFilter;
use hapax_fuzz::Input;

fn run(input: Input) {
    let fingerprint_bits = 4 + u32::from(input.width) % 29;
    hapax_fuzz::run(CuckooFilter::builder().fingerprint_bits(fingerprint_bits), &input);
}

hapax_fuzz::target!(run: Input);
