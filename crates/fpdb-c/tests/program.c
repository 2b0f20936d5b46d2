/* Uses every function, and every kind of wrong argument. A sanitizer watches. */
#define _POSIX_C_SOURCE 200809L
#include "fpdb.h"
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: not %s: %s\n", __LINE__, #condition, error != NULL ? error : ""); \
            exit(1); \
        } \
    } while (0)

/* A call succeeds. */
#define OK(call) CHECK((call) == FPDB_CODE_OK)

/* A call fails with this code, and with a text that has this in it. */
#define FAILS(call, expected, part) \
    do { \
        FpdbCode code_ = (call); \
        if (code_ != (expected) || error == NULL || strstr(error, (part)) == NULL) { \
            fprintf(stderr, "line %d: expected %d with \"%s\", and it is %d: %s\n", __LINE__, (int)(expected), (part), \
                    (int)code_, error != NULL ? error : ""); \
            exit(1); \
        } \
        snprintf(last, sizeof last, "%s", error); \
        fpdb_free_text(error); \
        error = NULL; \
    } while (0)

/* The text of the last call that failed. */
static char last[1000];

#define NO_NAME "name is null, but this is a database with names"

#define REFUSED(call, part) FAILS(call, FPDB_CODE_INVALID_ARGUMENT, part)

/* A fingerprint of 64 bits. */
#define F(number) (&(uint64_t){number})

static char *error = NULL;

static const char *const notice = "Insert the disc, close the tray, and wait for the green light.";

static FpdbOptions defaults(void) {
    FpdbOptions options = {.size = sizeof options};
    return options;
}

/* A place that is not aligned, in bytes that are 0. */
static char bytes_of_odd[sizeof(FpdbStats) + 64];

static void *odd(void) {
    return bytes_of_odd + 1 - ((uintptr_t)bytes_of_odd & 1);
}

/* Whatever is refused leaves nothing behind. */
static void refuses_options_before_it_touches_the_disk(FpdbRecipe *recipe) {
    static char long_name[257];
    struct {
        FpdbOptions options;
        uint64_t later[2];
    } newer = {.options = {.size = sizeof newer}};
    FpdbRecipe *of_sketches = NULL;
    FpdbDb *db = NULL;
    FpdbOptions options;
    const size_t sizes[] = {0, 1, sizeof(size_t), sizeof(FpdbOptions) - 1, 4097, SIZE_MAX};
    memset(long_name, 'x', sizeof long_name - 1);
    OK(fpdb_recipe("pairs/1", FPDB_BITS_SKETCH, &of_sketches, &error));

#define CREATE_REFUSED(part) REFUSED(fpdb_create("refused", &options, &db, &error), part)
#define WITH(field, value, part) \
    do { \
        options = defaults(); \
        options.field = (value); \
        CREATE_REFUSED(part); \
    } while (0)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        WITH(size, sizes[i], "set it to sizeof(FpdbOptions)");
    WITH(reserved, 1, "reserved is 1");
    WITH(bits, 1, "bits is 1: expected 64, 128 or 1824");
    WITH(bits, 65, "bits is 65");
    WITH(bits, FPDB_BITS_ANY, "choose the bits");
    WITH(ids, 4, "4 is not an FpdbIds");
    WITH(ids, UINT32_MAX, "4294967295 is not an FpdbIds");
    WITH(durability, 2, "2 is not an FpdbDurability");
    WITH(sync_milliseconds, 5, "every write is synced");
    WITH(read_only, 1, "read_only is for fpdb_open");
    WITH(read_only, 2, "read_only is 2: expected 0 or 1");
    WITH(trust_file_system, 255, "trust_file_system is 255");
    WITH(no_background, 2, "no_background is 2");
    WITH(max_distance, 13, "max distance 13: expected 0 to 12 at 64 bits");
    WITH(max_distance, UINT32_MAX - 1, "max distance 4294967294: expected 0 to 12 at 64 bits");
    WITH(sync_milliseconds, UINT32_MAX, "sync_milliseconds is for FPDB_DURABILITY_BUFFERED");
    WITH(similarity, 0.4, "Jaccard similarity 0.4: expected 0.5 to 1");
    WITH(similarity, 3, "expected 0.5 to 1");
    WITH(similarity, -0.8, "expected 0.5 to 1");
    WITH(similarity, NAN, "expected 0.5 to 1");
    WITH(custom_recipe, long_name, "recipe name of 256 bytes: expected 1 to 255");
    WITH(custom_recipe, "", "recipe name of 0 bytes: expected 1 to 255");
    WITH(custom_recipe, "pairs/1", "custom_recipe is pairs/1, which is a recipe of fpdb");
    WITH(custom_recipe, "default", "custom_recipe is default, which is a recipe of fpdb");
    WITH(custom_recipe, "\xff", "custom_recipe is not UTF-8");
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8, .recall = 0.2};
    CREATE_REFUSED("recall 0.2: expected 0.5 to 0.999");
    options = (FpdbOptions){.size = sizeof options, .bits = 128, .max_distance = 11};
    CREATE_REFUSED("max distance 11: expected 0 to 10 at 128 bits");
    options = (FpdbOptions){.size = sizeof options, .bits = 128, .similarity = 0.8};
    CREATE_REFUSED("a database of 128-bit fingerprints has no similarity and no recall: leave them out, or set bits to");
    options = (FpdbOptions){.size = sizeof options, .bits = 64, .recall = 0.9};
    CREATE_REFUSED("a database of 64-bit fingerprints has no similarity and no recall");
    options = (FpdbOptions){.size = sizeof options, .durability = FPDB_DURABILITY_BUFFERED, .sync_milliseconds = 86400001};
    CREATE_REFUSED("sync_milliseconds is 86400001: expected 1 to 86400000");
    options.sync_milliseconds = 100;
    options.no_background = 1;
    CREATE_REFUSED("sync_milliseconds needs a thread, and no_background starts none");
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8, .max_distance = 3};
    CREATE_REFUSED("a database of sketches has no max distance: give a similarity");
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8, .ids = FPDB_IDS_USER};
    CREATE_REFUSED("sketches belong to documents, so their ids must be names or unique");
    options = (FpdbOptions){.size = sizeof options, .recipe = recipe, .custom_recipe = "ours/1"};
    CREATE_REFUSED("either recipe or custom_recipe");
    options = (FpdbOptions){.size = sizeof options, .recipe = recipe, .bits = 128};
    CREATE_REFUSED("makes 64-bit fingerprints, but the database is for 128-bit fingerprints");
    options = (FpdbOptions){.size = sizeof options, .recipe = recipe, .similarity = 0.8};
    CREATE_REFUSED("the recipe makes 64-bit fingerprints, but the database is for sketches");
    options = (FpdbOptions){.size = sizeof options, .recipe = of_sketches, .bits = 64};
    CREATE_REFUSED("the recipe makes sketches, but the database is for 64-bit fingerprints");
    options = defaults();
    REFUSED(fpdb_create("refused", odd(), &db, &error), "FpdbOptions is null or not aligned");
    REFUSED(fpdb_create("refused", &options, NULL, &error), "db is null");
    REFUSED(fpdb_create("refused", &options, odd(), &error), "db is null or not aligned");
    REFUSED(fpdb_create(NULL, &options, &db, &error), "path is null");
    REFUSED(fpdb_create("\xff", &options, &db, &error), "path is not UTF-8");
    options.ids = 4;
    REFUSED(fpdb_open_or_create("refused", &options, &db, &error), "4 is not an FpdbIds");
    options = (FpdbOptions){.size = sizeof options, .bits = FPDB_BITS_ANY};
    REFUSED(fpdb_open_or_create("refused", &options, &db, &error), "choose the bits");
    FAILS(fpdb_open("refused", &options, &db, &error), FPDB_CODE_NOT_FOUND, "refused");
    options.similarity = 0.8;
    FAILS(fpdb_open("refused", &options, &db, &error), FPDB_CODE_NOT_FOUND, "refused");
    newer.later[1] = 1;
    FAILS(fpdb_create("refused", &newer.options, &db, &error), FPDB_CODE_UNSUPPORTED, "a newer version of fpdb");
    CHECK(db == NULL && access("refused", F_OK) == -1);
    /* What is 0 in a struct of a newer header is no reason to refuse it. */
    newer.later[1] = 0;
    OK(fpdb_create("refused", &newer.options, &db, &error));
    OK(fpdb_close(db, &error));
    FAILS(fpdb_create("refused", NULL, &db, &error), FPDB_CODE_ALREADY_EXISTS, "refused");
    fpdb_free_recipe(of_sketches);
}

