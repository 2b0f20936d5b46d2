//! The weights of main/2, in hundredths of a logit.
//!
//! They were fitted by logistic regression to labelled pages (docs/extraction.md) and never change.

/// Weights of the features of a block, one row for each feature: the weight itself, and what is
/// added to it on pages of full prose, prosaic, linked, listed and marked shape.
#[rustfmt::skip]
pub(super) const BLOCK: [[i32; 6]; 91] = [
    [13, -44, -30, -26, 20, -30], // Bias
    [38, -8, 2, 12, -34, 21], // Linked0
    [7, -8, 15, -6, 33, 7], // Linked1
    [0, 2, -25, -37, 30, -42], // Linked2
    [-8, 0, -1, -7, 4, -4], // Linked3
    [-14, -2, -16, -9, -12, -3], // Linked4
    [-9, -29, -6, 22, 0, -9], // Linked5
    [5, -15, 10, 30, -2, 5], // Plain0
    [-14, -13, -41, -24, 6, -23], // Plain1
    [7, 12, -30, -25, 7, 3], // Plain2
    [11, 20, -14, 3, -5, 5], // Plain3
    [27, 8, -37, -39, 29, -39], // Plain4
    [14, 16, 18, -17, -45, -14], // Plain5
    [-11, -11, 40, 4, -20, 4], // Plain6
    [-26, -61, 23, 43, 50, 27], // Plain7
    [37, -30, 65, 32, -13, 44], // Ends
    [26, 6, -19, -16, 0, 10], // EndsNot
    [9, 32, 2, -47, -10, 11], // Points0
    [26, -56, 21, 24, -2, -16], // Points2
    [0, -18, -20, 12, 3, 19], // Digits
    [37, -20, 4, 18, 2, -33], // Paragraph
    [42, 53, 34, -33, 21, -40], // Item
    [-29, -28, -33, -2, -5, -6], // Heading1
    [42, 5, 4, 30, 5, 32], // Heading2
    [22, 6, -18, 7, -2, 19], // Heading3
    [-31, 29, 25, -40, 5, -37], // Heading4
    [15, -14, -24, 19, 2, 47], // Cell
    [52, 36, 45, 24, 5, -3], // Term
    [-39, -30, -27, -11, -28, -7], // Definition
    [-8, -10, -12, -2, 11, -9], // Pre
    [3, 4, 5, 1, 6, -7], // Quote
    [-44, -34, -35, -11, -18, -12], // Figcaption
    [-48, -42, 1, -26, 16, 27], // Other
    [-4, 16, 16, -19, -14, -24], // Nav
    [-37, -12, -17, -11, -15, -28], // Aside
    [-57, -27, -22, -23, -20, -27], // Footer
    [-24, -3, -1, -6, -5, -9], // Header
    [-13, -9, -21, -11, -22, 17], // Hidden
    [-10, 24, 23, -25, 16, -43], // Role
    [-70, -59, -50, -12, -16, -1], // Form
    [-80, -33, -22, -26, -34, -47], // Very
    [-46, 9, 13, 20, -4, -5], // Strong
    [-10, -5, -13, -10, -53, -8], // Light
    [-54, 15, -15, 24, 13, -19], // Weak
    [-49, -66, -59, 11, -14, 11], // Caption
    [-134, -123, -126, -19, -80, -17], // Comment
    [-73, -87, -86, -2, -80, 2], // CommentKept
    [51, -6, -28, -52, -51, -2], // Positive
    [24, 12, -17, -17, -10, 45], // Listing
    [4, 14, 16, 20, -13, 38], // Declared
    [-34, 6, -14, -22, 4, -30], // Undeclared
    [-21, -18, -4, 30, -18, 34], // InArticle
    [-20, -12, -18, -35, 13, -24], // Section
    [-28, -22, -26, -7, -1, -5], // Opening
    [-35, -17, -25, -12, -8, -22], // Phrase
    [30, -3, -26, 15, -26, 3], // Repeated
    [-22, -9, -9, -5, -3, -20], // Cookie
    [74, 46, 47, 27, 21, 37], // InTitle
    [54, -28, 21, 70, -6, -43], // Reader
    [86, -8, 45, -26, 9, -20], // Container
    [11, -25, 17, -11, -10, 7], // PrevGood
    [19, -41, 18, -2, 6, 24], // NextGood
    [30, -40, 34, -4, 20, 3], // RunGood
    [9, -18, -19, 24, -2, 42], // BeforeProse
    [-1, -37, -90, 16, 54, -12], // AfterProse
    [-51, -19, -22, -25, 11, -32], // BeforeTitle
    [-23, -14, -8, -6, -1, -23], // ParentLinked
    [-11, 7, 10, -14, -1, -34], // GrandLinked
    [19, -38, 27, -18, 10, 8], // ParentShare
    [41, -10, 34, -56, 11, -19], // GrandShare
    [28, -77, 21, -7, 47, 19], // Near0
    [-8, -7, -14, -12, 4, -8], // Near1
    [5, -8, -26, 7, -7, -4], // Near2
    [12, -7, -20, 3, -5, 21], // Near4
    [8, -8, -19, 10, -7, 24], // Near8
    [-32, 63, 28, -27, -11, -83], // Far
    [-20, -67, -55, 11, 4, 22], // Position
    [-11, 21, 21, -38, -14, 8], // Inner3
    [7, 6, 3, 3, 40, -11], // Inner6
    [18, -9, -36, 43, 23, 6], // Inner16
    [0, 1, -8, 1, 26, 0], // InnerShort
    [14, 10, -7, 0, 9, 9], // InnerMiddle
    [0, 8, 3, 7, 14, -6], // InnerLong
    [-9, 11, 0, -15, 15, 7], // Outer1
    [0, -35, -18, 24, -2, 66], // Outer2
    [4, 29, 1, -28, 9, -28], // Outer3
    [19, 13, 5, 28, 28, -42], // Outer4
    [23, 20, -1, 25, 34, 3], // OuterShort
    [-1, -13, -6, -13, 0, 12], // OuterMiddle
    [-8, 11, -5, -4, 16, -13], // OuterLong
    [-21, -33, -13, 4, -5, 0], // Forum
];

/// What the second score is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Second {
    Page,
    PageKept,
    PageProse,
    PageProsaic,
    PageLinked,
    PageMarked,
    PageCount,
    PageLength,
    Own,
    OwnKept,
    OwnProse,
    Element,
    Parent,
    Near,
    Far,
    Before,
    After,
    UndeclaredKept,
    AfterProse,
    RunProse,
    RunKept,
    Short,
    ShortNear,
}

/// Weights of the second score.
#[rustfmt::skip]
pub(super) const SECOND: [(Second, i32); 23] = [
    (Second::Page, 3),
    (Second::PageKept, 15),
    (Second::PageProse, 1),
    (Second::PageProsaic, -9),
    (Second::PageLinked, 5),
    (Second::PageMarked, -3),
    (Second::PageCount, -40),
    (Second::PageLength, -5),
    (Second::Own, 42),
    (Second::OwnKept, 19),
    (Second::OwnProse, -33),
    (Second::Element, 46),
    (Second::Parent, 11),
    (Second::Near, 10),
    (Second::Far, 13),
    (Second::Before, 6),
    (Second::After, 11),
    (Second::UndeclaredKept, 27),
    (Second::AfterProse, 11),
    (Second::RunProse, 21),
    (Second::RunKept, -23),
    (Second::Short, -1),
    (Second::ShortNear, -24),
];
