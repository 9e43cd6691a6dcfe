//! Options of sockets: for each, a getter and a setter.

/// Calls the method of tokio's socket, by its old name if it has one.
macro_rules! of_tokio {
    ($socket:ident, $name:ident($($value:ident)?)) => { $socket.$name($($value)?) };
    ($socket:ident, $name:ident($($value:ident)?), $old:ident) => {{
        #[allow(deprecated, reason = "its new name is not in all releases of tokio 1")]
        let result = $socket.$old($($value)?);
        result
    }};
}

/// Writes the methods of a socket, by [`two_kinds!`](super::kinds::two_kinds). A socket of a run has `option` and
/// `set_option`, which record the operation.
macro_rules! options {
    ($of:ty: $(
        $(#[$get_doc:meta])* $get:ident $(, once $old_get:ident)?;
        $(#[$set_doc:meta])* $set:ident $(, once $old_set:ident)?: $type:ty => $field:ident;
    )*) => {
        impl $of {
            two_kinds! {$(
                $(#[$get_doc])*
                ///
                /// # Errors
                /// If the socket is of another run; outside of runs, the errors of the system.
                #[track_caller]
                pub fn $get(&self) -> io::Result<$type> {
                    |run, here| run.option(here, |options| options.$field);
                    |real| of_tokio!(real, $get() $(, $old_get)?)
                }

                $(#[$set_doc])*
                ///
                /// # Errors
                /// If the socket is of another run; outside of runs, the errors of the system.
                #[track_caller]
                pub fn $set(&self, value: $type) -> io::Result<()> {
                    |run, here| run.set_option(here, |options| options.$field = value);
                    |real| of_tokio!(real, $set(value) $(, $old_set)?)
                }
            )*}
        }
    };
}

pub(super) use {of_tokio, options};
