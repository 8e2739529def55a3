//! The `.hapax` file: one format for every filter and for windows of them.
//!
//! ```text
//!  ┌────────────────┬─────────────────┬──────────┬─ 64-byte aligned ─┬─────┬──────────┐
//!  │ header, 64 B   │ section table   │ params   │ body              │ ... │ trailer  │
//!  │ magic, version │ type, offset,   │          │ words, little-    │     │ complete │
//!  │ kind, hash     │ length, checksum│          │ endian            │     │ mark     │
//!  └────────────────┴─────────────────┴──────────┴───────────────────┴─────┴──────────┘
//! ```
//!
//! `FORMAT.md` specifies every byte, so that another language can read it. Two doors lead in, over
//! one parser:
//!
//! - [`Artefact::load`], [`read_from`](Artefact::read_from) and [`from_bytes`](Artefact::from_bytes)
//!   copy the body and check **everything**: every checksum, every padding byte, every stored
//!   count against the bits.
//! - [`Artefact::open`] reads in place (from a mapped file, say) and checks the header, the
//!   section table and all lengths. It costs microseconds whatever the size; [`verify`] is the
//!   full check for the same bytes.
//!
//! Writing is atomic: [`Artefact::save`] leaves either the old file or the whole new one.

mod artefact;
mod atomic;
mod error;
mod filters;
mod fuse;
mod header;
mod provenance;
mod reader;
mod retiring;
mod stream;
mod writer;

pub use artefact::{
    Artefact, CHECKED_LEN, Decode, Encode, Existing, Persist, Readers, SaveOptions, verify,
    verify_path,
};
pub use atomic::{remove_stale_temporaries, write_file};
pub use error::{DecodeError, FileError, ReadError};
pub use header::{FORMAT_VERSION, Kind};
pub use provenance::Provenance;
pub use stream::{FuseWriter, Order, StreamError, StreamOptions};

#[doc(hidden)]
pub use reader::Sections;
#[doc(hidden)]
pub use writer::Section;

pub(crate) use filters::Params;
pub(crate) use header::{SectionType, decode_identity, encode_identity, invalid};
pub(crate) use reader::Fields;
