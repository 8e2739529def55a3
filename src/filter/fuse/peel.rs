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
//! more than all cells, so both share one array, growing from its two ends. That is 8 bytes a cell;
//! published builders keep the keys' hashes in the cells and in the order, 24 bytes a key.

/// Keys that can be peeled at once.
pub(super) const MAX_KEYS: usize = 1 << 24;

/// One key in the number of keys of a cell, which is above their xor.
const ONE: u32 = 1 << 24;

/// How many cells ahead `soon` is told of those that wait.
const AHEAD: usize = 8;

/// What peeling needs, kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Peeler {
    /// For each cell: 8 bits for how many keys want it, 24 for the xor of their indices.
    cells: Vec<u32>,
    /// Cells of one key on the left; peeled cells on the right, the last one first.
    order: Vec<u32>,
    /// Where the peeled cells start.
    peeled: usize,
}

impl Peeler {
    /// Peels at most [`MAX_KEYS`] keys of which `edge` gives the three cells, all distinct and below
    /// `cells`. `soon` is told of a key whose cells will be asked for. `false` if they cannot all be
    /// peeled.
    pub(super) fn peel(
        &mut self,
        keys: u32,
        cells: u32,
        edge: impl Fn(u32) -> [u32; 3],
        soon: impl Fn(u32),
    ) -> bool {
        self.reset(cells as usize);
        let mut overflow = false;
        for key in 0..keys {
            for cell in edge(key) {
                let cell = &mut self.cells[cell as usize];
                overflow |= *cell >= ONE.wrapping_neg();
                *cell = cell.wrapping_add(ONE) ^ key;
            }
        }
        if overflow {
            return false;
        }
        let mut waiting = 0;
        for (number, &cell) in (0..).zip(&self.cells) {
            if cell / ONE == 1 {
                self.order[waiting] = number;
                waiting += 1;
            }
        }
        while waiting > 0 {
            waiting -= 1;
            let own = self.order[waiting];
            if let Some(&own) = waiting.checked_sub(AHEAD).and_then(|place| self.order.get(place)) {
                soon(self.key_of(own));
            }
            if self.cells[own as usize] < ONE {
                continue;
            }
            let key = self.key_of(own);
            self.peeled -= 1;
            self.order[self.peeled] = own;
            self.cells[own as usize] = key;
            for other in others(edge(key), own) {
                let cell = &mut self.cells[other as usize];
                *cell = cell.wrapping_sub(ONE) ^ key;
                if *cell / ONE == 1 {
                    soon(*cell % ONE);
                    self.order[waiting] = other;
                    waiting += 1;
                }
            }
        }
        self.order.len() - self.peeled == keys as usize
    }

    fn reset(&mut self, cells: usize) {
        self.cells.clear();
        self.cells.resize(cells, 0);
        self.order.resize(cells, 0);
        self.peeled = cells;
    }

    /// The cells in an order in which a key's two other cells are final when its own comes. After a
    /// successful [`peel`](Self::peel).
    pub(super) fn peeled(&self) -> &[u32] {
        &self.order[self.peeled..]
    }

    /// The key whose own cell this is.
    #[inline]
    pub(super) fn key_of(&self, cell: u32) -> u32 {
        self.cells[cell as usize] % ONE
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
