/* The C interface of fpdb. README.md of the package fpdb-c says how to use it. */

#ifndef FPDB_H
#define FPDB_H

/* Made by tools/header. Do not edit. */

#include <stddef.h>
#include <stdint.h>

// The number of this interface. It changes if a program must be compiled or written anew.
// `fpdb_abi` returns the number of the library.
#define FPDB_ABI 1

// For a distance of 0 bits, which only equal fingerprints have. In the structs, 0 is the default.
#define FPDB_EXACT UINT32_MAX

// The `bits` of a sketch.
#define FPDB_BITS_SKETCH 1824

// For opening a database with whatever fingerprints it has. `fpdb_fingerprint_size` says how large
// they are.
#define FPDB_BITS_ANY UINT32_MAX

// The bytes of a sketch.
#define FPDB_SKETCH_SIZE 228

// What became of a call. Everything but `FPDB_CODE_OK` and `FPDB_CODE_TOO_SHORT` is an error,
// about which there is a text.
enum FpdbCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  FPDB_CODE_OK = 0,
  // The text has too few words for a fingerprint that tells texts apart.
  FPDB_CODE_TOO_SHORT = 1,
  // There is no database at this path.
  FPDB_CODE_NOT_FOUND = 2,
  // There is already something at this path.
  FPDB_CODE_ALREADY_EXISTS = 3,
  // Another handle or process is writing to this database.
  FPDB_CODE_LOCKED = 4,
  // An argument is out of range, null or not UTF-8, or does not fit this database.
  FPDB_CODE_INVALID_ARGUMENT = 5,
  // The database is for another width or recipe, or it or your program needs a newer version.
  FPDB_CODE_UNSUPPORTED = 6,
  // Bytes on disk are not what was written.
  FPDB_CODE_CORRUPTION = 7,
  // The operating system reported a failure. Remove its cause. If `write_failed` of `FpdbStats`
  // is 0 then, you may repeat the call. Otherwise open the database again.
  FPDB_CODE_IO = 8,
  // The disk is full, or has too little free space for the call. Free some space. Then the same
  // holds as for `FPDB_CODE_IO`.
  FPDB_CODE_NO_SPACE = 9,
  // An earlier write failed, so this handle takes no more writes. Open the database again.
  FPDB_CODE_POISONED = 10,
  // The process was forked from the one that opened the database, or its folder was replaced.
  // Open it again.
  FPDB_CODE_CLOSED = 11,
  // A backup, merge or rebuild was to create this database and did not finish. Repeat it, or
  // remove the folder.
  FPDB_CODE_UNFINISHED = 12,
  // The sketch leads to more documents than one query may read: see `candidate_pages` of
  // `FpdbOptions`. Nothing was read or written. Allow more, or write the document with
  // `FPDB_WRITE_MODE_ALWAYS`.
  FPDB_CODE_TOO_MANY_CANDIDATES = 13,
  // A failure that has no code of its own.
  FPDB_CODE_OTHER = 14,
  // A fault of fpdb, which is worth a report. Close the handle.
  FPDB_CODE_PANIC = 15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbCode FpdbCode;
#else
typedef uint32_t FpdbCode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What became of a document.
enum FpdbOutcomeKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It was new, and is in the database now.
  FPDB_OUTCOME_KIND_INSERTED = 0,
  // Another document is near it, so it was not inserted.
  FPDB_OUTCOME_KIND_DUPLICATE = 1,
  // Its name or id is in the database already, so it was not inserted.
  FPDB_OUTCOME_KIND_EXISTS = 2,
  // Its name or id was in the database already. It has the new fingerprint now, and queries find
  // it. One that was remembered as a duplicate, and that nothing is near any more, is also
  // updated by `FPDB_WRITE_MODE_INSERT_IF_NOVEL`, and even if the fingerprint is the same.
  FPDB_OUTCOME_KIND_UPDATED = 3,
  // Its name or id is in the database already, with this fingerprint. Not for
  // `FPDB_WRITE_MODE_INSERT_IF_NOVEL`.
  FPDB_OUTCOME_KIND_UNCHANGED = 4,
  // It was remembered as a duplicate, with this fingerprint, and it still is one. Only for
  // `FPDB_WRITE_MODE_UPSERT_IF_NOVEL`.
  FPDB_OUTCOME_KIND_UNCHANGED_DUPLICATE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbOutcomeKind FpdbOutcomeKind;