static void refuses_wrong_arguments(const char *path, FpdbDb *db, FpdbRecipe *recipe) {
    FpdbDb *other = NULL;
    FpdbRecipe *unknown = NULL;
    FpdbOutcome outcome = {.kind = 7};
    FpdbMatch match = {.id = 7};
    FpdbStats stats = {.size = 3};
    FpdbDocument document = {.size = sizeof document - 1};
    FpdbQuery query = {.size = sizeof query};
    size_t found = 7;
    char *text = NULL;
    uint64_t number = 7;
    uint32_t flag = 7;
    const char *names[] = {"a", NULL};
    const uint64_t fingerprints[] = {1, 2};
    FpdbWrite write = {.size = sizeof write, .count = 2, .fingerprints = fingerprints, .names = names};
    FpdbOptions options = {.size = sizeof options, .max_distance = 4};
    REFUSED(fpdb_open(NULL, NULL, &other, &error), "path is null");
    REFUSED(fpdb_open("no/such/folder", NULL, NULL, &error), "db is null");
    REFUSED(fpdb_open("\xff", NULL, &other, &error), "path is not UTF-8");
    FAILS(fpdb_open("no/such/folder", NULL, &other, &error), FPDB_CODE_NOT_FOUND, "no/such/folder");
    FAILS(fpdb_open(path, NULL, &other, &error), FPDB_CODE_LOCKED, path);
    FAILS(fpdb_create(path, NULL, &other, &error), FPDB_CODE_ALREADY_EXISTS, path);
    /* What is stored must agree. */
    REFUSED(fpdb_open(path, &options, &other, &error), "max distance 4 was requested, but the database has distance 3");
    options = (FpdbOptions){.size = sizeof options, .ids = FPDB_IDS_UNIQUE, .read_only = 1};
    REFUSED(fpdb_open(path, &options, &other, &error), "ids unique was requested, but the database has names");
    options = (FpdbOptions){.size = sizeof options, .bits = 128};
    FAILS(fpdb_open(path, &options, &other, &error), FPDB_CODE_UNSUPPORTED, "has 64-bit fingerprints");
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8, .read_only = 1};
    FAILS(fpdb_open(path, &options, &other, &error), FPDB_CODE_UNSUPPORTED, "but sketches were requested");
    options = (FpdbOptions){.size = sizeof options, .custom_recipe = "ours/1", .read_only = 1};
    FAILS(fpdb_open(path, &options, &other, &error), FPDB_CODE_UNSUPPORTED, "recipe ours/1 was requested");
    options = (FpdbOptions){.size = sizeof options, .bits = FPDB_BITS_ANY, .similarity = 0.8, .read_only = 1};
    REFUSED(fpdb_open(path, &options, &other, &error), "has no similarity and no recall: leave them out");
    CHECK(strstr(last, "FPDB_BITS_SKETCH") == NULL);
    REFUSED(fpdb_recipe("words/999", 64, &unknown, &error), "words/999");
    REFUSED(fpdb_recipe("default", 63, &unknown, &error), "bits is 63");
    REFUSED(fpdb_recipe("words/1", FPDB_BITS_SKETCH, &unknown, &error), "words/1");
    REFUSED(fpdb_recipe("default", 64, NULL, &error), "recipe is null");
    REFUSED(fpdb_recipe(NULL, 64, &unknown, &error), "name is null");
    REFUSED(fpdb_recipe_of(NULL, &unknown, &error), "db is null");
    REFUSED(fpdb_recipe_of(db, NULL, &error), "recipe is null");
    REFUSED(fpdb_fingerprint(recipe, "a", 1, NULL, &error), "fingerprint is null");
    REFUSED(fpdb_fingerprint(NULL, "a", 1, &number, &error), "recipe is null");
    REFUSED(fpdb_fingerprint(recipe, "\xff\xfe", 2, &number, &error), "text is not UTF-8");
    REFUSED(fpdb_fingerprint(recipe, NULL, 2, &number, &error), "text is null");
    REFUSED(fpdb_count(NULL, &number, &error), "db is null");
    REFUSED(fpdb_count(db, NULL, &error), "count is null");
    REFUSED(fpdb_stats(NULL, &stats, &error), "db is null");
    REFUSED(fpdb_stats(db, NULL, &error), "FpdbStats is null");
    REFUSED(fpdb_stats(db, &stats, &error), "FpdbStats has size 3");
    REFUSED(fpdb_insert_if_novel(NULL, F(1), "z", 0, &outcome, &error), "db is null");
    REFUSED(fpdb_insert_if_novel(db, F(1), NULL, 5, &outcome, &error), NO_NAME);
    REFUSED(fpdb_insert_if_novel(db, F(1), NULL, 0, &outcome, &error), NO_NAME);
    REFUSED(fpdb_upsert_if_novel(db, F(1), NULL, 0, NULL, &outcome, &error), NO_NAME);
    REFUSED(fpdb_remove(db, NULL, 0, &flag, &error), NO_NAME);
    REFUSED(fpdb_touch(db, NULL, 0, 1, &flag, &error), NO_NAME);
    document.size = sizeof document;
    REFUSED(fpdb_get(db, NULL, 0, &document, NULL, &flag, &error), NO_NAME);
    document.size--;
    REFUSED(fpdb_insert_if_novel(db, F(1), "z", 0, NULL, &error), "outcome is null");
    REFUSED(fpdb_insert_if_novel(db, NULL, "z", 0, &outcome, &error), "fingerprint is null");
    REFUSED(fpdb_upsert_if_novel(db, F(1), "z", 0, NULL, NULL, &error), "outcome is null");
    REFUSED(fpdb_upsert_if_novel(db, F(1), "\xff", 0, NULL, &outcome, &error), "name is not UTF-8");
    REFUSED(fpdb_upsert_if_novel(db, F(1), "z", 0, odd(), &outcome, &error), "stamp is null, or not aligned");

