//! Socket options: a getter and a setter for each.

/// Calls the method of tokio's socket. If the method has a former name in tokio, calls it by that name.
macro_rules! of_tokio {
    ($socket:ident, $name:ident($($value:ident)?)) => { $socket.$name($($value)?) };
    ($socket:ident, $name:ident($($value:ident)?), $old:ident) => {{
        #[allow(deprecated, reason = "its new name is not in all releases of tokio 1")]
        let result = $socket.$old($($value)?);
        result
    }};
}

/// Defines the getters and setters of a socket, with [`two_kinds!`](super::kinds::two_kinds). A socket of a run
/// must have the methods `option` and `set_option`, which record the operation.
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
                /// If the socket belongs to another run; outside of runs, the errors of the
                /// operating system.
                #[track_caller]
                pub fn $get(&self) -> io::Result<$type> {
                    |run, here| run.option(here, |options| options.$field);
                    |real| of_tokio!(real, $get() $(, $old_get)?)
                }

                $(#[$set_doc])*
                ///
                /// # Errors
                /// If the socket belongs to another run; outside of runs, the errors of the
                /// operating system.
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