#else
typedef uint32_t FpdbOutcomeKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which failures a write survives, once the call has returned.
enum FpdbDurability
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A crash of the process or of the system, and a loss of power.
  FPDB_DURABILITY_SYNC = 0,
  // A crash of the process. A loss of power can destroy what was written after the last sync,
  // which is made every second, by `fpdb_sync` and by `fpdb_close`. Handles that only read see
  // what has been synced.
  FPDB_DURABILITY_BUFFERED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbDurability FpdbDurability;
#else
typedef uint32_t FpdbDurability;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How documents get their ids. Stored in the database.
enum FpdbIds
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `FPDB_IDS_USER` for fingerprints, and `FPDB_IDS_UNIQUE` for sketches.
  FPDB_IDS_DEFAULT = 0,
  // You give each fingerprint an id. An id may have several fingerprints, and no document is
  // found by its id. Takes the least space. Not for sketches.
  FPDB_IDS_USER = 1,
  // You give each document an id, and the database finds it by that.
  FPDB_IDS_UNIQUE = 2,
  // You give each document a name, such as a URL, of 1 to 65,535 bytes, and the database finds
  // it by that. The database chooses the ids.
  FPDB_IDS_NAMES = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbIds FpdbIds;
#else
typedef uint32_t FpdbIds;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What becomes of the document with a name or id if an upsert finds that it is now a duplicate of
// another document.
enum FpdbOnDuplicate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It stays as it was, if there is one, but gets the new stamp if that is greater.
  FPDB_ON_DUPLICATE_KEEP = 0,
  // It is removed.
  FPDB_ON_DUPLICATE_REMOVE = 1,
  // It is kept with the new fingerprint as a duplicate of the other: `fpdb_get` finds it, and no
  // query does.
  FPDB_ON_DUPLICATE_REMEMBER = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbOnDuplicate FpdbOnDuplicate;
#else
typedef uint32_t FpdbOnDuplicate;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What `fpdb_verify` does.
enum FpdbVerifyLevel
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // As `FPDB_VERIFY_LEVEL_QUICK`, and decodes everything, and compares tables, documents and ids
  // with each other.
  FPDB_VERIFY_LEVEL_FULL = 0,
  // Reads all files and compares them with their checksums.
  FPDB_VERIFY_LEVEL_QUICK = 1,
  // As `FPDB_VERIFY_LEVEL_FULL`, and compares the answers to some queries with a scan of all
  // entries.
  FPDB_VERIFY_LEVEL_DEEP = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbVerifyLevel FpdbVerifyLevel;
#else
typedef uint32_t FpdbVerifyLevel;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether a document is written if another one is near it or if its name or id is there already.
enum FpdbWriteMode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Inserts it, unless another one is near it or its name or id is there already.
  FPDB_WRITE_MODE_INSERT_IF_NOVEL = 0,
  // Inserts it, or gives the document with its name or id the new fingerprint, unless another
  // one is near. Not with user ids.
  FPDB_WRITE_MODE_UPSERT_IF_NOVEL = 1,
  // Inserts it, or gives the document with its name or id the new fingerprint, whatever is near.
  FPDB_WRITE_MODE_ALWAYS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FpdbWriteMode FpdbWriteMode;
#else
typedef uint32_t FpdbWriteMode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An open database. Many threads may use it at the same time.
typedef struct FpdbDb FpdbDb;

// A method that makes fingerprints of texts, all of one width. Many threads may use it at the same
// time.
typedef struct FpdbRecipe FpdbRecipe;

