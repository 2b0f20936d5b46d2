//! Writes `crates/fpdb-c/include/fpdb.h`, or with `--check` fails if it is not what this would
//! write.
//!
//!     cargo run --manifest-path tools/header/Cargo.toml

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/fpdb-c");
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(
            "/* The C interface of fpdb. README.md of the package fpdb-c says how to use it. */"
                .into(),
        ),
        autogen_warning: Some("/* Made by tools/header. Do not edit. */".into()),
        include_guard: Some("FPDB_H".into()),
        cpp_compat: true,
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h"].map(Into::into).into(),
        usize_is_size_t: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        // What functions take as numbers and bytes.
        export: cbindgen::ExportConfig {
            include: [
                "FpdbBits128",
                "FpdbDurability",
                "FpdbIds",
                "FpdbOnDuplicate",
                "FpdbVerifyLevel",
                "FpdbWriteMode",
            ]
            .map(Into::into)
            .into(),
            ..Default::default()
        },
        enumeration: cbindgen::EnumConfig {
            rename_variants: cbindgen::RenameRule::ScreamingSnakeCase,
            prefix_with_name: true,
            ..Default::default()
        },
        ..Default::default()
    };
    let bindings =
        cbindgen::Builder::new().with_crate(&package).with_config(config).generate().unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    let path = package.join("include/fpdb.h");
    if !std::env::args().any(|argument| argument == "--check") {
        std::fs::write(path, header).unwrap();
    } else if std::fs::read(path).unwrap_or_default() != header {
        eprintln!("crates/fpdb-c/include/fpdb.h is not current: run tools/header");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
