//! Fingerprints of texts, and how similar they are.
//!
//! | file | concern |
//! | --- | --- |
//! | `fingerprints` | fingerprints and sketches |
//! | `jaccard` | exact similarities |
//! | `minhash` | minima, the similarity that they estimate, and bands |

pub(crate) mod fingerprints;
pub(crate) mod jaccard;
pub(crate) mod minhash;