// How a database is created or opened. Set `size` to `sizeof(FpdbOptions)` and the rest to 0, and
// then what you choose: `FpdbOptions options = {.size = sizeof options, .max_distance = 6};`. 0 is
// the default of every field.
//
// *Stored* options are fixed when the database is created. If you give them when you open it, they
// must agree.
typedef struct FpdbOptions {
  // `sizeof(FpdbOptions)`.
  size_t size;
  // The recipe that makes the fingerprints, or null. The database keeps its name, and refuses
  // another recipe from then on. Stored.
  const struct FpdbRecipe *recipe;
  // If you make the fingerprints yourself: the name of your method, up to 255 bytes, or null.
  // Not the name of a recipe of fpdb. Stored.
  const char *custom_recipe;
  // How many pages of documents, of 4 KiB, one query of a sketch may read. Default: one for each
  // 64 bytes of `page_memory`, but at least 4,096 and at most 1,048,576.
  size_t candidate_pages;
  // The Jaccard similarity, 0.5 to 1, from which two documents are near-duplicates. Makes a
  // database of sketches. Default for new sketches: 0.8; to open a database: as stored.
  double similarity;
  // The share of the pairs of exactly this similarity to find, 0.5 to 0.999. Makes a database of
  // sketches. Default for new sketches: 0.95; to open a database: as stored.
  double recall;
  // The number of entries for which the tables of a new database are chosen. Others work, too.
  // Default: a million.
  uint64_t expected_entries;
  // How many bytes of memory the pages of files may take. Default: up to seven tenths of the
  // machine's memory or of its limit, but so that three twentieths stay free. Pages are given
  // back while queries run, if other programs need the memory.
  uint64_t page_memory;
  // How many recent entries are in memory before they are written to files. Default: 131,072.
  uint64_t recent_entries;
  // 64, 128 or `FPDB_BITS_SKETCH`; to open a database, also `FPDB_BITS_ANY`. Default: sketches if
  // there is a similarity or a recall; otherwise what the recipe makes, and without a recipe 64.
  // Stored.
  uint32_t bits;
  // The number of bits up to which two fingerprints are near-duplicates: at most 12 of 64, and
  // 10 of 128; `FPDB_EXACT` for 0. Not for sketches. Default: 3; stored.
  uint32_t max_distance;
  // An `FpdbIds`. Stored.
  uint32_t ids;
  // An `FpdbDurability`.
  uint32_t durability;
  // With `FPDB_DURABILITY_BUFFERED`, the time between two syncs, up to 86,400,000, which is a
  // day. Not with `no_background`. Default: 1,000.
  uint32_t sync_milliseconds;
  // How many threads a compaction uses. Default: the number of processors.
  uint32_t threads;
  // 1 to open a database for reading only, while another process may write to it. The handle
  // shows what was written when it was opened, and later writes after `fpdb_refresh`. Of a
  // writer with `FPDB_DURABILITY_BUFFERED`, it shows what has been synced.
  uint32_t read_only;
  // 1 to write on a file system whose locks and syncs may not work, such as NFS or FUSE. Two
  // writers at the same time destroy a database.
  uint32_t trust_file_system;
  // 1 to start no threads: then a call that has to write files and compact does so by itself,
  // and buffered writes are synced by that, by `fpdb_sync` and by `fpdb_close`.
  uint32_t no_background;
  // 0.
  uint32_t reserved;
} FpdbOptions;

// What a database is and has. Set `size` to `sizeof(FpdbStats)` before the call.
typedef struct FpdbStats {
  // `sizeof(FpdbStats)`.
  size_t size;
  // The number of entries, which queries find.
  uint64_t entries;
  // The number of documents, with remembered duplicates; 0 with user ids.
  uint64_t documents;
  // How many of these are remembered duplicates.
  uint64_t duplicates;
  // How many removals take space until a compaction.
  uint64_t removed;
  // The number of segments.
  uint64_t segments;
  // The bytes of all files.
  uint64_t disk_bytes;
  // How many of these are the log's.
  uint64_t log_bytes;
  // How many recent changes are in memory, not yet in segments.
  uint64_t recent_entries;
  // About how many bytes of memory they take.
  uint64_t recent_bytes;
  // How many bytes of memory the pages of files take.
  uint64_t page_memory;
  // How many they may take.
  uint64_t page_memory_limit;
  // How many bytes of memory copies of directories and filters take.
  uint64_t index_memory;
  // The bytes of segments that were written for recent entries, since the database was created.
  uint64_t flushed_bytes;
  // The bytes of segments that compactions wrote, since the database was created.
  uint64_t compacted_bytes;
  // How long writers have waited for files to be written, since the database was opened.
  uint64_t stalled_microseconds;
  // How many writes found the disk full, since the database was opened.
  uint64_t refused_writes;
  // For sketches, the similarity that the database was created for; otherwise -1.
  double similarity;
  // 64, 128 or `FPDB_BITS_SKETCH`.
  uint32_t bits;
  // The distance beyond which two documents are no near-duplicates, in bits, or in minima of
  // sketches. 0 means 0 bits, not the default.
  uint32_t max_distance;
  // An `FpdbIds`.
  uint32_t ids;
  // 1 if the handle takes no more writes, because one has failed. `fpdb_failures` says why.
  uint32_t write_failed;
  // 1 if the last attempt in the background to write files, to compact or to load failed.
  // `fpdb_failures` says why.
  uint32_t background_failed;
  // 0, until a later version has more to say.
  uint32_t reserved;
} FpdbStats;

