//! What the tests of the contract share: an exact oracle, keys of every shape, the model of
//! operations, and bounds in standard deviations.

// The name by which the model knows the crate; the unit tests and fuzz targets have their own.
use ::hapax;

pub mod keys;
pub mod model;
pub mod oracle;
pub mod statistics;

pub use keys::Shape;
pub use model::Subject;
pub use oracle::Oracle;
