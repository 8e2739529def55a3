//! Operations on a blocked Bloom filter against a map.
#![cfg_attr(fuzzing, no_main)]

use hapax::BlockedBloomFilter;
use hapax_fuzz::Input;

fn run(input: Input) {
    hapax_fuzz::run(BlockedBloomFilter::builder(), &input);
}

hapax_fuzz::target!(run: Input);
