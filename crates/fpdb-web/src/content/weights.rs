//! The weights of main/1, in hundredths of a logit.
//!
//! They were fitted by logistic regression to labelled pages (docs/extraction.md) and never change.

/// A logit of 1 in scores, which are in thousandths.
pub(super) const LOGIT: i64 = 1000;

/// Weights of the features of a block, one row for each feature: the weight itself, and what is
/// added to it on pages of full prose, prosaic, linked, listed and marked shape.
#[rustfmt::skip]
pub(super) const BLOCK: [[i32; 6]; 91] = [
    [111, -26, -18, -1, 8, -14], // Bias
    [13, 13, 2, -53, -3, 17], // Linked0
    [7, -11, 1, -44, 22, -6], // Linked1
    [23, 4, -29, -84, -5, -56], // Linked2
    [-20, -9, -22, -28, 33, -15], // Linked3
    [-2, 26, -35, -58, -6, -51], // Linked4
    [-14, -20, 0, 15, 8, -21], // Linked5
    [-14, -17, 2, 15, 4, -15], // Plain0
    [6, 5, -21, -64, 8, -48], // Plain1
    [5, 14, -26, -101, 25, 16], // Plain2
    [9, 20, -12, -20, 6, 10], // Plain3
    [10, 9, -18, 34, 3, 18], // Plain4
    [13, -1, 16, 6, -25, 51], // Plain5
    [10, -5, 41, 27, -8, 69], // Plain6
    [-14, -58, 94, 63, 0, 78], // Plain7
    [13, 4, 14, 7, 0, -2], // Ends
    [-5, -2, -3, -20, -4, -6], // EndsNot
    [-1, 8, 7, -26, -1, 2], // Points0
    [10, -9, 13, 49, -11, -10], // Points2
    [-4, -11, -22, 65, 9, 53], // Digits
    [-3, -9, -16, 5, 32, -29], // Paragraph
    [18, 21, 19, 9, 8, -9], // Item
    [-81, -104, -80, 155, 90, -146], // Heading1
    [12, -7, -19, 67, -15, 5], // Heading2
    [-5, 13, -23, 3, -39, 33], // Heading3
    [-27, 12, 6, -63, 24, -74], // Heading4
    [11, 11, 6, 58, -55, 89], // Cell
    [54, 45, 128, 117, -56, 17], // Term
    [-18, 16, -33, -199, -198, 54], // Definition
    [-22, -64, -73, -18, 77, 27], // Pre
    [-153, -9, 262, -436, 366, -440], // Quote
    [-58, -20, 18, -147, -134, -69], // Figcaption
    [-23, -32, -17, -61, -20, 3], // Other
    [-16, -13, -9, -46, -18, -28], // Nav
    [-45, -28, -35, -62, -63, -95], // Aside
    [-36, -37, -32, -82, -59, -59], // Footer
    [-12, -5, 2, -10, -4, -7], // Header
    [-27, -31, -19, -21, -29, 86], // Hidden
    [-4, 9, 7, -37, 2, -36], // Role
    [-75, -87, -81, -24, -77, 47], // Form
    [-40, -45, -38, -50, -53, -46], // Very
    [-25, -20, -7, -16, -6, 2], // Strong
    [-9, -11, -11, -2, -41, -30], // Light
    [-21, -12, -7, 24, -5, -23], // Weak
    [-77, -142, -75, 77, 66, 40], // Caption
    [-98, -110, -137, 159, -178, -155], // Comment
    [13, -85, -79, -83, -67, 120], // CommentKept
    [-1, -4, -35, -32, -14, 13], // Positive
    [1, 11, -3, 32, -10, 34], // Listing
    [0, 10, -18, 67, 14, 20], // Declared
    [-27, -23, -21, -37, -19, -21], // Undeclared
    [-10, 2, -26, 34, -6, 9], // InArticle
    [-33, -31, -39, -52, -8, -36], // Section
    [-54, -45, -107, -355, 282, -16], // Opening
    [-38, -31, -46, 10, 4, -68], // Phrase
    [-22, -22, -25, -9, -33, -11], // Repeated
    [-25, 34, 41, -146, 51, -255], // Cookie
    [-36, -9, 70, -93, -42, 208], // InTitle
    [30, 31, 18, 23, -8, -65], // Reader
    [42, 46, 37, -36, 23, 3], // Container
    [7, -6, 15, 0, -7, 27], // PrevGood
    [11, -1, 15, 22, -13, 43], // NextGood
    [9, -9, 6, -24, 8, 22], // RunGood
    [-3, -21, -1, 19, 0, 32], // BeforeProse
    [-21, -41, -58, 16, 69, -19], // AfterProse
    [-26, -25, -22, -37, -13, -29], // BeforeTitle
    [-18, -21, -11, 22, 10, -10], // ParentLinked
    [-18, -19, -8, 20, -3, -6], // GrandLinked
    [19, -2, 17, -31, -68, 75], // ParentShare
    [32, 14, 33, -54, 17, -66], // GrandShare
    [9, -20, 6, 4, 18, 48], // Near0
    [0, -11, -7, -9, 14, -68], // Near1
    [11, -5, -15, 20, -4, -35], // Near2
    [8, -10, -6, 9, 6, 24], // Near4
    [0, -9, -20, 76, 4, 28], // Near8
    [-10, 19, 7, -7, -5, -14], // Far
    [-24, -32, -47, 2, -17, 4], // Position
    [-4, 5, 7, -44, -7, 11], // Inner3
    [-3, -4, -1, 1, 25, 9], // Inner6
    [7, 3, -7, 62, -7, 4], // Inner16
    [-6, 1, 6, 18, -4, 14], // InnerShort
    [-1, -2, -17, 5, 32, 5], // InnerMiddle
    [6, 2, -1, -55, 9, -6], // InnerLong
    [-12, -6, -6, -40, -11, 9], // Outer1
    [-15, -20, 2, 38, -33, 71], // Outer2
    [10, 39, -4, 33, -36, -23], // Outer3
    [14, 8, 7, 11, 19, -48], // Outer4
    [-4, 2, 3, 15, 1, 10], // OuterShort
    [-4, 2, 9, 0, 9, -4], // OuterMiddle
    [3, -1, -7, 1, 8, 17], // OuterLong
    [-12, -33, -8, -40, -24, -26], // Forum
];