// A document that is near a fingerprint.
typedef struct FpdbMatch {
  // The id of the document.
  uint64_t id;
  // For sketches, the estimated Jaccard similarity of the two texts, 0 to 1; otherwise -1.
  double similarity;
  // The number of bits, or of minima of sketches, in which its fingerprint differs from yours.
  uint32_t distance;
  // 0, until a later version has more to say.
  uint32_t reserved[3];
} FpdbMatch;

// What became of a document, and which document decided about it.
typedef struct FpdbOutcome {
  // What became of it.
  FpdbOutcomeKind kind;
  // 0, until a later version has more to say.
  uint32_t reserved;
  // For a duplicate, also an unchanged one, the nearest other document, its original; for one
  // that exists, that one; otherwise the document itself. After an update, the distance and the
  // similarity are those to its earlier fingerprint.
  struct FpdbMatch document;
} FpdbOutcome;

// What documents are written, and how. Set `size` to `sizeof(FpdbWrite)` and what you do not use
// to 0. The arrays have `count` elements.
//
// Some hundreds to some thousands of documents are a good number. All documents of a write are in
// memory at the same time, several times, and other writers wait for it.
typedef struct FpdbWrite {
  // `sizeof(FpdbWrite)`.
  size_t size;
  // The number of documents.
  size_t count;
  // Their fingerprints, one after the other.
  const void *fingerprints;
  // Their names, of 1 to 65,535 bytes, for a database with names. Null for all others.
  const char *const *names;
  // Their ids, for a database without names. Null for a database with names.
  const uint64_t *ids;
  // Their stamps, such as the time of the visit, or null. A document keeps the greatest stamp
  // that it was given. Not with user ids.
  const uint64_t *stamps;
  // An `FpdbWriteMode`.
  uint32_t mode;
  // For upserts, an `FpdbOnDuplicate`.
  uint32_t on_duplicate;
  // The number of bits, or of minima of sketches, up to which two documents are near;
  // `FPDB_EXACT` for 0. Default: as the database was created. Beyond the database's
  // `max_distance`, each document may have to be compared with all others.
  uint32_t distance;
  // 0.
  uint32_t reserved;
} FpdbWrite;

// What a query finds. Set `size` to `sizeof(FpdbQuery)` and what you do not use to 0.
typedef struct FpdbQuery {
  // `sizeof(FpdbQuery)`.
  size_t size;
  // How many of the matches to find, the nearest ones. Default: all.
  size_t limit;
  // Finds only documents with at least this stamp. Default: all, also those without a stamp. So
  // 0 does not leave out documents without a stamp, and 1 does. Not with user ids.
  uint64_t since;
  // How many bits, or minima of sketches, a match may differ in; `FPDB_EXACT` for 0. Default: as
  // the database was created, for a distance or for a similarity. Beyond the database's
  // `max_distance`, the query may have to read all entries.
  uint32_t distance;
  // 0.
  uint32_t reserved;
} FpdbQuery;

// What is stored of a document. Set `size` to `sizeof(FpdbDocument)` before the call.
typedef struct FpdbDocument {
  // `sizeof(FpdbDocument)`.
  size_t size;
  // Its id.
  uint64_t id;
  // Its stamp, if it has one.
  uint64_t stamp;
  // The document of which it is a duplicate, if it is one.
  uint64_t duplicate_of;
  // 1 if it has a stamp.
  uint32_t has_stamp;
  // 1 if it is a duplicate.
  uint32_t is_duplicate;
} FpdbDocument;

// A fingerprint of 128 bits.
typedef struct FpdbBits128 {
  // The bits 0 to 63.
  uint64_t low;
  // The bits 64 to 127.
  uint64_t high;
} FpdbBits128;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a database in a folder that is missing or empty, and opens it. `options` may be null:
// all are the default then. If anything is refused, nothing is created, and no parent of the
// folder.
FpdbCode fpdb_create(const char *path,
                     const struct FpdbOptions *options,
                     struct FpdbDb **db,
                     char **error);

// Opens a database. `options` may be null: then it is one of 64 bits, opened for reading and
// writing.
FpdbCode fpdb_open(const char *path,
                   const struct FpdbOptions *options,
                   struct FpdbDb **db,
                   char **error);

