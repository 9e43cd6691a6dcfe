//! The functions that a program imports from shared libraries.

use std::ffi::CString;
use std::ops::ControlFlow;

use super::loaded::{self, LoadedObject};

/// Returns the address of an imported function, and the file name of its library. `None` if no library defines the
/// name, or if the name is not a function.
pub(crate) fn find(name: &str) -> Option<(usize, String)> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is null-terminated.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    let mut path = None;
    loaded::each(&mut |object| {
        if !has_code_at(object, address) {
            return ControlFlow::Continue(());
        }
        path = Some(object.path());
        ControlFlow::Break(())
    });
    let path = path?;
    let file = path.rsplit('/').next().unwrap_or_default();
    Some((address, file.to_owned()))
}

fn has_code_at(object: &LoadedObject<'_>, address: usize) -> bool {
    object.headers().iter().any(|header| {
        let is_code = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
        is_code && object.range(header).contains(&address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_function_is_known() {
        let (address, library) = find("qsort").unwrap();
        assert!(library.starts_with("libc.so"), "{library}");
        // SAFETY: the name is null-terminated.
        assert_eq!(address, unsafe { libc::dlsym(libc::RTLD_NEXT, c"qsort".as_ptr()) } as usize);
        assert_eq!(find("unpause_has_no_such_function"), None);
        // A variable.
        assert_eq!(find("stdout"), None);
    }
}
