//! Operations on a word-blocked Bloom filter against a map.
#![cfg_attr(fuzzing, no_main)]

use hapax::WordBloomFilter;
use hapax_fuzz::Input;

fn run(input: Input) {
    hapax_fuzz::run(WordBloomFilter::builder(), &input);
}

hapax_fuzz::target!(run: Input);
