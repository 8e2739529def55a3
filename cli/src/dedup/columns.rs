//! What a line says: its id, and where in which log it stands.

use std::borrow::Cow;
use std::fmt;

use hapax::replay::Position;

/// Which fields of a line mean what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Counted from 0; none for the whole line.
    id: Vec<usize>,
    place: Option<Place>,
    positions: &'static str,
    delimiter: u8,
}

/// The fields of a position, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    position: usize,
    channel: Option<usize>,
}

impl Place {
    /// Fields that count from 1.
    pub(super) fn new(position: u32, channel: Option<u32>) -> Self {
        let from_0 = |field| field as usize - 1;
        Self { position: from_0(position), channel: channel.map(from_0) }
    }
}

impl Columns {
    /// Fields of the id that count from 1; `positions` says what positions promise.
    pub(super) fn new(
        id: &[u32],
        place: Option<Place>,
        positions: &'static str,
        delimiter: u8,
    ) -> Self {
        let id = id.iter().map(|field| *field as usize - 1).collect();
        Self { id, place, positions, delimiter }
    }

    /// Whether lines have positions.
    pub(super) const fn have_positions(&self) -> bool {
        self.place.is_some()
    }

    /// Whether there are several logs.
    pub(super) fn have_channels(&self) -> bool {
        self.place.is_some_and(|place| place.channel.is_some())
    }

    /// The part of a line that identifies it. Several fields are joined by what separates them, which
    /// is in none of them, so that no two lists of fields are one id.
    ///
    /// # Errors
    ///
    /// If the line has fewer fields: an absent id is not an empty one.
    pub(super) fn id<'a>(&self, line: &'a [u8]) -> Result<Cow<'a, [u8]>, Unreadable> {
        match *self.id.as_slice() {
            [] => Ok(line.into()),
            [field] => Ok(self.field(line, field)?.into()),
            ref fields => {
                let mut id = Vec::new();
                for (i, field) in fields.iter().enumerate() {
                    if i > 0 {
                        id.push(self.delimiter);
                    }
                    id.extend_from_slice(self.field(line, *field)?);
                }
                Ok(id.into())
            }
        }
    }

    /// Where the line stands, if lines have positions.
    ///
    /// # Errors
    ///
    /// If the line has fewer fields, or no numbers in them.
    pub(super) fn position(&self, line: &[u8]) -> Result<Option<Position>, Unreadable> {
        let Some(place) = self.place else { return Ok(None) };
        let sequence = number(self.field(line, place.position)?)
            .ok_or(Unreadable::NotANumber { field: place.position + 1, most: u64::MAX })?;
        let channel = match place.channel {
            None => 0,
            Some(field) => number(self.field(line, field)?)
                .and_then(|channel| u32::try_from(channel).ok())
                .ok_or(Unreadable::NotANumber { field: field + 1, most: u32::MAX.into() })?,
        };
        Ok(Some(Position::new(channel, sequence)))
    }

    fn field<'a>(&self, line: &'a [u8], field: usize) -> Result<&'a [u8], Unreadable> {
        let mut rest = line;
        for found in 1..=field {
            let Some(end) = memchr::memchr(self.delimiter, rest) else {
                return Err(Unreadable::MissingField { expected: field + 1, found });
            };
            rest = &rest[end + 1..];
        }
        Ok(&rest[..memchr::memchr(self.delimiter, rest).unwrap_or(rest.len())])
    }
}

/// A number of digits alone.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// What the state is bound to, and messages say.
impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = || format!("between \"{}\"", self.delimiter.escape_ascii());
        match *self.id.as_slice() {
            [] => f.write_str("whole lines")?,
            [field] => write!(f, "field {} {}", field + 1, between())?,
            ref fields => {
                let fields: Vec<_> = fields.iter().map(|field| (field + 1).to_string()).collect();
                write!(f, "fields {} {}", fields.join(","), between())?;
            }
        }
        if let Some(Place { position, channel }) = self.place {
            write!(f, ", {} positions in field {}", self.positions, position + 1)?;
            if self.id.is_empty() {
                write!(f, " {}", between())?;
            }
            if let Some(channel) = channel {
                write!(f, ", channels in field {}", channel + 1)?;
            }
        }
        Ok(())
    }
}

/// A line without its id or position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    MissingField { expected: usize, found: usize },
    NotANumber { field: usize, most: u64 },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingField { expected, found } => {
                write!(f, "expected at least {expected} fields, found {found}")?;
            }
            Self::NotANumber { field, most } => {
                write!(f, "expected a number from 0 to {most} in field {field}, found none")?;
            }
        }
        f.write_str(
            ": the line was neither passed nor dropped; check --delimiter, --id, --position and \
             --channel",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(id: &[u32], place: Option<Place>) -> Columns {
        Columns::new(id, place, "dense", b',')
    }

    #[test]
    fn a_missing_field_is_not_an_empty_one() {
        let id = columns(&[3], None);
        assert_eq!(id.id(b"a,b,c,d").unwrap(), &b"c"[..]);
        assert_eq!(id.id(b"a,b,").unwrap(), &b""[..]);
        assert_eq!(id.id(b"a,b"), Err(Unreadable::MissingField { expected: 3, found: 2 }));
        assert_eq!(columns(&[], None).id(b"a,b").unwrap(), &b"a,b"[..]);
    }

    #[test]
    fn fields_of_an_id_do_not_run_into_each_other() {
        let id = columns(&[3, 1], None);
        assert_eq!(id.id(b"a,b,c").unwrap(), &b"c,a"[..]);
        assert_ne!(id.id(b"ab,,").unwrap(), id.id(b"a,,b").unwrap());
        assert!(id.id(b"a,b").is_err());
    }

    #[test]
    fn positions_are_numbers() {
        let one = columns(&[], Some(Place::new(2, None)));
        assert_eq!(one.position(b"a,017,b"), Ok(Some(Position::new(0, 17))));
        let two = columns(&[], Some(Place::new(2, Some(1))));
        assert_eq!(two.position(b"3,17"), Ok(Some(Position::new(3, 17))));
        for line in [&b"3,"[..], b"3,x", b"3,+1", b"3,-1", b"3,18446744073709551616", b"3, 1", b"3"]
        {
            assert!(two.position(line).is_err(), "{line:?}");
        }
        assert!(two.position(b"4294967296,1").is_err());
        assert_eq!(columns(&[], None).position(b"x"), Ok(None));
    }

    #[test]
    fn a_state_is_bound_to_all_that_lines_mean() {
        let all = [
            columns(&[], None),
            columns(&[1], None),
            columns(&[1, 2], None),
            columns(&[], Some(Place::new(2, None))),
            columns(&[], Some(Place::new(3, None))),
            columns(&[], Some(Place::new(3, Some(1)))),
            Columns::new(&[], Some(Place::new(3, Some(1))), "monotone", b','),
            Columns::new(&[], Some(Place::new(3, Some(1))), "monotone", b';'),
        ];
        let names: std::collections::BTreeSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
    }
}