/// A term of the second score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Second {
    Page,
    PageKept,
    PageProse,
    PageProsaic,
    PageLinked,
    PageListed,
    PageMarked,
    PageCount,
    PageLength,
    PageMean,
    Own,
    OwnKept,
    OwnProse,
    OwnProsaic,
    OwnLinked,
    OwnMarked,
    Element,
    Parent,
    Near,
    Far,
    Previous,
    Next,
    Like,
    LikeMany,
    Many,
    SureBefore,
    SureAfter,
    SureEither,
    UndeclaredKept,
    AfterProse,
    ListProse,
    Short,
}

/// Weights of the terms of the second score.
#[rustfmt::skip]
pub(super) const SECOND: [i32; 32] = [
    7, // Page
    110, // PageKept
    -32, // PageProse
    49, // PageProsaic
    -169, // PageLinked
    52, // PageListed
    -145, // PageMarked
    -132, // PageCount
    -124, // PageLength
    -38, // PageMean
    -14, // Own
    24, // OwnKept
    42, // OwnProse
    -11, // OwnProsaic
    -5, // OwnLinked
    19, // OwnMarked
    29, // Element
    -5, // Parent
    -6, // Near
    18, // Far
    12, // Previous
    14, // Next
    13, // Like
    8, // LikeMany
    105, // Many
    24, // SureBefore
    -5, // SureAfter
    6, // SureEither
    -95, // UndeclaredKept
    8, // AfterProse
    -49, // ListProse
    -28, // Short
];
