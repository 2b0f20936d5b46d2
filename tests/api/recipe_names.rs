//! Which recipe names a database accepts. It accepts texts with its own recipe only.

use fpdb::text::Recipe;
use fpdb::{Db, ErrorKind, Options, Outcome, RecipeName};

#[test]
fn an_alias_is_stored_as_the_name_it_stands_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = Db::options().recipe("default").create(&path).unwrap();
    assert_eq!(db.description().recipe.as_deref(), Some("pairs/1"));
    db.close().unwrap();
    for same in ["default", "pairs/1"] {
        Db::options().recipe(same).open(&path).unwrap().close().unwrap();
    }
    let recipe = Recipe::named("default").unwrap();
    Db::options().recipe(&recipe).open(&path).unwrap().close().unwrap();
    let other = Db::options().recipe("fives/1").open(&path).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Unsupported);
}

#[test]
fn an_unknown_name_is_refused_and_stores_nothing_unless_it_is_said_to_be_custom() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let typo = || Db::options().recipe("defualt");
    for error in [
        typo().create(&path).unwrap_err(),
        typo().open_or_create(&path).unwrap_err(),
        typo().open_read_only(&path).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("defualt"), "{error}");
        assert!(error.to_string().contains("RecipeName::custom"), "{error}");
    }
    assert!(!path.exists());
    let custom = RecipeName::custom("acme/3");
    assert_eq!(
        Db::options().recipe(custom).create(&path).unwrap().description().recipe.as_deref(),
        Some("acme/3")
    );
}

#[test]
fn texts_are_taken_with_the_recipe_of_the_database_only() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe::named("default").unwrap();
    let other = Recipe::named("fives/1").unwrap();
    let text = "Trains leave for the airport every ten minutes, until midnight.";
    let db = Db::options().recipe(&recipe).create(folder.path().join("db")).unwrap();
    let novelty = db.insert_text_if_novel(&recipe, text, 1).unwrap();
    assert!(matches!(novelty, Some(Outcome::Inserted(_))));
    assert_eq!(db.snapshot().query_text(&recipe, "", 3).unwrap(), None);

    let reader = Db::open_read_only(folder.path().join("db")).unwrap();
    let snapshot = db.snapshot();
    for error in [
        db.insert_text_if_novel(&other, text, 2).unwrap_err(),
        db.upsert_text_if_novel(&other, text, 3).unwrap_err(),
        reader.snapshot().query_text(&other, text, 3).unwrap_err(),
        snapshot.query_text(&other, text, 3).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("recipe pairs/1, not fives/1"), "{error}");
    }
    assert_eq!(reader.snapshot().query_text(&recipe, text, 3).unwrap().unwrap().len(), 1);
    assert_eq!(snapshot.query_text(&recipe, text, 3).unwrap().unwrap().len(), 1);

    let without = Db::options().create(folder.path().join("without")).unwrap();
    let error = without.insert_text_if_novel(&recipe, text, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("Options::recipe"), "{error}");
}

#[test]
fn a_name_fits_both_widths_if_the_recipe_does() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe::<u128>::find("default").unwrap();
    let db = Options::bits128().recipe(&recipe).create(folder.path().join("db")).unwrap();
    assert_eq!(db.description().recipe.as_deref(), Some(recipe.name()));
    let novelty = db.insert_text_if_novel(&recipe, "Trains leave every ten minutes.", 1).unwrap();
    assert!(matches!(novelty, Some(Outcome::Inserted(_))));
}
