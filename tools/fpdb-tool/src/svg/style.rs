//! How charts look.

/// Colours are those of Okabe and Ito, which people with any colour vision can tell apart; lines
/// differ in dashes too.
pub(super) const STYLE: &str = "\
svg{font-family:sans-serif;font-size:12px}
svg text{fill:#222}svg .title{font-size:15px;font-weight:bold}.panel{font-size:13px;font-weight:bold}
.page{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#666}
svg path,.sample,.mark{fill:none;stroke-width:2}.ring{fill:none;stroke-width:1.5;stroke:#222}.mark{stroke:#222}
.s0{stroke:#0072b2}.s1{stroke:#d55e00;stroke-dasharray:7 3}.s2{stroke:#009e73;stroke-width:3}
.s3{stroke:#cc79a7;stroke-dasharray:2 3}.s4{stroke:#555}.s5{stroke:#b8860b;stroke-dasharray:10 3 2 3}
.s6{stroke:#2c8fc9;stroke-dasharray:4 2}.s7{stroke:#7a3e9d;stroke-width:3;stroke-dasharray:12 4}
.s8{stroke:#8b4513;stroke-width:3;stroke-dasharray:3 3}
.d0{fill:#0072b2}.d1{fill:#d55e00}.d2{fill:#009e73}.d3{fill:#cc79a7}.d4{fill:#555}.d5{fill:#b8860b}
.d6{fill:#2c8fc9}.d7{fill:#7a3e9d}.d8{fill:#8b4513}
@media(prefers-color-scheme:dark){svg text{fill:#eee}.page{fill:#16181c}.grid{stroke:#383b42}.axis{stroke:#999}
.ring,.mark{stroke:#eee}.s0{stroke:#56b4e9}.s1{stroke:#e69f00}.s2{stroke:#2fd0a0}
.s3{stroke:#e6a0c6}.s4{stroke:#bbb}.s5{stroke:#f0e442}.s6{stroke:#8ecbf0}.s7{stroke:#c39be0}.s8{stroke:#d2935f}
.d0{fill:#56b4e9}.d1{fill:#e69f00}.d2{fill:#2fd0a0}.d3{fill:#e6a0c6}.d4{fill:#bbb}.d5{fill:#f0e442}
.d6{fill:#8ecbf0}.d7{fill:#c39be0}.d8{fill:#d2935f}}";

/// Number of styles that lines can have; further lines begin again with the first.
pub(super) const STYLES: usize = 9;
