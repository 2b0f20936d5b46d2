/* Forks while other threads write, write files and read. In the child, every function returns, with FPDB_CODE_CLOSED. */
#define _POSIX_C_SOURCE 200809L
#include "fpdb.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 100, SECONDS = 20 };

static FpdbDb *writer, *reader;
static volatile int stop;

static void check(FpdbCode code, const char *error) {
    if (code == FPDB_CODE_OK)
        return;
    fprintf(stderr, "%s\n", error != NULL ? error : "no text");
    exit(1);
}

static void *writes(void *unused) {
    (void)unused;
    for (uint64_t i = 0; !stop; i++) {
        const uint64_t fingerprint = i << 20;
        char name[32], *error = NULL;
        FpdbOutcome outcome;
        uint32_t is_new;
        snprintf(name, sizeof name, "page %d", (int)i);
        check(fpdb_insert_if_novel(writer, &fingerprint, name, 0, &outcome, &error), error);
        if (i % 50 == 49) {
            check(fpdb_flush(writer, &error), error);
            check(fpdb_refresh(reader, &is_new, &error), error);
        }
    }
    return NULL;
}

static void *reads(void *unused) {
    (void)unused;
    while (!stop) {
        const uint64_t fingerprint = 0;
        FpdbStats stats = {.size = sizeof stats};
        size_t found;
        char *error = NULL;
        check(fpdb_query(writer, &fingerprint, NULL, NULL, NULL, 0, &found, &error), error);
        check(fpdb_query(reader, &fingerprint, NULL, NULL, NULL, 0, &found, &error), error);
        check(fpdb_stats(writer, &stats, &error), error);
        check(fpdb_release_memory(reader, &error), error);
    }
    return NULL;
}

/* Returns the line of the first call that does not return FPDB_CODE_CLOSED. */
static int first_open(FpdbDb *db) {
    const uint64_t fingerprint = 1, stamp = 1;
    const char *name = "page 1";
    FpdbWrite write = {.size = sizeof write, .count = 1, .fingerprints = &fingerprint, .names = &name};
    FpdbStats stats = {.size = sizeof stats};
    FpdbDocument document = {.size = sizeof document};
    FpdbOutcome outcome = {.kind = 7};
    FpdbMatch match = {.id = 7};
    FpdbRecipe *recipe = NULL;
    uint32_t flag = 7;
    uint64_t count = 7;
    size_t found = 7;
    char *text = NULL, *error = NULL;
#define CLOSED(call) \
    do { \
        if ((call) != FPDB_CODE_CLOSED || error == NULL) \
            return __LINE__; \
        fpdb_free_text(error); \
        error = NULL; \
    } while (0)
    CLOSED(fpdb_insert_if_novel(db, &fingerprint, name, 0, &outcome, &error));
    CLOSED(fpdb_upsert_if_novel(db, &fingerprint, name, 0, &stamp, &outcome, &error));
    CLOSED(fpdb_write(db, &write, &outcome, &error));
    CLOSED(fpdb_remove(db, name, 0, &flag, &error));
    CLOSED(fpdb_remove_entry(db, &fingerprint, 0, &flag, &error));
    CLOSED(fpdb_touch(db, name, 0, 1, &flag, &error));
    CLOSED(fpdb_expire(db, 1, &count, &error));
    CLOSED(fpdb_query(db, &fingerprint, NULL, &match, NULL, 1, &found, &error));
    CLOSED(fpdb_get(db, name, 0, &document, NULL, &flag, &error));
    CLOSED(fpdb_name(db, 0, &text, &error));
    CLOSED(fpdb_refresh(db, &flag, &error));
    CLOSED(fpdb_count(db, &count, &error));
    CLOSED(fpdb_stats(db, &stats, &error));
    CLOSED(fpdb_failures(db, &text, &text, &error));
    CLOSED(fpdb_sync(db, &error));
    CLOSED(fpdb_flush(db, &error));
    CLOSED(fpdb_compact(db, &error));
    CLOSED(fpdb_backup(db, "copy", &error));
    CLOSED(fpdb_verify(db, FPDB_VERIFY_LEVEL_QUICK, &error));
    CLOSED(fpdb_warm(db, &error));
    CLOSED(fpdb_release_memory(db, &error));
    CLOSED(fpdb_recipe_name(db, &text, &error));
    CLOSED(fpdb_recipe_of(db, &recipe, &error));
    if (fpdb_fingerprint_size(db) != sizeof fingerprint)
        return __LINE__;
    CLOSED(fpdb_close(db, &error));
    if (outcome.kind != 7 || match.id != 7 || flag != 7 || count != 7 || found != 7 || text != NULL || recipe != NULL)
        return __LINE__;
    return 0;
}

int main(void) {
    FpdbOptions options = {.size = sizeof options, .ids = FPDB_IDS_NAMES, .recent_entries = 100};
    FpdbOptions reading = {.size = sizeof reading, .read_only = 1};
    pthread_t threads[2];
    uint64_t count = 0;
    char *error = NULL;
    check(fpdb_create("forked", &options, &writer, &error), error);
    check(fpdb_open("forked", &reading, &reader, &error), error);
    if (pthread_create(&threads[0], NULL, writes, NULL) != 0 || pthread_create(&threads[1], NULL, reads, NULL) != 0)
        return 1;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0) {
            /* Ends a child that waits for a lock of its parent. */
            alarm(SECONDS);
            const int line = first_open(writer);
            const int other = line != 0 ? line : first_open(reader);
            if (other != 0) {
                dprintf(2, "line %d: not closed\n", other);
                _exit(1);
            }
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "child %d: status %d\n", i, status);
            return 1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* The parent's database works on. */
    check(fpdb_verify(writer, FPDB_VERIFY_LEVEL_FULL, &error), error);
    check(fpdb_count(writer, &count, &error), error);
    check(fpdb_close(reader, &error), error);
    check(fpdb_close(writer, &error), error);
    if (count == 0) {
        fprintf(stderr, "nothing was written\n");
        return 1;
    }
    return 0;
}