// Opens a database for reading and writing, or creates it if there is none.
FpdbCode fpdb_open_or_create(const char *path,
                             const struct FpdbOptions *options,
                             struct FpdbDb **db,
                             char **error);

// Closes a database and frees its handle, even if it fails. Null is allowed. What was written is
// safe without it, unless writes are buffered; the next open takes less time with it. In a child
// that was forked, it only frees the handle, and returns `FPDB_CODE_CLOSED`.
FpdbCode fpdb_close(struct FpdbDb *db, char **error);

// Shows what another handle or process has written until now; of a writer with
// `FPDB_DURABILITY_BUFFERED`, what it has synced. Writes to `is_new` 1 if there is anything new,
// and otherwise 0. For a handle that is open for writing, there never is.
FpdbCode fpdb_refresh(struct FpdbDb *db, uint32_t *is_new, char **error);

// Returns the bytes of a fingerprint of this database: 8, 16 or `FPDB_SKETCH_SIZE`; 0 for null. It
// also answers in a child that was forked.
size_t fpdb_fingerprint_size(const struct FpdbDb *db);

// Writes the number of entries to `count`.
FpdbCode fpdb_count(const struct FpdbDb *db, uint64_t *count, char **error);

// Fills `stats`, whose size is set.
FpdbCode fpdb_stats(const struct FpdbDb *db, struct FpdbStats *stats, char **error);

// Writes to `write` why the handle takes no more writes, and to `background` why the last attempt
// in the background failed; null for what has not failed. Free the texts with `fpdb_free_text`.
FpdbCode fpdb_failures(const struct FpdbDb *db, char **write, char **background, char **error);

// Makes all writes durable that have returned. Without buffered writes, they are already.
FpdbCode fpdb_sync(struct FpdbDb *db, char **error);

// Writes recent documents to files, and starts a new log. A database does so by itself.
FpdbCode fpdb_flush(struct FpdbDb *db, char **error);

// Merges everything into one segment and frees the space of removed documents. A database merges
// by itself, too, but keeps some of that space.
FpdbCode fpdb_compact(struct FpdbDb *db, char **error);

// Copies the database, as it is now, into an empty or missing folder.
FpdbCode fpdb_backup(struct FpdbDb *db, const char *path, char **error);

// Checks the database. `level` is an `FpdbVerifyLevel`. Returns `FPDB_CODE_CORRUPTION`, with the
// first damage as text, if there is any.
//
// A handle that is open for writing first writes recent documents to files, as `fpdb_flush` does,
// unless an earlier write failed. Then it reads all segments. A handle that only reads checks
// those that it shows.
FpdbCode fpdb_verify(struct FpdbDb *db, uint32_t level, char **error);

// Reads into memory what queries need, as far as it fits, and returns when that is done. The
// background does the same after opening, so it is only for those who want to wait, or have no
// background.
FpdbCode fpdb_warm(struct FpdbDb *db, char **error);

// Drops all pages of files from memory. For a process that asks nothing for some time.
FpdbCode fpdb_release_memory(struct FpdbDb *db, char **error);

// Finds the recipe of a name, such as `default` or `pairs/1`. Its fingerprints have 64 bits, 128
// bits or `FPDB_BITS_SKETCH`; if `bits` is 0, 64.
FpdbCode fpdb_recipe(const char *name, uint32_t bits, struct FpdbRecipe **recipe, char **error);

// Writes the name of the database's recipe to `name`, or null if it has none. Free it with
// `fpdb_free_text`.
FpdbCode fpdb_recipe_name(const struct FpdbDb *db, char **name, char **error);

// Finds the database's recipe, at its width. Writes null to `recipe` if it has none. Returns
// `FPDB_CODE_UNSUPPORTED` if this version of fpdb does not know it, because it is a custom or a
// newer one.
FpdbCode fpdb_recipe_of(const struct FpdbDb *db, struct FpdbRecipe **recipe, char **error);

// Frees a recipe. Null is allowed.
void fpdb_free_recipe(struct FpdbRecipe *recipe);

// Makes the fingerprint of a text of `bytes` bytes in UTF-8. `fingerprint` has room for one of the
// recipe's bits. Returns `FPDB_CODE_TOO_SHORT`, and leaves `fingerprint` as it is, if the text has
// too few words.
FpdbCode fpdb_fingerprint(const struct FpdbRecipe *recipe,
                          const char *text,
                          size_t bytes,
                          void *fingerprint,
                          char **error);

