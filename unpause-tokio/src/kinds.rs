//! Values of two kinds: values of a run, or tokio's values.

/// A value of a run, or tokio's value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Of<S, R> {
    Run(S),
    Real(R),
}

/// Evaluates an expression with a value of either kind: `each!(&self.0, task => task.abort())`.
macro_rules! each {
    ($of:expr, $value:ident => $act:expr) => {
        match $of {
            $crate::kinds::Of::Run($value) => $act,
            $crate::kinds::Of::Real($value) => $act,
        }
    };
}

pub(crate) use each;
