//! The objects in the memory of the process: the program and its shared libraries, with the headers of their segments.

use std::ffi::{CStr, c_int, c_void};
use std::ops::{ControlFlow, Range};

/// The program, or a shared library.
pub(super) struct LoadedObject<'a> {
    info: &'a libc::dl_phdr_info,
}

impl<'a> LoadedObject<'a> {
    /// Returns the headers of the segments.
    pub(super) fn headers(&self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: pointer and length are from the dynamic linker, and the object is not unloaded during the walk.
        unsafe { std::slice::from_raw_parts(self.info.dlpi_phdr, self.info.dlpi_phnum.into()) }
    }

    /// Returns the address at which the object is loaded.
    pub(super) fn address(&self) -> usize {
        self.info.dlpi_addr as usize
    }

    /// Returns the addresses of a segment.
    pub(super) fn range(&self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let begin = (self.info.dlpi_addr + header.p_vaddr) as usize;
        begin..begin + header.p_memsz as usize
    }

    /// Returns the address of the thread-local variables of this thread.
    pub(super) fn thread_locals(&self) -> usize {
        self.info.dlpi_tls_data as usize
    }

    /// Returns the path of the file; empty for the program.
    pub(super) fn path(&self) -> String {
        // SAFETY: the dynamic linker ends the name with a zero byte.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }.to_string_lossy().into_owned()
    }
}

/// Calls `visit` with the objects, the program first, until it returns [`ControlFlow::Break`].
pub(super) fn each(mut visit: &mut dyn FnMut(&LoadedObject<'_>) -> ControlFlow<()>) {
    unsafe extern "C" fn call(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the description is from the linker, and the pointer was passed to `dl_iterate_phdr` below.
        let (info, visit) = unsafe {
            (&*info, &mut *visit.cast::<&mut dyn FnMut(&LoadedObject<'_>) -> ControlFlow<()>>())
        };
        // A result other than 0 ends the iteration.
        c_int::from(visit(&LoadedObject { info }).is_break())
    }
    // SAFETY: the callback is called only during this call, with the pointer passed here.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut visit).cast()) };
}

/// Returns what `read` returns for the program.
pub(super) fn of_program<T>(read: impl Fn(&LoadedObject<'_>) -> T) -> Option<T> {
    let mut found = None;
    each(&mut |program| {
        found = Some(read(program));
        ControlFlow::Break(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_object_and_contains_this_function() {
        let here = the_program_is_the_first_object_and_contains_this_function as *const () as usize;
        let contains = |object: &LoadedObject<'_>| {
            let loaded = object.headers().iter().filter(|header| header.p_type == libc::PT_LOAD);
            loaded.map(|header| object.range(header)).any(|range| range.contains(&here))
        };
        assert_eq!(of_program(contains), Some(true));
        let mut with_code = Vec::new();
        each(&mut |object| {
            with_code.push(contains(object));
            ControlFlow::Continue(())
        });
        assert!(with_code.len() > 1, "the libc is a shared library");
        assert_eq!(with_code.iter().filter(|contains| **contains).count(), 1);
    }
}