// Frees the text of an error or a name. Null is allowed.
void fpdb_free_text(char *text);

// Returns the version, such as `0.1.0`. It is not freed.
const char *fpdb_version(void);

// Returns the number of the interface that the library has. A program works with it if that is the
// `FPDB_ABI` of its header.
uint32_t fpdb_abi(void);

// Inserts a document, unless another one is near it or its name or id is there already.
// `fingerprint` leads to one of the database's bits: a `uint64_t`, an `FpdbBits128`, or the bytes
// of a sketch.
//
// Here and in all functions below that have both, `name` is for a database with names, and `id`
// for all others. With names, `name` is not null, and `id` is not looked at. Otherwise, `name` is
// null.
FpdbCode fpdb_insert_if_novel(struct FpdbDb *db,
                              const void *fingerprint,
                              const char *name,
                              uint64_t id,
                              struct FpdbOutcome *outcome,
                              char **error);

// Inserts a document, or gives the one with its name or id the new fingerprint, unless another
// document is near that: then it stays as it was. For pages that are visited again and again.
// `stamp` may be null. A document keeps the greatest stamp that it was given. Not with user ids.
FpdbCode fpdb_upsert_if_novel(struct FpdbDb *db,
                              const void *fingerprint,
                              const char *name,
                              uint64_t id,
                              const uint64_t *stamp,
                              struct FpdbOutcome *outcome,
                              char **error);

// Writes documents in one commit, which is much faster than one by one. They are decided in turn:
// a document may be a duplicate of one before it. `outcomes` has room for as many. After a crash,
// either all of them are there or none.
FpdbCode fpdb_write(struct FpdbDb *db,
                    const struct FpdbWrite *write,
                    struct FpdbOutcome *outcomes,
                    char **error);

// Removes a document. Writes to `removed` 1 if there was one, and otherwise 0. With user ids, it
// reads all entries to find those with the id. In a database with names, no document is removed by
// the id that the database chose: `fpdb_name` says its name.
FpdbCode fpdb_remove(struct FpdbDb *db,
                     const char *name,
                     uint64_t id,
                     uint32_t *removed,
                     char **error);

// Removes the entry with this fingerprint and id, as a match has them. Writes to `removed` 1 if
// there was one, and otherwise 0. With user ids, this is much faster than `fpdb_remove`.
FpdbCode fpdb_remove_entry(struct FpdbDb *db,
                           const void *fingerprint,
                           uint64_t id,
                           uint32_t *removed,
                           char **error);

// Gives a document a stamp, unless it has a greater one. Writes to `exists` 1 if there is such a
// document, and otherwise 0. Not with user ids.
FpdbCode fpdb_touch(struct FpdbDb *db,
                    const char *name,
                    uint64_t id,
                    uint64_t stamp,
                    uint32_t *exists,
                    char **error);

// Removes all documents with a stamp less than `before`, and keeps those without a stamp. Writes
// the number of removed ones to `removed`. It commits about a thousand at a time, so that after a
// failure some are removed. Not with user ids.
FpdbCode fpdb_expire(struct FpdbDb *db, uint64_t before, uint64_t *removed, char **error);

// Finds the documents that are near a fingerprint, the nearest first. `query` may be null: then it
// finds all that are near enough to be duplicates. Writes their number to `found`, the first
// `capacity` of them to `matches`, and their fingerprints, one after the other, to `fingerprints`,
// which may be null. `found` can be more than `capacity`; nothing is written beyond that. To know
// the number only, let `capacity` be 0.
FpdbCode fpdb_query(const struct FpdbDb *db,
                    const void *fingerprint,
                    const struct FpdbQuery *query,
                    struct FpdbMatch *matches,
                    void *fingerprints,
                    size_t capacity,
                    size_t *found,
                    char **error);

// Writes to `exists` 1 if there is such a document, and otherwise 0. If there is, fills
// `document`, whose size is set, and writes the fingerprint to `fingerprint`, which may be null.
// Not with user ids.
FpdbCode fpdb_get(const struct FpdbDb *db,
                  const char *name,
                  uint64_t id,
                  struct FpdbDocument *document,
                  void *fingerprint,
                  uint32_t *exists,
                  char **error);

// Writes the name of the document with this id to `name`, or null if there is none. Free it with
// `fpdb_free_text`.
FpdbCode fpdb_name(const struct FpdbDb *db, uint64_t id, char **name, char **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FPDB_H */
