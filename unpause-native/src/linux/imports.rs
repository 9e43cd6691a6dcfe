//! The functions that a program imports from shared libraries.

use std::ffi::{CStr, CString, c_int, c_void};

/// Returns the address of an imported function, and the file name of its library. `None` if no library defines the
/// name, or if the name is not a function.
pub(crate) fn find(name: &str) -> Option<(usize, String)> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is null-terminated.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    let mut found = Found { address, path: None };
    // SAFETY: the callback is called only during this call, with the pointer passed here.
    unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut found).cast()) };
    let path = found.path?;
    let file = path.rsplit('/').next().unwrap_or_default();
    Some((address, file.to_owned()))
}

/// An address, and the path of the library with code at this address.
struct Found {
    address: usize,
    path: Option<String>,
}

/// Compares the address with the code of an object.
unsafe extern "C" fn read(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the headers and the name are from the linker, and the pointer was passed to `dl_iterate_phdr`.
    unsafe {
        let (object, found) = (&*object, &mut *found.cast::<Found>());
        let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        let has_address = headers.iter().any(|header| {
            let begin = (object.dlpi_addr + header.p_vaddr) as usize;
            let is_code = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
            is_code && found.address.wrapping_sub(begin) < header.p_memsz as usize
        });
        if has_address {
            let path = CStr::from_ptr(object.dlpi_name).to_string_lossy();
            found.path = Some(path.into_owned());
        }
        // A result other than 0 ends the iteration.
        c_int::from(has_address)
    }
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