#define WRITE_REFUSED(part) REFUSED(fpdb_write(db, &write, &outcome, &error), part)
    REFUSED(fpdb_write(NULL, &write, &outcome, &error), "db is null");
    REFUSED(fpdb_write(db, NULL, &outcome, &error), "write is null");
    WRITE_REFUSED("a name is null");
    write.ids = fingerprints;
    WRITE_REFUSED("either names or ids");
    write.names = NULL;
    WRITE_REFUSED("this database assigns ids itself: give a name instead of an id");
    write.ids = NULL;
    WRITE_REFUSED("either names or ids");
    names[1] = "b";
    write.names = names;
    REFUSED(fpdb_write(db, &write, NULL, &error), "outcomes is null");
    write.mode = 3;
    WRITE_REFUSED("3 is not an FpdbWriteMode");
    write.mode = FPDB_WRITE_MODE_ALWAYS;
    write.distance = 3;
    WRITE_REFUSED("compares none");
    write.distance = 0;
    write.on_duplicate = FPDB_ON_DUPLICATE_REMOVE;
    WRITE_REFUSED("on_duplicate is for FPDB_WRITE_MODE_UPSERT_IF_NOVEL");
    write.mode = FPDB_WRITE_MODE_UPSERT_IF_NOVEL;
    write.on_duplicate = 3;
    WRITE_REFUSED("3 is not an FpdbOnDuplicate");
    write.on_duplicate = 0;
    write.reserved = 9;
    WRITE_REFUSED("reserved is 9");
    write.reserved = 0;
    write.count = SIZE_MAX / 4;
    WRITE_REFUSED("too many");
    write.count = 2;
    write.fingerprints = NULL;
    WRITE_REFUSED("fingerprints is null");
    write.size = 8;
    WRITE_REFUSED("FpdbWrite has size 8");

    REFUSED(fpdb_query(db, F(1), NULL, &match, NULL, 1, NULL, &error), "found is null");
    REFUSED(fpdb_query(db, F(1), NULL, NULL, NULL, 1, &found, &error), "matches is null");
    REFUSED(fpdb_query(db, NULL, NULL, &match, NULL, 1, &found, &error), "fingerprint is null");
    REFUSED(fpdb_query(db, F(1), odd(), &match, NULL, 1, &found, &error), "FpdbQuery is null or not aligned");
    query.reserved = 1;
    REFUSED(fpdb_query(db, F(1), &query, &match, NULL, 1, &found, &error), "reserved is 1");
    query.size = 0;
    REFUSED(fpdb_query(db, F(1), &query, &match, NULL, 1, &found, &error), "FpdbQuery has size 0");
    REFUSED(fpdb_get(db, "a", 0, &document, NULL, &flag, &error), "FpdbDocument has size");
    REFUSED(fpdb_get(db, "a", 0, NULL, NULL, &flag, &error), "FpdbDocument is null");
    document.size = sizeof document;
    REFUSED(fpdb_get(db, "a", 0, &document, NULL, NULL, &error), "exists is null");
    REFUSED(fpdb_name(db, 0, NULL, &error), "name is null");
    REFUSED(fpdb_remove(db, "a", 0, NULL, &error), "removed is null");
    REFUSED(fpdb_remove_entry(db, NULL, 0, &flag, &error), "fingerprint is null");
    REFUSED(fpdb_remove_entry(db, F(1), 0, NULL, &error), "removed is null");
    REFUSED(fpdb_touch(db, "a", 0, 1, NULL, &error), "exists is null");
    REFUSED(fpdb_expire(db, 1, NULL, &error), "removed is null");
    REFUSED(fpdb_refresh(db, NULL, &error), "is_new is null");
    REFUSED(fpdb_verify(db, 3, &error), "3 is not an FpdbVerifyLevel");
    REFUSED(fpdb_backup(db, NULL, &error), "path is null");
    REFUSED(fpdb_sync(NULL, &error), "db is null");
    REFUSED(fpdb_flush(NULL, &error), "db is null");
    REFUSED(fpdb_compact(NULL, &error), "db is null");
    REFUSED(fpdb_release_memory(NULL, &error), "db is null");
    REFUSED(fpdb_warm(NULL, &error), "db is null");
    REFUSED(fpdb_recipe_name(NULL, &text, &error), "db is null");
    REFUSED(fpdb_recipe_name(db, NULL, &error), "name is null");
    REFUSED(fpdb_failures(NULL, &text, &text, &error), "db is null");
    REFUSED(fpdb_failures(db, NULL, &text, &error), "write is null");
    REFUSED(fpdb_failures(db, &text, NULL, &error), "background is null");
    CHECK(fpdb_fingerprint_size(NULL) == 0);
    /* Whoever wants no text gets none. */
    CHECK(fpdb_open("no/such/folder", NULL, &other, NULL) == FPDB_CODE_NOT_FOUND);
    CHECK(other == NULL && unknown == NULL && number == 7 && stats.entries == 0 && flag == 7);
    CHECK(outcome.kind == 7 && match.id == 7 && found == 7 && text == NULL && document.id == 0);
}

/* A call that cannot give its answer does nothing, and writes no other answer. */
static void refuses_places_before_it_does_anything(void) {
    FpdbDb *db = NULL;
    FpdbOutcome outcome;
    FpdbMatch match = {.distance = 7};
    FpdbStats stats = {.size = sizeof stats};
    size_t found = 7;
    uint64_t count = 7;
    OK(fpdb_create("places", NULL, &db, &error));
    REFUSED(fpdb_insert_if_novel(db, F(1), NULL, 5, odd(), &error), "outcome is null or not aligned");
    OK(fpdb_count(db, &count, &error));
    CHECK(count == 0);
    OK(fpdb_insert_if_novel(db, F(1), NULL, 5, &outcome, &error));
    CHECK(fpdb_query(db, F(1), NULL, &match, NULL, 1, NULL, NULL) == FPDB_CODE_INVALID_ARGUMENT);
    REFUSED(fpdb_query(db, F(1), NULL, odd(), NULL, 1, &found, &error), "matches is null or not aligned");
    REFUSED(fpdb_stats(db, odd(), &error), "FpdbStats is null or not aligned");
    CHECK(fpdb_query(db, F(1), NULL, &match, NULL, 1, NULL, odd()) == FPDB_CODE_INVALID_ARGUMENT);
    CHECK(found == 7 && match.distance == 7);
    for (size_t i = 0; i < sizeof bytes_of_odd; i++)
        CHECK(bytes_of_odd[i] == 0);
    OK(fpdb_query(db, F(1), NULL, &match, NULL, 1, &found, &error));
    CHECK(found == 1 && match.id == 5);
    OK(fpdb_close(db, &error));
}

