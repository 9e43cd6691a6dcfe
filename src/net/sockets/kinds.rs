//! Sockets of two kinds, simulated or real: [`Of`], and [`two_kinds!`] for methods that both kinds have.

/// A socket of a run, or a real socket of the operating system.
pub(super) enum Of<S, R> {
    Run(S),
    Real(R),
}

/// Declares methods of a socket whose field 0 is an [`Of`]. The macro is used in an `impl` block.
///
/// The body of a method is the arm for a run: a closure with the socket of the run and the place of the call. The other
/// arm calls the method of the same name on the real socket, with the same arguments. A second closure, `|real| …`,
/// replaces this call if the names or the types differ.
///
/// ```text
/// two_kinds! {
///     check_outside;
///
///     /// Reads what is there. Not a point.
///     #[track_caller]
///     pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
///         |run, here| run.end.try_read(buf, here)
///     }
///
///     /// Waits until a read would not wait. A point.
///     #[track_caller]
///     pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
///         async |run, here| readable(&run.end, here).await
///     }
/// }
/// ```
///
/// With `check_outside;`, the methods return an error for a real socket in a run. Without this line, for example for
/// addresses and options, the methods accept real sockets everywhere.
///
/// The closures are only a notation: `?` returns from the method, and `here` is the place of the method's caller if the
/// method has `#[track_caller]`. With `async`, the method returns a future. The place is determined before the first
/// poll.
macro_rules! two_kinds {
    (check_outside; $($methods:tt)*) => {
        two_kinds! { @methods [check_outside] $($methods)* }
    };
    ($(#[$attribute:meta])* $vis:vis fn $($methods:tt)*) => {
        two_kinds! { @methods [] $(#[$attribute])* $vis fn $($methods)* }
    };
    (@methods $check:tt $(
        $(#[$attribute:meta])*
        $vis:vis fn $name:ident $(<$type:ident>)? ($($args:tt)*) -> $result:ty { $($body:tt)* }
    )*) => {$(
        $(#[$attribute])*
        $vis fn $name $(<$type>)? ($($args)*) -> $result {
            two_kinds!(@receiver ($($args)*) $check $name { $($body)* })
        }
    )*};

    // Extracts the receiver from the arguments. The rule for `mut` is first, because an identifier pattern also matches
    // `mut`.
    (@receiver (&mut $self:ident $($args:tt)*) $($rest:tt)*) => {
        two_kinds!(@body (&mut $self.0) ($($args)*) $($rest)*)
    };
    (@receiver (&$self:ident $($args:tt)*) $($rest:tt)*) => {
        two_kinds!(@body (&$self.0) ($($args)*) $($rest)*)
    };
    (@receiver ($self:ident $($args:tt)*) $($rest:tt)*) => {
        two_kinds!(@body ($self.0) ($($args)*) $($rest)*)
    };

    // Adds the call of the real socket.
    (
        @body $of:tt ($(, $arg:ident: $type:ty)* $(,)?) $check:tt $name:ident
        { |$run:ident, $here:ident| $act:expr }
    ) => {
        two_kinds!(@arms $of $check { |$run, $here| $act; |real| real.$name($($arg),*) })
    };
    (
        @body $of:tt ($(, $arg:ident: $type:ty)* $(,)?) $check:tt $name:ident
        { async |$run:ident, $here:ident| $act:expr }
    ) => {
        two_kinds!(@arms $of $check { async |$run, $here| $act; async |real| real.$name($($arg),*).await })
    };
    (@body $of:tt $args:tt $check:tt $name:ident $body:tt) => {
        two_kinds!(@arms $of $check $body)
    };

    (
        @arms ($of:expr) [$($check:ident)?]
        { |$run:ident, $here:ident| $act:expr; |$real:ident| $call:expr }
    ) => {
        match $of {
            $crate::net::sockets::kinds::Of::Run($run) => {
                let $here = $crate::seam::here();
                $act
            }
            $crate::net::sockets::kinds::Of::Real($real) => {
                $($crate::net::sockets::$check($crate::seam::here())?;)?
                $call
            }
        }
    };
    (
        @arms ($of:expr) [$($check:ident)?]
        { async |$run:ident, $here:ident| $act:expr; async |$real:ident| $call:expr }
    ) => {{
        let $here = $crate::seam::here();
        async move {
            match $of {
                $crate::net::sockets::kinds::Of::Run($run) => $act,
                $crate::net::sockets::kinds::Of::Real($real) => {
                    $($crate::net::sockets::$check($here)?;)?
                    $call
                }
            }
        }
    }};
}

pub(super) use two_kinds;
