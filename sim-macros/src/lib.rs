//! The attribute macro of unpause.
