//! Files changed with their checksums made right again, so that a test reaches the check behind
//! the checksum. Written from FORMAT.md alone.

use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const ENTRY: usize = 32;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub(crate) fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}

/// A section, as the table and the file have it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) role: u16,
    pub(crate) index: u16,
    pub(crate) bytes: Vec<u8>,
}

/// The sections of an undamaged file.
pub(crate) fn parts(file: &[u8]) -> Vec<Part> {
    (0..u32_at(file, 12) as usize)
        .map(|row| {
            let row = &file[HEADER + ENTRY * row..][..ENTRY];
            let (start, len) = (u64_at(row, 8) as usize, u64_at(row, 16) as usize);
            Part {
                role: u16::from_le_bytes([row[0], row[1]]),
                index: u16::from_le_bytes([row[2], row[3]]),
                bytes: file[start..start + len].to_vec(),
            }
        })
        .collect()
}

/// A file of these sections, with the first 32 bytes of the header taken from `file`.
pub(crate) fn assemble(file: &[u8], parts: &[Part]) -> Vec<u8> {
    let mut out = file[..HEADER].to_vec();
    put(&mut out, 12, &(parts.len() as u32).to_le_bytes());
    out.resize(HEADER + ENTRY * parts.len(), 0);
    for (row, part) in parts.iter().enumerate() {
        out.resize(out.len().next_multiple_of(64), 0);
        let (offset, row) = (out.len() as u64, HEADER + ENTRY * row);
        put(&mut out, row, &part.role.to_le_bytes());
        put(&mut out, row + 2, &part.index.to_le_bytes());
        put(&mut out, row + 8, &offset.to_le_bytes());
        put(&mut out, row + 16, &(part.bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(&part.bytes);
    }
    out.resize(out.len().next_multiple_of(64), 0);
    out.extend_from_slice(b"HAPAXEND");
    out.extend_from_slice(&[0; 8]);
    let len = out.len() as u64;
    put(&mut out, 16, &len.to_le_bytes());
    reseal(out)
}

/// Makes every checksum right, wherever the table still points into the file. What is shorter than
/// a header and a trailer stays as it is.
pub(crate) fn reseal(mut file: Vec<u8>) -> Vec<u8> {
    if file.len() < HEADER + 16 {
        return file;
    }
    let rows = (u32_at(&file, 12) as usize).min((file.len() - HEADER) / ENTRY);
    let table_end = HEADER + ENTRY * rows;
    for at in (HEADER..table_end).step_by(ENTRY) {
        let (start, len) = (u64_at(&file, at + 8), u64_at(&file, at + 16));
        let end = start.saturating_add(len) as usize;
        if let Some(section) = file.get(start as usize..end) {
            let checksum = xxh3_64(section);
            put(&mut file, at + 24, &checksum.to_le_bytes());
        }
    }
    let table = xxh3_64(&file[HEADER..table_end]);
    put(&mut file, 48, &table.to_le_bytes());
    let header = xxh3_64(&file[..56]);
    put(&mut file, 56, &header.to_le_bytes());
    let trailer = file.len() - 8;
    put(&mut file, trailer, &header.to_le_bytes());
    file
}

/// Bytes changed, checksums left as they were.
pub(crate) fn patched(file: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    put(&mut file, at, new);
    file
}

/// Bytes changed, checksums made right.
pub(crate) fn resealed(file: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    reseal(patched(file, at, new))
}

/// Bytes of one section changed, checksums made right.
pub(crate) fn in_section(file: &[u8], (role, index): (u16, u16), at: usize, new: &[u8]) -> Vec<u8> {
    rebuilt(file, |parts| {
        let part = parts.iter_mut().find(|part| (part.role, part.index) == (role, index)).unwrap();
        put(&mut part.bytes, at, new);
    })
}

/// Sections changed in any way, everything else made right.
pub(crate) fn rebuilt(file: &[u8], change: impl FnOnce(&mut Vec<Part>)) -> Vec<u8> {
    let mut parts = parts(file);
    change(&mut parts);
    assemble(file, &parts)
}

/// The same filter, window or replay filter before its first key.
pub(crate) fn emptied(file: &[u8]) -> Vec<u8> {
    rebuilt(file, |parts| {
        let window = parts.iter().find(|part| part.role == 4);
        let first_salt = window.map(|window| u64_at(&window.bytes, 8));
        for Part { role, index, bytes } in parts {
            match role {
                1 => {
                    // Keys; ones or counters in use, where it is not buckets; full counters.
                    put(bytes, 32, &[0; 8]);
                    if bytes[0] != 3 && bytes[0] != 7 {
                        put(bytes, 40, &[0; 16]);
                    }
                    if let Some(salt) = first_salt {
                        put(bytes, 16, &salt.wrapping_sub(u64::from(*index)).to_le_bytes());
                    }
                }
                2 | 5 => bytes.fill(0),
                4 => put(bytes, 0, &[0; 8]),
                7 => {
                    put(bytes, 0, &[0; 24]);
                    bytes[32..].fill(0);
                }
                _ => {}
            }
        }
    })
}

#[test]
fn an_undamaged_file_taken_apart_and_assembled_is_the_same() {
    for sample in &crate::samples::SAMPLES {
        let file = (sample.make)();
        assert_eq!(assemble(&file, &parts(&file)), file, "{}", sample.name);
    }
}
