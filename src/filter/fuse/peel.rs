//! Peeling: finding an order in which every key has a cell of its own.
//!
//! ```text
//!  degree  1 2 3 1 ...      a cell that one key alone wants belongs to that key;
//!          │                take the key out of its two other cells, and look again
//!          ▼
//!  order   first peeled ... last peeled      given fingerprints from last to first, so that a
//!                                            key's own cell is given after its two others
//! ```
//!
//! A cell knows its keys by the xor of their indices and by how many they are; with one key left
//! the xor *is* its index. It stays so after the key was taken out of the other two cells, and
//! so the order needs to remember the cells alone. Cells to be looked at and cells peeled are never
//! more than all cells, so both share one array, growing from its two ends. That is 9 bytes a cell;
//! published builders keep the keys' hashes in the cells and in the order, 24 bytes a key.

/// What peeling needs, kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Peeler {
    /// Xor of the indices of the keys that want the cell.
    keys: Vec<u32>,
    /// How many they are.
    degrees: Vec<u8>,
    /// Cells of degree 1 on the left; peeled cells on the right, the last one first.
    order: Vec<u32>,
    /// Where the peeled cells start.
    peeled: usize,
}

impl Peeler {
    /// Peels `keys` keys of which `edge` gives the three cells, all distinct and below `cells`.
    /// `false` if they cannot all be peeled.
    pub(super) fn peel(&mut self, keys: u32, cells: u32, edge: impl Fn(u32) -> [u32; 3]) -> bool {
        self.reset(cells as usize);
        let mut overflow = false;
        for key in 0..keys {
            for cell in edge(key) {
                let degree = &mut self.degrees[cell as usize];
                overflow |= *degree == u8::MAX;
                *degree = degree.saturating_add(1);
                self.keys[cell as usize] ^= key;
            }
        }
        if overflow {
            return false;
        }
        let mut waiting = 0;
        for cell in 0..cells {
            if self.degrees[cell as usize] == 1 {
                self.order[waiting] = cell;
                waiting += 1;
            }
        }
        while waiting > 0 {
            waiting -= 1;
            let cell = self.order[waiting];
            if self.degrees[cell as usize] == 0 {
                continue;
            }
            let key = self.keys[cell as usize];
            self.peeled -= 1;
            self.order[self.peeled] = cell;
            self.degrees[cell as usize] = 0;
            for other in others(edge(key), cell) {
                let degree = &mut self.degrees[other as usize];
                if *degree == 2 {
                    self.order[waiting] = other;
                    waiting += 1;
                }
                *degree = degree.saturating_sub(1);
                self.keys[other as usize] ^= key;
            }
        }
        self.order.len() - self.peeled == keys as usize
    }

    fn reset(&mut self, cells: usize) {
        self.keys.clear();
        self.keys.resize(cells, 0);
        self.degrees.clear();
        self.degrees.resize(cells, 0);
        self.order.resize(cells, 0);
        self.peeled = cells;
    }

    /// Each key with its own cell, in an order in which its two other cells are final when it
    /// comes. After a successful [`peel`](Self::peel).
    pub(super) fn assignments(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.order[self.peeled..].iter().map(move |&cell| (self.keys[cell as usize], cell))
    }
}

/// The two cells of an edge that are not this one, in turn after it.
#[inline]
pub(super) const fn others([first, second, third]: [u32; 3], cell: u32) -> [u32; 2] {
    if cell == first {
        [second, third]
    } else if cell == second {
        [third, first]
    } else {
        [first, second]
    }
}
