//! Cells.

use std::fmt::Debug;

use sim::{Cell, RaceCell};

use super::{is_static, of};

static LIST: Cell<Vec<u8>> = Cell::const_new(Vec::new());
static PLAIN: RaceCell<Vec<u8>> = RaceCell::const_new(Vec::new()).named("plain");

#[test]
fn a_race_cell() {
    is_static(&PLAIN);
    let mut cell: RaceCell<Vec<u8>> = RaceCell::new(vec![1]).shared();
    let _: (RaceCell<u8>, RaceCell<u8>) = (RaceCell::from(1), RaceCell::default());
    let _: &dyn Debug = &cell;
    let list: Vec<u8> = PLAIN.get();
    assert_eq!(list, []);
    let first: Option<u8> = cell.with(|list| list.first().copied());
    let _: () = cell.with_mut(|list| list.push(2));
    let _: () = cell.set(vec![3]);
    let old: Vec<u8> = cell.replace(vec![4]);
    assert_eq!((first, old), (Some(1), vec![3]));
    let last: &mut Vec<u8> = cell.get_mut();
    last.push(5);
    let last: Vec<u8> = cell.into_inner();
    assert_eq!(last, [4, 5]);
}

#[test]
fn a_cell() {
    sim::block_on(async {
        is_static(&LIST);
        let mut cell: Cell<Vec<u8>> = Cell::new(vec![1]);
        is_static(&cell);
        let _: (Cell<u8>, Cell<u8>) = (Cell::from(1), Cell::default());
        let _: &dyn Debug = &cell;
        assert_eq!(of::<Vec<u8>>(LIST.get()).await, []);
        of::<()>(cell.set(vec![2])).await;
        assert_eq!(of::<Vec<u8>>(cell.replace(vec![3])).await, [2]);
        assert_eq!(of::<Vec<u8>>(cell.take()).await, [3]);
        let _: Vec<u8> = cell.peek();
        let last: &mut Vec<u8> = cell.get_mut();
        last.push(4);
        let last: Vec<u8> = cell.into_inner();
        assert_eq!(last, [4]);
    });
}