static void finds_near_duplicates(FpdbDb *db, FpdbRecipe *recipe) {
    const char *again = "INSERT the disc; close the tray and wait for the green light!";
    uint64_t first, second, count, opposite;
    FpdbRecipe *same = NULL;
    FpdbOutcome outcome;
    FpdbQuery query = {.size = sizeof query, .distance = 64};
    size_t found;
    char *name = NULL;
    OK(fpdb_fingerprint(recipe, notice, strlen(notice), &first, &error));
    OK(fpdb_fingerprint(recipe, again, strlen(again), &second, &error));
    CHECK(fpdb_fingerprint(recipe, NULL, 0, &second, &error) == FPDB_CODE_TOO_SHORT && error == NULL);
    opposite = ~first;
    OK(fpdb_insert_if_novel(db, &first, "https://a.example/", 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_INSERTED && outcome.document.distance == 0);
    CHECK(outcome.document.similarity == -1 && outcome.reserved == 0);
    OK(fpdb_insert_if_novel(db, &second, "https://b.example/", 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.distance <= 3);
    OK(fpdb_query(db, &opposite, &query, NULL, NULL, 0, &found, &error));
    CHECK(found == 1);
    OK(fpdb_name(db, outcome.document.id, &name, &error));
    CHECK(strcmp(name, "https://a.example/") == 0);
    fpdb_free_text(name);
    OK(fpdb_name(db, 12345, &name, &error));
    CHECK(name == NULL);
    OK(fpdb_insert_if_novel(db, &opposite, "https://a.example/", 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_EXISTS && outcome.document.distance == 64);
    OK(fpdb_count(db, &count, &error));
    CHECK(count == 1 && fpdb_fingerprint_size(db) == sizeof first);
    OK(fpdb_recipe_of(db, &same, &error));
    OK(fpdb_fingerprint(same, notice, strlen(notice), &second, &error));
    CHECK(second == first);
    fpdb_free_recipe(same);
}

/* Flips bit `bit` of a fingerprint of this width. */
static void flip(void *fingerprint, uint32_t bits, unsigned bit) {
    if (bits == 64)
        *(uint64_t *)fingerprint ^= UINT64_C(1) << bit;
    else if (bit < 64)
        ((FpdbBits128 *)fingerprint)->low ^= UINT64_C(1) << bit;
    else
        ((FpdbBits128 *)fingerprint)->high ^= UINT64_C(1) << (bit - 64);
}

/* Plants neighbours at the distances 0 to k + 1, and finds exactly those up to each distance, before and
 * after they are in files. */
static void finds_planted_neighbours(const char *path, uint32_t bits, uint32_t k) {
    enum { MOST = 14, OTHERS = 500 };
    const size_t size = bits / 8;
    FpdbBits128 planted[MOST + OTHERS], back[MOST], base = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};
    unsigned char bytes[sizeof planted + 1];
    uint64_t ids[MOST + OTHERS], state = 7;
    FpdbOutcome outcomes[MOST + OTHERS];
    FpdbMatch matches[MOST];
    FpdbOptions options = {.size = sizeof options, .bits = bits, .max_distance = k == 0 ? FPDB_EXACT : k,
                           .expected_entries = 1000, .threads = 2, .recent_entries = 4096, .no_background = bits == 128};
    FpdbQuery query = {.size = sizeof query};
    FpdbWrite write = {.size = sizeof write, .ids = ids, .mode = FPDB_WRITE_MODE_ALWAYS};
    FpdbStats stats = {.size = sizeof stats};
    FpdbDb *db = NULL;
    size_t found, count = k + 2 + OTHERS;
    for (size_t i = 0; i < count; i++) {
        FpdbBits128 one = base;
        /* Spread over the width, and over both words. */
        for (size_t flips = 0; i <= k + 1 && flips < i; flips++)
            flip(&one, bits, (unsigned)(flips * (bits / 14) + 1));
        if (i > k + 1) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            one.low = ~base.low ^ state >> 40, one.high = ~base.high ^ state >> 40;
        }
        memcpy(bytes + 1 + i * size, &one, size); /* not aligned */
        planted[i] = one;
        ids[i] = i;
    }
    write.count = count;
    write.fingerprints = bytes + 1;
    OK(fpdb_create(path, &options, &db, &error));
    CHECK(fpdb_fingerprint_size(db) == size);
    OK(fpdb_write(db, &write, outcomes, &error));
    for (size_t i = 0; i < count; i++)
        CHECK(outcomes[i].kind == FPDB_OUTCOME_KIND_INSERTED && outcomes[i].document.id == i);
    for (int flushed = 0; flushed < 2; flushed++) {
        for (uint32_t distance = 0; distance <= k + 1; distance++) {
            query.distance = distance == 0 ? FPDB_EXACT : distance;
            OK(fpdb_query(db, bytes + 1, &query, matches, back, MOST, &found, &error));
            CHECK(found == distance + 1);
            for (size_t i = 0; i < found; i++) {
                CHECK(matches[i].id == i && matches[i].distance == i && matches[i].similarity == -1);
                CHECK(memcmp((char *)back + i * size, &planted[i], size) == 0);
            }
        }
        /* Nothing is written beyond the capacity. */
        memset(matches, 0x5a, sizeof matches);
        memset(back, 0x5a, sizeof back);
        OK(fpdb_query(db, &base, NULL, matches, back, 2, &found, &error));
        CHECK(found == k + 1 && matches[0].id == 0 && (k == 0 || matches[1].id == 1));
        for (size_t i = 2 * sizeof *matches; i < sizeof matches; i++)
            CHECK(((unsigned char *)matches)[i] == 0x5a);
        for (size_t i = 2 * size; i < sizeof back; i++)
            CHECK(((unsigned char *)back)[i] == 0x5a);
        query.limit = 1;
        OK(fpdb_query(db, &base, &query, matches, NULL, MOST, &found, &error));
        CHECK(found == 1);
        query.limit = 0;
        OK(fpdb_flush(db, &error));
    }
    OK(fpdb_stats(db, &stats, &error));
    CHECK(stats.entries == count && stats.bits == bits && stats.max_distance == k && stats.segments == 1);
    CHECK(stats.ids == FPDB_IDS_USER && stats.similarity == -1 && stats.disk_bytes > count * size / 2);
    CHECK(stats.recent_entries == 0 && stats.flushed_bytes > 0 && stats.size == sizeof stats);
    CHECK(stats.write_failed == 0 && stats.background_failed == 0 && stats.documents == 0 && stats.reserved == 0);
    OK(fpdb_verify(db, FPDB_VERIFY_LEVEL_DEEP, &error));
    OK(fpdb_close(db, &error));
    /* A program for another width gets no handle, and one for all widths does. */
    options = (FpdbOptions){.size = sizeof options, .bits = bits == 64 ? 128 : 64};
    FAILS(fpdb_open(path, &options, &db, &error), FPDB_CODE_UNSUPPORTED, "were requested: set bits");
    options = (FpdbOptions){.size = sizeof options, .bits = FPDB_BITS_ANY};
    OK(fpdb_open(path, &options, &db, &error));
    CHECK(fpdb_fingerprint_size(db) == size);
    OK(fpdb_close(db, &error));
}

/* 200 words, of which `changed` are other ones. */
static void text_of(char *text, int first, int changed) {
    for (int i = 0; i < 200; i++)
        text += sprintf(text, "word%d ", i < changed ? first + 1000 + i : first + i);
}

static void finds_similar_texts(void) {
    static unsigned char sketches[5][FPDB_SKETCH_SIZE], back[5][FPDB_SKETCH_SIZE];
    /* Up to 10 changed words, the similarity is more than 0.9. With 40, it is less than 0.7. */
    static const int changed[] = {0, 1, 10, 40};
    static char text[5000];
    FpdbOptions options = {.size = sizeof options, .similarity = 0.8, .recall = 0.9, .page_memory = 64 << 20};
    FpdbQuery query = {.size = sizeof query};
    FpdbDocument document = {.size = sizeof document};
    FpdbStats stats = {.size = sizeof stats};
    FpdbMatch matches[5];
    FpdbOutcome outcomes[5];
    const uint64_t ids[] = {10, 11, 12, 13, 14}, stamp = 3;
    FpdbWrite write = {.size = sizeof write, .count = 5, .fingerprints = sketches, .ids = ids};
    FpdbRecipe *recipe = NULL, *same = NULL;
    FpdbDb *db = NULL;
    size_t found;
    uint32_t exists = 7;
    OK(fpdb_recipe("pairs/1", FPDB_BITS_SKETCH, &recipe, &error));
    for (int i = 0; i < 5; i++) {
        text_of(text, i < 4 ? 0 : 5000, i < 4 ? changed[i] : 0);
        OK(fpdb_fingerprint(recipe, text, strlen(text), sketches[i], &error));
    }
    options.recipe = recipe;
    OK(fpdb_create("similar", &options, &db, &error));
    CHECK(fpdb_fingerprint_size(db) == FPDB_SKETCH_SIZE);
    OK(fpdb_write(db, &write, outcomes, &error));
    CHECK(outcomes[0].kind == FPDB_OUTCOME_KIND_INSERTED && outcomes[0].document.similarity == 1);
    CHECK(outcomes[1].kind == FPDB_OUTCOME_KIND_DUPLICATE && outcomes[1].document.similarity > 0.95);
    CHECK(outcomes[2].kind == FPDB_OUTCOME_KIND_DUPLICATE && outcomes[2].document.similarity < 0.95);
    CHECK(outcomes[3].kind == FPDB_OUTCOME_KIND_INSERTED && outcomes[4].kind == FPDB_OUTCOME_KIND_INSERTED);
    write.mode = FPDB_WRITE_MODE_ALWAYS;
    OK(fpdb_write(db, &write, outcomes, &error));
    CHECK(outcomes[0].kind == FPDB_OUTCOME_KIND_UNCHANGED && outcomes[1].kind == FPDB_OUTCOME_KIND_INSERTED);
    for (int flushed = 0; flushed < 2; flushed++) {
        query.distance = 0;
        OK(fpdb_query(db, sketches[0], NULL, matches, back, 5, &found, &error));
        CHECK(found == 3 && matches[0].id == 10 && matches[1].id == 11 && matches[2].id == 12);
        CHECK(matches[0].similarity == 1 && matches[1].similarity > matches[2].similarity);
        CHECK(matches[2].similarity > 0.85 && matches[2].distance > 0);
        CHECK(memcmp(back, sketches, 3 * FPDB_SKETCH_SIZE) == 0);
        query.distance = 128;
        OK(fpdb_query(db, sketches[0], &query, matches, back, 5, &found, &error));
        CHECK(found == 5 && matches[4].id == 14 && matches[4].similarity < 0.2);
        query.distance = FPDB_EXACT;
        OK(fpdb_query(db, sketches[0], &query, matches, NULL, 5, &found, &error));
        CHECK(found >= 1 && matches[0].id == 10 && matches[0].distance == 0);
        OK(fpdb_flush(db, &error));
    }
    OK(fpdb_upsert_if_novel(db, sketches[4], NULL, 14, &stamp, outcomes, &error));
    CHECK(outcomes[0].kind == FPDB_OUTCOME_KIND_UNCHANGED);
    OK(fpdb_get(db, NULL, 14, &document, back, &exists, &error));
    CHECK(exists && document.stamp == 3 && memcmp(back, sketches[4], FPDB_SKETCH_SIZE) == 0);
    OK(fpdb_stats(db, &stats, &error));
    CHECK(stats.bits == FPDB_BITS_SKETCH && stats.similarity == 0.8 && stats.ids == FPDB_IDS_UNIQUE);
    CHECK(stats.documents == 5 && stats.page_memory_limit == 64 << 20);
    OK(fpdb_close(db, &error));
    FAILS(fpdb_open("similar", NULL, &db, &error), FPDB_CODE_UNSUPPORTED, "has sketches");
    /* What is not given is as it is stored. */
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.9};
    REFUSED(fpdb_open("similar", &options, &db, &error), "at least 0.9 (recall 0.9) was requested, but the database has Jaccard similarity at least 0.8");
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8};
    OK(fpdb_open("similar", &options, &db, &error));
    OK(fpdb_close(db, &error));
    options = (FpdbOptions){.size = sizeof options, .recall = 0.9};
    OK(fpdb_open("similar", &options, &db, &error));
    OK(fpdb_close(db, &error));
    options = (FpdbOptions){.size = sizeof options, .similarity = 0.8, .recall = 0.95};
    REFUSED(fpdb_open("similar", &options, &db, &error), "(recall 0.95) was requested, but the database has Jaccard similarity at least 0.8 (recall 0.9)");
    options = (FpdbOptions){.size = sizeof options, .recall = 0.95};
    REFUSED(fpdb_open_or_create("similar", &options, &db, &error), "(recall 0.95) was requested, but the database has Jaccard similarity at least 0.8 (recall 0.9)");
    options = (FpdbOptions){.size = sizeof options, .bits = FPDB_BITS_ANY};
    OK(fpdb_open("similar", &options, &db, &error));
    OK(fpdb_recipe_of(db, &same, &error));
    text_of(text, 5000, 0);
    OK(fpdb_fingerprint(same, text, strlen(text), back, &error));
    CHECK(memcmp(back, sketches[4], FPDB_SKETCH_SIZE) == 0);
    fpdb_free_recipe(same);
    fpdb_free_recipe(recipe);
    OK(fpdb_close(db, &error));
}

