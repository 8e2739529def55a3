//! Operations on a counting Bloom filter against a map of counts.
#![cfg_attr(fuzzing, no_main)]

use hapax::CountingBloomFilter;
use hapax_fuzz::Input;

fn run(input: Input) {
    let counter_bits = if input.width.is_multiple_of(2) { 4 } else { 8 };
    hapax_fuzz::run(CountingBloomFilter::builder().counter_bits(counter_bits), &input);
}

hapax_fuzz::target!(run: Input);
