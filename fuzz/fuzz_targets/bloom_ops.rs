//! Operations on a Bloom filter against a map.
#![cfg_attr(fuzzing, no_main)]

use hapax::BloomFilter;
use hapax_fuzz::Input;

fn run(input: Input) {
    hapax_fuzz::run(BloomFilter::builder(), &input);
}

hapax_fuzz::target!(run: Input);