/* The first 128 bits of a recipe's sketch are its fingerprint of 128 bits. */
static void recipes_agree_about_all_widths(void) {
    unsigned char sketch[FPDB_SKETCH_SIZE];
    FpdbBits128 wide;
    uint64_t narrow;
    FpdbRecipe *recipes[3] = {NULL};
    FpdbOptions options = {.size = sizeof options};
    FpdbDb *db = NULL;
    FpdbRecipe *none = NULL;
    char *name = NULL;
    OK(fpdb_recipe("pairs/1", 0, &recipes[0], &error));
    OK(fpdb_recipe("pairs/1", 128, &recipes[1], &error));
    OK(fpdb_recipe("pairs/1", FPDB_BITS_SKETCH, &recipes[2], &error));
    OK(fpdb_fingerprint(recipes[0], notice, strlen(notice), &narrow, &error));
    OK(fpdb_fingerprint(recipes[1], notice, strlen(notice), &wide, &error));
    OK(fpdb_fingerprint(recipes[2], notice, strlen(notice), sketch, &error));
    CHECK(narrow != 0 && wide.low != 0 && wide.high != 0);
    for (int i = 0; i < 16; i++)
        CHECK(sketch[i] == (unsigned char)((i < 8 ? wide.low : wide.high) >> (i % 8 * 8)));
    options.recipe = recipes[1];
    OK(fpdb_create("wide", &options, &db, &error));
    CHECK(fpdb_fingerprint_size(db) == sizeof wide);
    OK(fpdb_close(db, &error));
    options = (FpdbOptions){.size = sizeof options, .custom_recipe = "ours/1"};
    OK(fpdb_create("ours", &options, &db, &error));
    FAILS(fpdb_recipe_of(db, &none, &error), FPDB_CODE_UNSUPPORTED, "cannot make fingerprints for the database");
    OK(fpdb_recipe_name(db, &name, &error));
    CHECK(strcmp(name, "ours/1") == 0);
    fpdb_free_text(name);
    OK(fpdb_close(db, &error));
    OK(fpdb_create("nobody's", NULL, &db, &error));
    none = recipes[0];
    OK(fpdb_recipe_of(db, &none, &error));
    OK(fpdb_recipe_name(db, &name, &error));
    CHECK(none == NULL && name == NULL);
    OK(fpdb_close(db, &error));
    for (int i = 0; i < 3; i++)
        fpdb_free_recipe(recipes[i]);
}

