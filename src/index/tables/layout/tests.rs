use super::*;
use crate::base::error::ErrorKind;
use crate::fingerprint::Word;

pub(super) struct Rng(fastrand::Rng);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.0.u32(..n)
    }

    pub(super) fn fingerprint<F: Word>(&mut self) -> F {
        F::from_u128(self.0.u128(..))
    }
}

#[test]
fn presets_have_the_known_cells() {
    let cells = |name| Layout::preset(name, 64).unwrap().cells;
    assert_eq!(cells("ring-3"), [25, 19, 20]);
    assert_eq!(cells("ring-4"), [16; 4]);
    for name in Layout::preset_names() {
        for bits in [64, 128] {
            let layout = Layout::preset(name, bits).unwrap();
            assert_eq!(layout.name(), *name);
            let tables = name.rsplit('-').next().unwrap().parse().unwrap_or(1);
            assert_eq!(layout.tables(), tables);
        }
    }
}

#[test]
fn an_unknown_preset_is_refused_with_the_names() {
    let error = Layout::preset("ring-5", 64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for name in Layout::preset_names() {
        assert!(error.to_string().contains(name));
    }
    assert_eq!(Layout::preset("single", 32).unwrap_err().kind(), ErrorKind::InvalidArgument);
    for wrong in ["ring:", "ring:21/21/21", "ring:64:3c2", "ring:0/64", "ring:64/"] {
        assert!(Layout::preset(wrong, 64).is_err(), "{wrong}");
    }
}

#[test]
fn rings_are_parsed_from_the_widths_of_their_cells() {
    let layout = Layout::preset("ring:21/21/22", 64).unwrap();
    assert_eq!((layout.name(), layout.cells()), ("ring:21/21/22", &[21, 21, 22][..]));
    let orders = [0, 1, 2].map(|table| layout.order(table));
    assert_eq!(orders, [&[0, 1, 2], &[1, 2, 0], &[2, 0, 1]]);
}

#[test]
fn new_refuses_invalid_layouts() {
    let ok = |name: &str, bits, cells: &[u8]| {
        let result = Layout::new(name, bits, cells);
        assert!(result.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::InvalidArgument));
        result.is_ok()
    };
    assert!(ok("a", 64, &[32, 32]));
    assert!(ok("a", 128, &[128]));
    assert!(ok("a", 64, &[1; 64]));
    assert!(!ok("", 64, &[64]));
    assert!(!ok("a b", 64, &[64]));
    assert!(!ok(&"a".repeat(65), 64, &[64]));
    assert!(!ok("a", 32, &[32]));
    assert!(!ok("a", 64, &[32, 33]));
    assert!(!ok("a", 64, &[64, 0]));
    assert!(!ok("a", 64, &[255, 65]));
    assert!(!ok("a", 64, &[]));
    assert!(!ok("a", 128, &[1; 128]));
}

mod encoding {
    use super::*;
    use crate::file::codec::bytes::Fields;

    fn encoded(layout: &Layout) -> Vec<u8> {
        let mut out = Vec::new();
        layout.encode(&mut out);
        out
    }

    fn decode(bytes: &[u8], bits: u32) -> Result<Layout> {
        let mut fields = Fields::new(bytes, 1000);
        let layout = Layout::decode(&mut fields, bits)?;
        fields.finish("layout")?;
        Ok(layout)
    }

    #[test]
    fn half_2_has_these_bytes() {
        let bytes = encoded(&Layout::preset("half-2", 64).unwrap());
        assert_eq!(bytes, *b"\x06\0\0\0half-2\x02\x20\x20\x02\0\x01\x01\0");
    }

    #[test]
    fn every_preset_round_trips_and_every_truncation_is_corruption() {
        for name in Layout::preset_names() {
            for bits in [64, 128] {
                let layout = Layout::preset(name, bits).unwrap();
                let bytes = encoded(&layout);
                assert_eq!(decode(&bytes, bits).unwrap(), layout);
                for len in 0..bytes.len() {
                    let error = decode(&bytes[..len], bits).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    assert!(error.offset().unwrap() >= 1000);
                }
            }
        }
    }
}
