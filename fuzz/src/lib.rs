//! What the fuzz targets share: inputs made from bytes, the model of operations, and a `main` that
//! replays an input without the fuzzer.
//!
//! ```text
//! cargo +nightly fuzz run cuckoo_ops                       search
//! cargo run --bin cuckoo_ops -- artifacts/cuckoo_ops/*     replay, on stable, in a debugger
//! ```

use std::process::ExitCode;

use arbitrary::{Arbitrary, Result, Unstructured};

// The name by which the model knows the crate.
use ::hapax;

#[path = "../../tests/support/model.rs"]
pub mod model;

use hapax::filter::{Buildable, Builder};
use hapax::{BuildError, PastCapacity};
use model::{Op, Subject};

/// Sizing, policy and salt of a filter, and what is done with it.
#[derive(Debug, Arbitrary)]
pub struct Input {
    capacity: u8,
    rate: Rate,
    degrade: bool,
    salt: u64,
    /// Width of a cell, as far as the kind has a choice.
    pub width: u8,
    ops: Vec<Step>,
}

/// Rates from a table that says yes to nearly everything to one that is practically exact.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Rate {
    Huge,
    Large,
    Common,
    Tiny,
}

/// An [`Op`] that can be made from bytes. (The model knows nothing of fuzzing.)
#[derive(Debug)]
struct Step(Op);

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (choice, key) = (u.arbitrary::<u8>()?, u.arbitrary::<u8>()?);
        Ok(Self(match choice % 8 {
            0 => Op::Insert { key, times: 1 },
            1 => Op::Insert { key, times: u.int_in_range(0..=40)? },
            2 => Op::InsertUnique { key },
            3 => Op::Remove { key, times: 1 },
            4 => Op::Remove { key, times: u.int_in_range(0..=40)? },
            5 => Op::Merge,
            6 => Op::Swap,
            _ if key == 0 => Op::Clear,
            _ => Op::Contains { key },
        }))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (2, Some(3))
    }
}

/// Builds the filter of an input and runs its operations against the model.
pub fn run<F: Buildable + Subject>(builder: Builder<F>, input: &Input) {
    let rate = match input.rate {
        Rate::Huge => 0.9,
        Rate::Large => 0.3,
        Rate::Common => 0.01,
        Rate::Tiny => 1e-6,
    };
    let policy = if input.degrade { PastCapacity::Degrade } else { PastCapacity::Refuse };
    let filter = builder
        .capacity(u64::from(input.capacity) + 1)
        .false_positive_rate(rate)
        .past_capacity(policy)
        .salt(hapax::Salt::new(input.salt))
        .build();
    let filter = match filter {
        // Not every kind goes as low.
        Err(BuildError::RateUnreachable { .. }) if rate < 1e-5 => return,
        filter => filter.expect("every such filter can be built"),
    };
    let ops: Vec<Op> = input.ops.iter().map(|step| step.0).collect();
    model::run(&filter, &ops);
}

/// Runs a target on each file named on the command line.
pub fn replay<T: for<'a> Arbitrary<'a> + std::fmt::Debug>(target: fn(T)) -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: give the inputs to replay, such as artifacts/TARGET/crash-*");
        return ExitCode::from(2);
    }
    for file in files {
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                return ExitCode::from(2);
            }
        };
        match T::arbitrary_take_rest(Unstructured::new(&bytes)) {
            Ok(input) => {
                println!("{}: {input:?}", file.display());
                target(input);
            }
            Err(error) => println!("{}: no input: {error}", file.display()),
        }
    }
    ExitCode::SUCCESS
}

/// Makes a function the body of a fuzz target, or of a program that replays.
#[macro_export]
macro_rules! target {
    ($run:ident: $input:ty) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|input: $input| $run(input));

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::replay::<$input>($run)
        }
    };
}