static void writes_batches(const char *path) {
    enum { COUNT = 1000 };
    static uint64_t fingerprints[COUNT], ids[COUNT];
    static FpdbOutcome outcomes[COUNT];
    FpdbOptions options = {.size = sizeof options, .max_distance = FPDB_EXACT,
                           .durability = FPDB_DURABILITY_BUFFERED, .sync_milliseconds = 100};
    FpdbWrite write = {.size = sizeof write};
    FpdbMatch matches[2];
    FpdbDb *db = NULL;
    size_t found, i;
    uint64_t count;
    uint32_t removed = 7;
    for (i = 0; i < COUNT; i++) {
        fingerprints[i] = (uint64_t)(i / 2) << 20 | (i % 2); /* pairs that differ in one bit */
        ids[i] = i + 100;
    }
    OK(fpdb_open_or_create(path, &options, &db, &error));
    OK(fpdb_write(db, &write, NULL, &error));
    write = (FpdbWrite){.size = sizeof write, .count = COUNT, .fingerprints = fingerprints, .ids = ids};
    OK(fpdb_write(db, &write, outcomes, &error));
    CHECK(outcomes[COUNT - 1].kind == FPDB_OUTCOME_KIND_INSERTED && outcomes[COUNT - 1].document.id == COUNT + 99);
    write.distance = 1;
    write.ids = fingerprints;
    OK(fpdb_write(db, &write, outcomes, &error));
    CHECK(outcomes[COUNT - 1].kind == FPDB_OUTCOME_KIND_DUPLICATE && outcomes[COUNT - 1].document.id == COUNT + 99);
    OK(fpdb_sync(db, &error));
    OK(fpdb_close(db, &error));
    options.page_memory = 1 << 20;
    OK(fpdb_open_or_create(path, &options, &db, &error));
    OK(fpdb_count(db, &count, &error));
    CHECK(count == COUNT);
    OK(fpdb_query(db, F(0), NULL, matches, NULL, 2, &found, &error));
    CHECK(found == 1 && matches[0].id == 100 && matches[0].distance == 0);
    OK(fpdb_insert_if_novel(db, F(0), NULL, 5, outcomes, &error));
    CHECK(outcomes[0].kind == FPDB_OUTCOME_KIND_DUPLICATE && outcomes[0].document.id == 100);
    OK(fpdb_remove_entry(db, F(0), 101, &removed, &error));
    CHECK(!removed);
    OK(fpdb_remove_entry(db, F(0), 100, &removed, &error));
    CHECK(removed);
    OK(fpdb_remove(db, NULL, 101, &removed, &error));
    CHECK(removed);
    OK(fpdb_count(db, &count, &error));
    CHECK(count == COUNT - 2);
    REFUSED(fpdb_expire(db, 1, &count, &error), "user ids");
    REFUSED(fpdb_upsert_if_novel(db, F(1), NULL, 5, NULL, outcomes, &error), "ids");
    OK(fpdb_close(db, &error));
}

