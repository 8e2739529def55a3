//! The hash layer is part of the file format: its outputs are pinned, and its words are uniform.

mod known_answers;
mod uniformity;
