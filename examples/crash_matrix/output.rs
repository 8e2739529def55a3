//! The output of a sink: a file of records, each durable before the next step.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::Error;
use super::tuple::Order;

/// The file, open at its end.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    /// What was in it when it was opened.
    found: Vec<Order>,
}

impl Output {
    /// Opens the output of a folder. A last line without its end is what a write left that was cut
    /// short; its tuple was not committed, so it goes.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("output");
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).truncate(false).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        file.seek(io::SeekFrom::End(0))?;
        let found = text[..whole].lines().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { file, found })
    }

    /// The records that were there when the output was opened, oldest first.
    pub(crate) fn found(&self) -> &[Order] {
        &self.found
    }

    /// Adds a record, which is durable when this returns.
    pub(crate) fn append(&mut self, record: &Order) -> Result<(), Error> {
        self.file.write_all(format!("{record}\n").as_bytes())?;
        Ok(self.file.sync_data()?)
    }
}
