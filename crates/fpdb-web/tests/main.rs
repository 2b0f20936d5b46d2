//! Tests of the public interface. All but `growth`, which measures time, are one program, because
//! each takes a while to link.

mod damage;
mod edge;
mod frozen;
mod layouts;
mod real;
mod variants;
