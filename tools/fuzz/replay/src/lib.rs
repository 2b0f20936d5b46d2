//! Has no code: a package needs a library or a program, and the test is in `tests/`.
