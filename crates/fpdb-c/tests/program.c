/* Uses every function, and every kind of wrong argument. A sanitizer watches. */
#define _POSIX_C_SOURCE 200809L
#include "fpdb.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static char *error = NULL;

/* A call fails with this code, and with a text that has this in it. */
static void fails(FpdbCode code, FpdbCode expected, const char *part) {
    if (code != expected || error == NULL || strstr(error, part) == NULL) {
        fprintf(stderr, "expected %d with \"%s\", and it is %d: %s\n", expected, part, code, error);
        exit(1);
    }
    fpdb_free_text(error);
    error = NULL;
}

static void refuses_wrong_arguments(const char *path, FpdbDb *db, FpdbRecipe *recipe) {
    FpdbDb *other = NULL;
    FpdbRecipe *unknown = NULL;
    FpdbOutcome outcome;
    FpdbMatch match;
    size_t found;
    uint64_t number = 7;
    const char *names[] = {"a", NULL};
    const uint64_t fingerprints[] = {1, 2};
    fails(fpdb_open(NULL, false, &other, &error), FPDB_CODE_INVALID_ARGUMENT, "path is null");
    fails(fpdb_open("no/such/folder", false, &other, &error), FPDB_CODE_NOT_FOUND, "no/such/folder");
    fails(fpdb_open("\xff", false, &other, &error), FPDB_CODE_INVALID_ARGUMENT, "UTF-8");
    fails(fpdb_open(path, false, &other, &error), FPDB_CODE_LOCKED, path);
    fails(fpdb_create(path, NULL, true, 3, false, &other, &error), FPDB_CODE_ALREADY_EXISTS, path);
    fails(fpdb_create("x", NULL, true, 99, false, &other, &error), FPDB_CODE_INVALID_ARGUMENT, "99");
    fails(fpdb_recipe("words/999", &unknown, &error), FPDB_CODE_INVALID_ARGUMENT, "words/999");
    fails(fpdb_count(NULL, &number, &error), FPDB_CODE_INVALID_ARGUMENT, "db is null");
    fails(fpdb_count(db, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "count is null");
    fails(fpdb_insert_if_novel(db, 1, NULL, 5, &outcome, &error), FPDB_CODE_INVALID_ARGUMENT, "name");
    fails(fpdb_insert_if_novel(db, 1, "z", 0, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "outcomes is null");
    fails(fpdb_insert_batch_if_novel(db, fingerprints, names, NULL, 2, &outcome, &error),
          FPDB_CODE_INVALID_ARGUMENT, "a name is null");
    fails(fpdb_insert_batch_if_novel(db, fingerprints, NULL, NULL, 2, &outcome, &error),
          FPDB_CODE_INVALID_ARGUMENT, "either names or ids");
    fails(fpdb_insert_batch_if_novel(db, fingerprints, names, fingerprints, 2, &outcome, &error),
          FPDB_CODE_INVALID_ARGUMENT, "either names or ids");
    fails(fpdb_query(db, 1, 3, &match, 1, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "found is null");
    fails(fpdb_query(db, 1, 64, NULL, 1, &found, &error), FPDB_CODE_INVALID_ARGUMENT, "matches is null");
    fails(fpdb_name(db, 0, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "name is null");
    fails(fpdb_fingerprint(recipe, "a", 1, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "fingerprint is null");
    fails(fpdb_recipe("default", NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "recipe is null");
    fails(fpdb_open("no/such/folder", false, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "db is null");
    fails(fpdb_fingerprint(recipe, "\xff\xfe", 2, &number, &error), FPDB_CODE_INVALID_ARGUMENT, "UTF-8");
    fails(fpdb_fingerprint(recipe, NULL, 2, &number, &error), FPDB_CODE_INVALID_ARGUMENT, "text is null");
    /* Whoever wants no text gets none. */
    CHECK(fpdb_open("no/such/folder", false, &other, NULL) == FPDB_CODE_NOT_FOUND);
    CHECK(other == NULL && unknown == NULL && number == 7);
}

/* A call that cannot give its answer does nothing, and writes no other answer. */
static void refuses_places_before_it_does_anything(void) {
    char bytes[sizeof(FpdbMatch) + sizeof(FpdbOutcome) + 16] = {0};
    FpdbDb *db = NULL;
    FpdbOutcome outcome;
    FpdbMatch match = {7, 7, 7};
    size_t found = 7;
    uint64_t count = 7;
    char *odd = bytes + 1 - ((uintptr_t)bytes & 1);
    fails(fpdb_create("places", NULL, false, 3, false, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "db is null");
    fails(fpdb_create("places", NULL, false, 3, false, (FpdbDb **)(void *)odd, &error),
          FPDB_CODE_INVALID_ARGUMENT, "db is null or not aligned");
    CHECK(fpdb_create("places", NULL, false, 3, false, &db, &error) == FPDB_CODE_OK);
    fails(fpdb_insert_if_novel(db, 1, NULL, 5, (FpdbOutcome *)(void *)odd, &error),
          FPDB_CODE_INVALID_ARGUMENT, "outcomes is null or not aligned");
    CHECK(fpdb_count(db, &count, &error) == FPDB_CODE_OK && count == 0);
    CHECK(fpdb_insert_if_novel(db, 1, NULL, 5, &outcome, &error) == FPDB_CODE_OK);
    CHECK(fpdb_query(db, 1, 3, &match, 1, NULL, NULL) == FPDB_CODE_INVALID_ARGUMENT && match.distance == 7);
    fails(fpdb_query(db, 1, 3, (FpdbMatch *)(void *)odd, 1, &found, &error),
          FPDB_CODE_INVALID_ARGUMENT, "matches is null or not aligned");
    CHECK(found == 7 && fpdb_query(db, 1, 3, &match, 1, NULL, (char **)(void *)odd) == FPDB_CODE_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof bytes; i++)
        CHECK(bytes[i] == 0);
    pid_t child = fork();
    if (child == 0) {
        fails(fpdb_query(db, 1, 3, &match, 1, &found, &error), FPDB_CODE_CLOSED, "");
        fails(fpdb_insert_if_novel(db, 2, NULL, 6, &outcome, &error), FPDB_CODE_CLOSED, "");
        CHECK(fpdb_count(db, &count, &error) == FPDB_CODE_OK && count == 1);
        fails(fpdb_close(db, &error), FPDB_CODE_CLOSED, "");
        _exit(0);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(fpdb_query(db, 1, 3, &match, 1, &found, &error) == FPDB_CODE_OK && found == 1 && match.id == 5);
    CHECK(fpdb_close(db, &error) == FPDB_CODE_OK);
}

static void finds_near_duplicates(FpdbDb *db, FpdbRecipe *recipe) {
    const char *text = "Insert the disc, close the tray, and wait for the green light.";
    const char *again = "INSERT the disc; close the tray and wait for the green light!";
    uint64_t first, second, count;
    FpdbOutcome outcome;
    size_t found;
    char *name = NULL;
    CHECK(fpdb_fingerprint(recipe, text, strlen(text), &first, &error) == FPDB_CODE_OK);
    CHECK(fpdb_fingerprint(recipe, again, strlen(again), &second, &error) == FPDB_CODE_OK);
    CHECK(fpdb_fingerprint(recipe, NULL, 0, &second, &error) == FPDB_CODE_TOO_SHORT && error == NULL);
    CHECK(fpdb_insert_if_novel(db, first, "https://a.example/", 0, &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_INSERTED && outcome.document.fingerprint == first);
    CHECK(fpdb_insert_if_novel(db, second, "https://b.example/", 0, &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.fingerprint == first);
    CHECK(fpdb_query(db, ~first, 64, NULL, 0, &found, &error) == FPDB_CODE_OK && found == 1);
    CHECK(fpdb_name(db, outcome.document.id, &name, &error) == FPDB_CODE_OK);
    CHECK(strcmp(name, "https://a.example/") == 0);
    fpdb_free_text(name);
    CHECK(fpdb_name(db, 12345, &name, &error) == FPDB_CODE_OK && name == NULL);
    CHECK(fpdb_insert_if_novel(db, ~first, "https://a.example/", 0, &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_EXISTS && outcome.document.distance == 64);
    CHECK(fpdb_count(db, &count, &error) == FPDB_CODE_OK && count == 1);
}

static void writes_batches(const char *path) {
    enum { COUNT = 1000 };
    static uint64_t fingerprints[COUNT], ids[COUNT];
    static FpdbOutcome outcomes[COUNT];
    FpdbMatch matches[2];
    FpdbDb *db = NULL;
    size_t found, i;
    uint64_t count;
    for (i = 0; i < COUNT; i++) {
        fingerprints[i] = (uint64_t)(i / 2) << 20 | (i % 2); /* pairs that differ in one bit */
        ids[i] = i + 100;
    }
    CHECK(fpdb_create(path, NULL, false, 0, true, &db, &error) == FPDB_CODE_OK);
    CHECK(fpdb_insert_batch_if_novel(db, NULL, NULL, NULL, 0, NULL, &error) == FPDB_CODE_OK);
    CHECK(fpdb_insert_batch_if_novel(db, fingerprints, NULL, ids, COUNT, outcomes, &error) == FPDB_CODE_OK);
    CHECK(outcomes[COUNT - 1].kind == FPDB_OUTCOME_KIND_INSERTED && outcomes[COUNT - 1].document.id == COUNT + 99);
    CHECK(fpdb_close(db, &error) == FPDB_CODE_OK);
    fpdb_page_memory(1 << 20);
    CHECK(fpdb_open(path, true, &db, &error) == FPDB_CODE_OK);
    fpdb_page_memory(0);
    CHECK(fpdb_count(db, &count, &error) == FPDB_CODE_OK && count == COUNT);
    CHECK(fpdb_query(db, 0, 0, matches, 2, &found, &error) == FPDB_CODE_OK);
    CHECK(found == 1 && matches[0].id == 100 && matches[0].distance == 0);
    CHECK(fpdb_insert_if_novel(db, 0, NULL, 5, outcomes, &error) == FPDB_CODE_OK);
    CHECK(outcomes[0].kind == FPDB_OUTCOME_KIND_DUPLICATE && outcomes[0].document.id == 100);
    CHECK(fpdb_close(db, &error) == FPDB_CODE_OK);
}

/* A crawler that visits its pages again: updates, stamps, removals, and another handle that reads. */
static void keeps_documents(const char *path) {
    const char *a = "https://a.example/", *b = "https://b.example/";
    const uint64_t day[] = {1, 2, 3};
    FpdbDb *db = NULL, *reader = NULL;
    FpdbOutcome outcome;
    FpdbDocument document;
    bool is_there = false;
    uint64_t count;
    CHECK(fpdb_create(path, NULL, true, 3, false, &db, &error) == FPDB_CODE_OK);
    CHECK(fpdb_upsert_if_novel(db, 0xff00, a, 0, &day[1], &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_INSERTED && outcome.document.fingerprint == 0xff00);
    CHECK(fpdb_upsert_if_novel(db, 0xff01, b, 0, NULL, &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.distance == 1);
    CHECK(fpdb_open_read_only(path, &reader, &error) == FPDB_CODE_OK);
    CHECK(fpdb_upsert_if_novel(db, 0xff00, a, 0, &day[0], &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UNCHANGED && outcome.document.fingerprint == 0xff00);
    CHECK(fpdb_upsert_if_novel(db, 0xffff, a, 0, NULL, &outcome, &error) == FPDB_CODE_OK);
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UPDATED && outcome.document.distance == 8);
    CHECK(fpdb_get(db, a, 0, &document, &is_there, &error) == FPDB_CODE_OK && is_there);
    CHECK(document.fingerprint == 0xffff && document.has_stamp && document.stamp == 2);
    CHECK(!document.is_duplicate && document.id == outcome.document.id);
    CHECK(fpdb_get(db, b, 0, &document, &is_there, &error) == FPDB_CODE_OK && !is_there);
    CHECK(fpdb_insert_if_novel(db, 0, b, 0, &outcome, &error) == FPDB_CODE_OK);
    CHECK(fpdb_get(db, b, 0, &document, &is_there, &error) == FPDB_CODE_OK && is_there && !document.has_stamp);
    /* The reader shows what it has read. */
    CHECK(fpdb_get(reader, a, 0, &document, &is_there, &error) == FPDB_CODE_OK && document.fingerprint == 0xff00);
    CHECK(fpdb_refresh(reader, &is_there, &error) == FPDB_CODE_OK && is_there);
    CHECK(fpdb_get(reader, a, 0, &document, &is_there, &error) == FPDB_CODE_OK && document.fingerprint == 0xffff);
    CHECK(fpdb_refresh(reader, &is_there, &error) == FPDB_CODE_OK && !is_there);
    CHECK(fpdb_refresh(db, &is_there, &error) == FPDB_CODE_OK && !is_there);
    fails(fpdb_flush(reader, &error), FPDB_CODE_INVALID_ARGUMENT, "for reading only");
    fails(fpdb_remove(reader, a, 0, &is_there, &error), FPDB_CODE_INVALID_ARGUMENT, "for reading only");
    CHECK(fpdb_touch(db, b, 0, day[0], &is_there, &error) == FPDB_CODE_OK && is_there);
    CHECK(fpdb_touch(db, "c", 0, day[0], &is_there, &error) == FPDB_CODE_OK && !is_there);
    CHECK(fpdb_expire(db, day[1], &count, &error) == FPDB_CODE_OK && count == 1);
    CHECK(fpdb_get(db, b, 0, &document, &is_there, &error) == FPDB_CODE_OK && !is_there);
    CHECK(fpdb_flush(db, &error) == FPDB_CODE_OK && fpdb_compact(db, &error) == FPDB_CODE_OK);
    fpdb_release_memory(db, &error);
    CHECK(fpdb_verify(db, true, &error) == FPDB_CODE_OK && fpdb_verify(db, false, &error) == FPDB_CODE_OK);
    CHECK(fpdb_backup(db, "copy", &error) == FPDB_CODE_OK);
    fails(fpdb_backup(db, "copy", &error), FPDB_CODE_ALREADY_EXISTS, "copy");
    CHECK(fpdb_remove(db, a, 0, &is_there, &error) == FPDB_CODE_OK && is_there);
    CHECK(fpdb_remove(db, a, 0, &is_there, &error) == FPDB_CODE_OK && !is_there);
    CHECK(fpdb_count(db, &count, &error) == FPDB_CODE_OK && count == 0);
    CHECK(fpdb_remove(db, NULL, 5, &is_there, &error) == FPDB_CODE_OK && !is_there);
    fails(fpdb_upsert_if_novel(db, 1, a, 0, NULL, NULL, &error), FPDB_CODE_INVALID_ARGUMENT, "outcome is null");
    CHECK(fpdb_close(reader, &error) == FPDB_CODE_OK && fpdb_close(db, &error) == FPDB_CODE_OK);
    CHECK(fpdb_open_read_only("copy", &reader, &error) == FPDB_CODE_OK);
    CHECK(fpdb_count(reader, &count, &error) == FPDB_CODE_OK && count == 1);
    CHECK(system("for file in copy/*.t00; do printf x | dd of=$file bs=1 seek=70 conv=notrunc 2> /dev/null; done") == 0);
    fails(fpdb_verify(reader, true, &error), FPDB_CODE_CORRUPTION, ".t00");
    CHECK(fpdb_close(reader, &error) == FPDB_CODE_OK);
    CHECK(fpdb_create("numbers", NULL, false, 3, false, &db, &error) == FPDB_CODE_OK);
    CHECK(fpdb_remove(db, NULL, 5, &is_there, &error) == FPDB_CODE_OK && !is_there);
    fails(fpdb_expire(db, 1, &count, &error), FPDB_CODE_INVALID_ARGUMENT, "user ids");
    fails(fpdb_upsert_if_novel(db, 1, NULL, 5, NULL, &outcome, &error), FPDB_CODE_INVALID_ARGUMENT, "ids");
    CHECK(fpdb_close(db, &error) == FPDB_CODE_OK);
    CHECK(strchr(fpdb_version(), '.') != NULL);
}

int main(int count, char **arguments) {
    FpdbDb *db = NULL;
    FpdbRecipe *recipe = NULL;
    CHECK(count == 3);
    CHECK(fpdb_recipe("default", &recipe, &error) == FPDB_CODE_OK);
    CHECK(fpdb_create(arguments[1], recipe, true, 3, false, &db, &error) == FPDB_CODE_OK);
    finds_near_duplicates(db, recipe);
    refuses_wrong_arguments(arguments[1], db, recipe);
    CHECK(fpdb_close(db, &error) == FPDB_CODE_OK);
    writes_batches(arguments[2]);
    refuses_places_before_it_does_anything();
    keeps_documents("documents");
    fpdb_free_recipe(recipe);
    fpdb_free_recipe(NULL);
    fpdb_free_text(NULL);
    CHECK(fpdb_close(NULL, NULL) == FPDB_CODE_OK);
    CHECK(error == NULL);
    return 0;
}
