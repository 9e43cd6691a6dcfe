//! Functions and items that cannot be a test: each error is at the wrong word.

fn main() {}

#[sim::test]
fn not_async() {
    // The function is treated as if it were `async`.
    std::future::ready(()).await;
}

#[sim::test(seeds = 3)]
async fn with_arguments(a: u32, (b, _): (u32, &str)) {
    assert_eq!(a, b);
}

#[sim::test(seeds = 3)]
#[rstest::rstest]
#[case(1)]
async fn above_rstest(#[case] a: u32) {
    assert_eq!(a, 1);
}

#[sim::test(seeds = 3)]
#[test_case::test_case(1)]
async fn above_test_case(a: u32) {
    assert_eq!(a, 1);
}

#[sim::test]
async fn generic<T: Default, const N: usize>() {
    let _: [T; N] = std::array::from_fn(|_| T::default());
}

#[sim::test]
async fn with_a_lifetime<'a>() {}

#[sim::test]
async fn with_a_where_clause()
where
    u32: Copy,
{
}

struct Fixture(u32);

impl Fixture {
    #[sim::test]
    async fn a_method(&self) {
        assert_eq!(self.0, 1);
    }
}

#[sim::test]
async fn with_self_outside_an_impl(self) {}

#[sim::test]
const async fn constant() {}

#[sim::test]
async unsafe fn not_safe() {}

#[sim::test]
async extern "C" fn foreign() {}

#[sim::test]
async fn that_hides_its_type() -> Result<(), impl std::fmt::Debug> {
    Err("an error")
}

#[sim::test]
#[test]
async fn a_test_twice() {}

#[sim::test]
#[sim::test(seeds = 3)]
async fn a_simulated_test_twice() {}

#[sim::test]
struct NoFunction;

#[sim::test]
pub(crate) mod tests {}

trait Contract {
    #[sim::test]
    async fn without_a_body();
}

#[sim::test(sedes = 3, time = "5sec")]
#[test]
unsafe fn everything_at_once<T>(a: u32) {
    let _: T = a;
}
