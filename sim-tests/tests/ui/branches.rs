//! Wrong input of `select!`, `join!` and `try_join!`: each error is at the wrong word.

fn main() {}

async fn no_branch() {
    sim::select! {}
}

async fn only_biased() {
    sim::select! { biased; }
}

async fn no_pattern(future: impl Future<Output = u8>) {
    sim::select! {
        future.await => {}
    }
}

async fn an_arrow_for_a_pattern() {
    sim::select! {
        value => async { 1 },
    }
}

async fn no_handler() {
    sim::select! {
        value = async { 1 },
    }
}

async fn nothing_after_the_future() {
    sim::select! {
        value = async { 1 }
    }
}

async fn no_comma_before_if() {
    sim::select! {
        value = async { 1 } if true => value,
    };
}

async fn no_comma_between_branches() {
    sim::select! {
        a = async { 1 } => a + 1
        b = async { 2 } => b,
    };
}

async fn biased_later() {
    sim::select! {
        a = async { 1 } => a,
        biased;
        b = async { 2 } => b,
    };
}

async fn else_before_the_end() {
    sim::select! {
        a = async { 1 } => a,
        else => 2,
        b = async { 2 } => b,
    };
}

async fn else_with_a_condition() {
    sim::select! {
        Some(a) = async { None } => a,
        else if true => 2,
    };
}

async fn no_comma_between_futures() {
    sim::join!(async { 1 } async { 2 });
}

async fn not_a_future() {
    sim::join!(1);
}

async fn not_a_result() {
    sim::try_join!(async { 1 });
}

fn not_async() {
    sim::select! { () = async {} => {} }
}

async fn handlers_of_two_types() {
    let _: u8 = sim::select! {
        a = async { 1 } => a,
        b = async { "b" } => b,
    };
}