/* A crawler that visits its pages again: updates, stamps, removals, and another handle that reads. */
static void keeps_documents(const char *path) {
    const char *a = "https://a.example/", *b = "https://b.example/";
    const uint64_t day[] = {1, 2, 3};
    FpdbOptions options = {.size = sizeof options, .ids = FPDB_IDS_NAMES, .max_distance = 3};
    FpdbOptions reading = {.size = sizeof reading, .read_only = 1};
    FpdbDb *db = NULL, *reader = NULL;
    FpdbStats stats = {.size = sizeof stats};
    char *text = NULL, *write_failure = NULL;
    FpdbOutcome outcome;
    FpdbDocument document = {.size = sizeof document};
    FpdbQuery query = {.size = sizeof query, .distance = 64};
    FpdbWrite write = {.size = sizeof write, .count = 1, .names = &b, .stamps = &day[2],
                       .mode = FPDB_WRITE_MODE_UPSERT_IF_NOVEL, .on_duplicate = FPDB_ON_DUPLICATE_REMEMBER};
    uint32_t is_there = 7;
    uint64_t count, stored;
    size_t found;
    OK(fpdb_create(path, &options, &db, &error));
    OK(fpdb_upsert_if_novel(db, F(0xff00), a, 0, &day[1], &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_INSERTED);
    OK(fpdb_upsert_if_novel(db, F(0xff01), b, 0, NULL, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.distance == 1);
    OK(fpdb_open(path, &reading, &reader, &error));
    OK(fpdb_upsert_if_novel(db, F(0xff00), a, 0, &day[0], &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UNCHANGED && outcome.document.distance == 0);
    OK(fpdb_upsert_if_novel(db, F(0xffff), a, 0, NULL, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UPDATED && outcome.document.distance == 8);
    OK(fpdb_get(db, a, 0, &document, &stored, &is_there, &error));
    CHECK(is_there && stored == 0xffff && document.has_stamp && document.stamp == 2);
    CHECK(!document.is_duplicate && document.id == outcome.document.id && document.size == sizeof document);
    OK(fpdb_get(db, b, 0, &document, NULL, &is_there, &error));
    CHECK(!is_there);
    OK(fpdb_insert_if_novel(db, F(0), b, 0, &outcome, &error));
    OK(fpdb_get(db, b, 0, &document, NULL, &is_there, &error));
    CHECK(is_there && !document.has_stamp);
    OK(fpdb_query(db, F(0), &query, NULL, NULL, 0, &found, &error));
    CHECK(found == 2);
    query.since = 2;
    OK(fpdb_query(db, F(0), &query, NULL, NULL, 0, &found, &error));
    CHECK(found == 1);
    /* The reader shows what it has read. */
    OK(fpdb_get(reader, a, 0, &document, &stored, &is_there, &error));
    CHECK(stored == 0xff00);
    OK(fpdb_refresh(reader, &is_there, &error));
    CHECK(is_there);
    OK(fpdb_get(reader, a, 0, &document, &stored, &is_there, &error));
    CHECK(stored == 0xffff);
    OK(fpdb_refresh(reader, &is_there, &error));
    CHECK(!is_there);
    OK(fpdb_refresh(db, &is_there, &error));
    CHECK(!is_there);
    REFUSED(fpdb_flush(reader, &error), "for reading only");
    REFUSED(fpdb_remove(reader, a, 0, &is_there, &error), "for reading only");
    OK(fpdb_touch(db, b, 0, day[0], &is_there, &error));
    CHECK(is_there);
    OK(fpdb_touch(db, "c", 0, day[0], &is_there, &error));
    CHECK(!is_there);
    OK(fpdb_expire(db, day[1], &count, &error));
    CHECK(count == 1);
    OK(fpdb_get(db, b, 0, &document, NULL, &is_there, &error));
    CHECK(!is_there);
    /* A duplicate is remembered, and no query finds it. */
    write.fingerprints = F(0xfffe);
    OK(fpdb_write(db, &write, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE);
    OK(fpdb_write(db, &write, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UNCHANGED_DUPLICATE && outcome.document.distance == 1);
    OK(fpdb_get(db, b, 0, &document, &stored, &is_there, &error));
    CHECK(is_there && document.is_duplicate && document.duplicate_of == outcome.document.id && stored == 0xfffe);
    CHECK(document.stamp == 3);
    OK(fpdb_query(db, F(0xfffe), NULL, NULL, NULL, 0, &found, &error));
    CHECK(found == 1);
    /* Once nothing is near it any more, it is a document of its own. */
    OK(fpdb_insert_if_novel(db, F(0xfffe), b, 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.distance == 1);
    OK(fpdb_get(db, a, 0, &document, &stored, &is_there, &error));
    CHECK(is_there && outcome.document.id == document.id && stored == 0xffff);
    OK(fpdb_remove(db, a, 0, &is_there, &error));
    CHECK(is_there);
    OK(fpdb_insert_if_novel(db, F(0xfffe), b, 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_UPDATED && outcome.document.distance == 0);
    OK(fpdb_get(db, b, 0, &document, &stored, &is_there, &error));
    CHECK(is_there && !document.is_duplicate && document.id == outcome.document.id);
    OK(fpdb_insert_if_novel(db, F(0xffff), a, 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_DUPLICATE && outcome.document.id == document.id);
    OK(fpdb_remove(db, b, 0, &is_there, &error));
    OK(fpdb_insert_if_novel(db, F(0xffff), a, 0, &outcome, &error));
    CHECK(outcome.kind == FPDB_OUTCOME_KIND_INSERTED);
    /* A check writes recent documents to files, and reads these. */
    OK(fpdb_stats(db, &stats, &error));
    CHECK(stats.recent_entries > 0);
    OK(fpdb_verify(db, FPDB_VERIFY_LEVEL_QUICK, &error));
    OK(fpdb_stats(db, &stats, &error));
    CHECK(stats.recent_entries == 0 && stats.flushed_bytes > 0);
    OK(fpdb_compact(db, &error));
    OK(fpdb_release_memory(db, &error));
    OK(fpdb_warm(db, &error));
    OK(fpdb_stats(db, &stats, &error));
    CHECK(stats.index_memory > 0);
    OK(fpdb_failures(db, &write_failure, &text, &error));
    CHECK(write_failure == NULL && text == NULL);
    OK(fpdb_verify(db, FPDB_VERIFY_LEVEL_QUICK, &error));
    OK(fpdb_verify(db, FPDB_VERIFY_LEVEL_FULL, &error));
    OK(fpdb_backup(db, "copy", &error));
    FAILS(fpdb_backup(db, "copy", &error), FPDB_CODE_ALREADY_EXISTS, "copy");
    OK(fpdb_remove(db, a, 0, &is_there, &error));
    CHECK(is_there);
    OK(fpdb_remove(db, a, 0, &is_there, &error));
    CHECK(!is_there);
    OK(fpdb_count(db, &count, &error));
    CHECK(count == 0);
    OK(fpdb_close(reader, &error));
    /* Nothing more is written once the folder is another one. */
    CHECK(rename(path, "moved") == 0);
    outcome.kind = 7;
    FAILS(fpdb_insert_if_novel(db, F(1), a, 0, &outcome, &error), FPDB_CODE_CLOSED, "the folder was moved");
    FAILS(fpdb_flush(db, &error), FPDB_CODE_POISONED, "an earlier write failed, so open the database again");
    CHECK(outcome.kind == 7);
    OK(fpdb_stats(db, &stats, &error));
    OK(fpdb_failures(db, &write_failure, &text, &error));
    CHECK(stats.write_failed == 1 && write_failure != NULL && text == NULL && !stats.background_failed);
    CHECK(strstr(write_failure, "the folder was moved") != NULL);
    fpdb_free_text(write_failure);
    CHECK(fpdb_close(db, NULL) != FPDB_CODE_OK);
    OK(fpdb_open("copy", &reading, &reader, &error));
    OK(fpdb_count(reader, &count, &error));
    CHECK(count == 1);
    CHECK(system("for file in copy/*.t00; do printf x | dd of=$file bs=1 seek=70 conv=notrunc 2> /dev/null; done") == 0);
    FAILS(fpdb_verify(reader, FPDB_VERIFY_LEVEL_QUICK, &error), FPDB_CODE_CORRUPTION, ".t00");
    OK(fpdb_close(reader, &error));
    /* The background reads the file, too. */
    OK(fpdb_open("copy", &reading, &reader, &error));
    FAILS(fpdb_warm(reader, &error), FPDB_CODE_CORRUPTION, ".t00");
    for (int i = 0; i < 1000 && !stats.background_failed; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        OK(fpdb_stats(reader, &stats, &error));
    }
    OK(fpdb_failures(reader, &write_failure, &text, &error));
    CHECK(stats.background_failed && write_failure == NULL && text != NULL && strstr(text, ".t00") != NULL);
    fpdb_free_text(text);
    OK(fpdb_close(reader, &error));
    CHECK(strchr(fpdb_version(), '.') != NULL && fpdb_abi() == FPDB_ABI);
}

/* Two threads use one handle. Each finds what it has written, and both together write each document once. */
enum { THREADS = 2, EACH = 300 };

static FpdbDb *shared;

static void *writes_and_finds(void *first) {
    uint64_t novel = 0;
    for (uint64_t i = 0; i < EACH; i++) {
        const uint64_t number = (*(uint64_t *)first + i) % EACH, fingerprint = number << 8;
        char *problem = NULL, *name = NULL, wanted[32];
        FpdbOutcome outcome;
        FpdbMatch match;
        size_t found = 0;
        sprintf(wanted, "page %d", (int)number);
        if (fpdb_insert_if_novel(shared, &fingerprint, wanted, 0, &outcome, &problem) != FPDB_CODE_OK
            || fpdb_query(shared, &fingerprint, NULL, &match, NULL, 1, &found, &problem) != FPDB_CODE_OK
            || fpdb_name(shared, match.id, &name, &problem) != FPDB_CODE_OK
            || found != 1 || match.id != outcome.document.id || strcmp(name, wanted) != 0) {
            fprintf(stderr, "%s: %s\n", wanted, problem != NULL ? problem : name);
            exit(1);
        }
        fpdb_free_text(name);
        novel += outcome.kind == FPDB_OUTCOME_KIND_INSERTED;
    }
    *(uint64_t *)first = novel;
    return NULL;
}

static void serves_two_threads(void) {
    FpdbOptions options = {.size = sizeof options, .ids = FPDB_IDS_NAMES, .max_distance = FPDB_EXACT};
    pthread_t threads[THREADS];
    uint64_t numbers[THREADS] = {0, EACH / 2}, count;
    OK(fpdb_create("shared", &options, &shared, &error));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, writes_and_finds, &numbers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(fpdb_count(shared, &count, &error));
    CHECK(count == EACH && numbers[0] + numbers[1] == EACH);
    OK(fpdb_close(shared, &error));
}

/* A recall alone makes a database of sketches of the default similarity. */
static void chooses_what_is_not_given(void) {
    FpdbOptions options = {.size = sizeof options, .recall = 0.9}, defaults = {.size = sizeof defaults};
    FpdbStats stats = {.size = sizeof stats}, others = {.size = sizeof others};
    FpdbDb *db = NULL;
    OK(fpdb_create("recall", &options, &db, &error));
    OK(fpdb_stats(db, &stats, &error));
    OK(fpdb_close(db, &error));
    defaults.bits = FPDB_BITS_SKETCH;
    OK(fpdb_create("default", &defaults, &db, &error));
    OK(fpdb_stats(db, &others, &error));
    CHECK(stats.bits == FPDB_BITS_SKETCH && stats.similarity == 0.8 && others.similarity == 0.8);
    OK(fpdb_close(db, &error));
    REFUSED(fpdb_open("default", &options, &db, &error), "(recall 0.9) was requested, but the database has Jaccard similarity at least 0.8 (recall 0.95)");
    OK(fpdb_open("recall", &options, &db, &error));
    OK(fpdb_close(db, &error));
}

/* Documents that share the start of a text share a key, which leads to many pages. */
static void reads_no_more_pages_than_allowed(void) {
    enum { COUNT = 400 };
    static unsigned char sketches[COUNT][FPDB_SKETCH_SIZE];
    static uint64_t ids[COUNT];
    static FpdbOutcome outcomes[COUNT];
    FpdbOptions options = {.size = sizeof options, .bits = FPDB_BITS_SKETCH, .candidate_pages = 1};
    FpdbWrite write = {.size = sizeof write, .count = COUNT, .fingerprints = sketches, .ids = ids,
                       .mode = FPDB_WRITE_MODE_ALWAYS};
    FpdbDb *db = NULL;
    FpdbMatch match;
    uint32_t state = 7;
    size_t found = 7;
    for (int i = 0; i < COUNT; i++) {
        for (int byte = 0; byte < FPDB_SKETCH_SIZE; byte++)
            sketches[i][byte] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
        /* The first minima are the same. */
        for (int plane = 0; plane < 6; plane++)
            sketches[i][16 * plane] = 9;
        ids[i] = i;
    }
    OK(fpdb_create("pages", &options, &db, &error));
    OK(fpdb_write(db, &write, outcomes, &error));
    OK(fpdb_flush(db, &error));
    FAILS(fpdb_query(db, sketches[0], NULL, &match, NULL, 1, &found, &error), FPDB_CODE_TOO_MANY_CANDIDATES,
          "allow more with candidate_pages");
    CHECK(found == 7);
    OK(fpdb_close(db, &error));
    options.candidate_pages = 1000;
    OK(fpdb_open("pages", &options, &db, &error));
    OK(fpdb_query(db, sketches[0], NULL, &match, NULL, 1, &found, &error));
    CHECK(found >= 1 && match.distance == 0);
    OK(fpdb_close(db, &error));
}

int main(int count, char **arguments) {
    FpdbDb *db = NULL;
    FpdbRecipe *recipe = NULL;
    FpdbOptions options = {.size = sizeof options, .ids = FPDB_IDS_NAMES};
    CHECK(count == 3);
    OK(fpdb_recipe("default", 64, &recipe, &error));
    options.recipe = recipe;
    OK(fpdb_create(arguments[1], &options, &db, &error));
    finds_near_duplicates(db, recipe);
    refuses_wrong_arguments(arguments[1], db, recipe);
    refuses_options_before_it_touches_the_disk(recipe);
    OK(fpdb_close(db, &error));
    for (uint32_t k = 0; k <= 12; k += 3) {
        char path[32];
        sprintf(path, "narrow%d", (int)k);
        finds_planted_neighbours(path, 64, k);
        sprintf(path, "wide%d", (int)k);
        if (k <= 10)
            finds_planted_neighbours(path, 128, k);
    }
    finds_similar_texts();
    recipes_agree_about_all_widths();
    writes_batches(arguments[2]);
    refuses_places_before_it_does_anything();
    keeps_documents("documents");
    serves_two_threads();
    chooses_what_is_not_given();
    reads_no_more_pages_than_allowed();
    fpdb_free_recipe(recipe);
    fpdb_free_recipe(NULL);
    fpdb_free_text(NULL);
    OK(fpdb_close(NULL, NULL));
    CHECK(error == NULL);
    return 0;
}
