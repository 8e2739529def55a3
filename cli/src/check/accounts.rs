//! Rows of accounts: `user:hash`, and what dumps of Windows accounts look like.
//!
//! ```text
//!  alice:8846F7EAEE8FB117AD06BDD830B7586C
//!  CORP\alice:1103:aad3b435b51404eeaad3b435b51404ee:8846f7eaee8fb117ad06bdd830b7586c:::
//!  └─ label ┘ rid  LM                               NT hash: the candidate
//! ```

use std::ops::Range;

use super::batch::Fault;

/// Finds user and hash in a row.
pub(super) fn split(row: &[u8]) -> Result<(Range<usize>, Range<usize>), Fault> {
    let colons: [Option<usize>; 4] = {
        let mut found = memchr::memchr_iter(b':', row);
        [found.next(), found.next(), found.next(), found.next()]
    };
    let (user, hash) = match colons {
        [Some(user), Some(rid), Some(lm), end]
            if rid > user + 1 && row[user + 1..rid].iter().all(u8::is_ascii_digit) =>
        {
            (0..user, lm + 1..end.unwrap_or(row.len()))
        }
        [Some(user), None, ..] => (0..user, user + 1..row.len()),
        _ => return Err(Fault::NoAccount),
    };
    // Dumps write this where an account has none.
    if hash.is_empty() || row[hash.clone()].starts_with(b"NO PASSWORD") {
        return Err(Fault::NoHash);
    }
    if user.is_empty() {
        return Err(Fault::NoAccount);
    }
    Ok((user, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NT: &str = "8846f7eaee8fb117ad06bdd830b7586c";

    #[test]
    fn user_and_hash_are_found() {
        for (row, user) in [
            (format!("alice:{NT}"), "alice"),
            (format!("CORP\\alice:1103:aad3b435b51404eeaad3b435b51404ee:{NT}:::"), "CORP\\alice"),
            (format!("bob:500:NO PASSWORD*********************:{NT}:::"), "bob"),
            (format!("PC1$:1104::{NT}::: (status=Enabled)"), "PC1$"),
            (format!("eve:1:x:{NT}"), "eve"),
        ] {
            let (found, hash) = split(row.as_bytes()).unwrap();
            assert_eq!((&row[found], &row[hash]), (user, NT), "{row}");
        }
    }

    #[test]
    fn rows_without_a_hash_are_told_from_rows_that_are_none() {
        for row in ["alice:", "bob:500:aad3:NO PASSWORD*********************:::", "eve:500:::::"] {
            assert_eq!(split(row.as_bytes()), Err(Fault::NoHash), "{row}");
        }
        for row in [NT, "", &format!(":{NT}"), "a:b:c", &format!("a:b:c:{NT}"), "a:b:c:d:e:f"] {
            assert_eq!(split(row.as_bytes()), Err(Fault::NoAccount), "{row}");
        }
    }
}
