//! The style sheet of the charts.

/// The style sheet. `s0` to `s8` are lines, `f0` to `f8` are areas in the same colours, which start
/// with the palette of Okabe and Ito: readers with any kind of colour vision can tell them apart.
/// Lines differ in their dashes too.
pub(super) const STYLE: &str = "\
svg{font-family:sans-serif;font-size:12px}
svg text{fill:#222}svg .title{font-size:15px;font-weight:bold}.panel{font-size:13px;font-weight:bold}
.page{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#666}.bound{stroke:#222;stroke-width:1.5;stroke-dasharray:5 3}
svg path,.sample,.mark{fill:none;stroke-width:2}.ring{fill:none;stroke-width:1.5;stroke:#222}.mark{stroke:#222}
.s0{stroke:#0072b2}.s1{stroke:#d55e00;stroke-dasharray:7 3}.s2{stroke:#009e73;stroke-width:3}
.s3{stroke:#cc79a7;stroke-dasharray:2 3}.s4{stroke:#555}.s5{stroke:#b8860b;stroke-dasharray:10 3 2 3}
.s6{stroke:#2c8fc9;stroke-dasharray:4 2}.s7{stroke:#7a3e9d;stroke-width:3;stroke-dasharray:12 4}
.s8{stroke:#8b4513;stroke-width:3;stroke-dasharray:3 3}
.f0{fill:#0072b2}.f1{fill:#d55e00}.f2{fill:#009e73}.f3{fill:#cc79a7}.f4{fill:#555}.f5{fill:#b8860b}
.f6{fill:#2c8fc9}.f7{fill:#7a3e9d}.f8{fill:#8b4513}
@media(prefers-color-scheme:dark){svg text{fill:#eee}.page{fill:#16181c}.grid{stroke:#383b42}.axis{stroke:#999}
.ring,.mark,.bound{stroke:#eee}.s0{stroke:#56b4e9}.s1{stroke:#e69f00}.s2{stroke:#2fd0a0}
.s3{stroke:#e6a0c6}.s4{stroke:#bbb}.s5{stroke:#f0e442}.s6{stroke:#8ecbf0}.s7{stroke:#c39be0}.s8{stroke:#d2935f}
.f0{fill:#56b4e9}.f1{fill:#e69f00}.f2{fill:#2fd0a0}.f3{fill:#e6a0c6}.f4{fill:#bbb}.f5{fill:#f0e442}
.f6{fill:#8ecbf0}.f7{fill:#c39be0}.f8{fill:#d2935f}}";

/// The number of styles; series beyond it start again with the first.
pub(super) const STYLES: usize = 9;
