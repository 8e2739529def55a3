//! Quotation marks of CSV, followed beside the parser, which forgives what must not be forgiven here.
//!
//! ```text
//!  note,password               a mark is missing after "late: what the parser takes for the first
//!  "late,secret1               value goes on to the next mark that is opened, and the passwords in
//!  x,secret2                   between are in it. What follows a closing mark is a delimiter or the
//!  "early",secret3             end of the record (RFC 4180); here it is `early`.
//! ```
//!
//! The same rule finds `"pa"ss`, which is no way to write any password: the parser makes `pass` of it.

/// Where in a record the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Outside of quotation marks.
    Outside,
    /// Inside of them.
    Inside,
    /// After a mark inside: it closes the value, or is the first of a doubled one.
    AfterMark,
}

/// Follows the marks of a record, whatever pieces it comes in.
#[derive(Debug)]
pub(super) struct Quotes {
    delimiter: u8,
    place: Place,
    /// The byte before the next one; at the start of a record, as at that of any column.
    before: u8,
    stray: bool,
}

impl Quotes {
    pub(super) const fn new(delimiter: u8) -> Self {
        Self { delimiter, place: Place::Outside, before: delimiter, stray: false }
    }

    /// Starts a record.
    pub(super) const fn begin(&mut self) {
        (self.place, self.before, self.stray) = (Place::Outside, self.delimiter, false);
    }

    /// Whether text followed a closing mark.
    pub(super) const fn are_stray(&self) -> bool {
        self.stray
    }

    /// Follows the next piece of the record.
    pub(super) fn follow(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            let taken = match self.place {
                Place::AfterMark => {
                    self.place = if first == b'"' { Place::Inside } else { Place::Outside };
                    self.stray |= ![b'"', self.delimiter, b'\r', b'\n'].contains(&first);
                    1
                }
                place => match memchr::memchr(b'"', rest) {
                    Some(at) => {
                        let before = at.checked_sub(1).map_or(self.before, |before| rest[before]);
                        if place == Place::Inside {
                            self.place = Place::AfterMark;
                        } else if before == self.delimiter {
                            self.place = Place::Inside;
                        }
                        at + 1
                    }
                    None => rest.len(),
                },
            };
            self.before = rest[taken - 1];
            rest = &rest[taken..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_after_a_closing_mark_is_stray() {
        for (record, stray) in [
            ("", false),
            ("a,b\n", false),
            ("\"a\",\"b\"\r\n", false),
            ("\"a\nb\",\"\"\n", false),
            ("\"a\"\"b\",\"\"\"\"\n", false),
            ("a\"b,c\"\n", false),
            ("a, \"b\" c\n", false),
            ("\"open,b\n", false),
            ("\"a\"", false),
            ("\"a\"b,c\n", true),
            ("a,\"b\" \n", true),
            ("\"late,1\nx,2\n\"early\",3\n", true),
            ("\"\"a\n", true),
            ("\"\"\"a\"\"b\",\"c\"d\n", true),
        ] {
            let bytes = record.as_bytes();
            for piece in 1..=bytes.len().max(1) {
                let mut quotes = Quotes::new(b',');
                // What another record left behind.
                quotes.follow(b"\"a\"b,\"c");
                quotes.begin();
                bytes.chunks(piece).for_each(|piece| quotes.follow(piece));
                assert_eq!(quotes.are_stray(), stray, "{record:?} by {piece}");
            }
        }
    }
}
