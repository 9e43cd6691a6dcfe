//! The text form of a trace.
