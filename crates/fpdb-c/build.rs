//! Names the shared library, so that a program which is linked with it asks for the library of its
//! own interface when it starts.

/// The source that has the number of the interface.
const STRUCTS: &str = "src/structs.rs";

fn main() {
    println!("cargo:rerun-if-changed={STRUCTS}");
    let source = std::fs::read_to_string(STRUCTS).expect("structs.rs is beside build.rs");
    let abi = number(&source).expect("structs.rs has FPDB_ABI");
    let apple = std::env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    let unix = std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "unix");
    if apple {
        let name = format!("@rpath/libfpdb_c.{abi}.dylib");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,{name}");
    } else if unix {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfpdb_c.so.{abi}");
    }
}

/// Returns the number of the interface.
fn number(source: &str) -> Option<u32> {
    let (_, rest) = source.split_once("pub const FPDB_ABI: u32 = ")?;
    rest.split_once(';')?.0.parse().ok()
}
