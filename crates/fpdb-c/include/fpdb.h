/* The C interface of fpdb. README.md of the package fpdb-c says how to use it. */

#ifndef FPDB_H
#define FPDB_H

/* Made by tools/header. Do not edit. */

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// What became of a call. Everything but `FPDB_CODE_OK` and `FPDB_CODE_TOO_SHORT` is an error,
// about which there is a text.
typedef enum FpdbCode {
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
  // An argument is out of range, null, or no UTF-8, or does not fit this database.
  FPDB_CODE_INVALID_ARGUMENT = 5,
  // A newer version wrote the database, or it is for another width or recipe.
  FPDB_CODE_UNSUPPORTED = 6,
  // Bytes on disk are not what was written.
  FPDB_CODE_CORRUPTION = 7,
  // The operating system reported a failure.
  FPDB_CODE_IO = 8,
  // The disk is full.
  FPDB_CODE_NO_SPACE = 9,
  // An earlier write failed, so this handle takes no more writes. Open the database again.
  FPDB_CODE_POISONED = 10,
  // The process was forked from the one that opened the database, or its folder was replaced.
  // Open it again.
  FPDB_CODE_CLOSED = 11,
  // A failure that has no code of its own.
  FPDB_CODE_OTHER = 12,
  // A fault of fpdb, which is worth a report. Close the handle.
  FPDB_CODE_PANIC = 13,
} FpdbCode;

// What became of a document.
typedef enum FpdbOutcomeKind {
  // It was new, and is in the database now.
  FPDB_OUTCOME_KIND_INSERTED = 0,
  // Another document is near it, so it was not inserted.
  FPDB_OUTCOME_KIND_DUPLICATE = 1,
  // Its name or id is in the database already, so it was not inserted.
  FPDB_OUTCOME_KIND_EXISTS = 2,
  // Its name or id is in the database already, and has the new fingerprint now. Upserts only.
  FPDB_OUTCOME_KIND_UPDATED = 3,
  // Its name or id is in the database already, with this fingerprint. Upserts only.
  FPDB_OUTCOME_KIND_UNCHANGED = 4,
} FpdbOutcomeKind;

// An open database. It may be used by many threads at the same time.
typedef struct FpdbDb FpdbDb;

// A method that makes fingerprints of texts. It may be used by many threads at the same time.
typedef struct FpdbRecipe FpdbRecipe;

// A document that is near a fingerprint.
typedef struct FpdbMatch {
  // The id of the document.
  uint64_t id;
  // Its fingerprint.
  uint64_t fingerprint;
  // The number of bits in which that differs from the one that was asked for.
  uint32_t distance;
} FpdbMatch;

// What became of a document, and which document decided about it.
typedef struct FpdbOutcome {
  // What became of it.
  enum FpdbOutcomeKind kind;
  // For a duplicate, the nearest document; for one that exists, that one; otherwise the document
  // itself. After an update, the distance is that from its earlier fingerprint.
  struct FpdbMatch document;
} FpdbOutcome;

// What is stored of a document.
typedef struct FpdbDocument {
  // Its id.
  uint64_t id;
  // Its fingerprint.
  uint64_t fingerprint;
  // Its stamp, if it has one.
  uint64_t stamp;
  // The document of which it is a duplicate, if it is one.
  uint64_t duplicate_of;
  // Whether it has a stamp.
  bool has_stamp;
  // Whether it is a duplicate.
  bool is_duplicate;
} FpdbDocument;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a database of 64-bit fingerprints in a new folder, and opens it. Documents have names,
// or ids that the caller chooses. Documents are near-duplicates if their fingerprints differ in at
// most `max_distance` bits. With a recipe, which may be null, the database stores its name. If
// `buffered`, a write that has returned survives a crash of the process, otherwise also a loss of
// power.
enum FpdbCode fpdb_create(const char *path,
                          const struct FpdbRecipe *recipe,
                          bool names,
                          uint32_t max_distance,
                          bool buffered,
                          struct FpdbDb **db,
                          char **error);

// Opens a database for reading and writing. `buffered` is as in `fpdb_create`.
enum FpdbCode fpdb_open(const char *path, bool buffered, struct FpdbDb **db, char **error);

// Opens a database for reading, while another process may write to it. It shows what was written
// when it was opened, and later writes after `fpdb_refresh`.
enum FpdbCode fpdb_open_read_only(const char *path, struct FpdbDb **db, char **error);

// Shows what another process has written until now. Writes to `is_new` whether there is anything
// new. For a handle that is open for writing, there never is.
enum FpdbCode fpdb_refresh(const struct FpdbDb *db, bool *is_new, char **error);

// Sets how many bytes of memory the pages of files may take of each database that is created or
// opened from now on, in this process. With 0, as from the beginning, up to seven tenths of what
// is available; that is given back if other programs need it, as far as this one reads.
void fpdb_page_memory(uint64_t bytes);

// Closes a database and frees its handle, even if it fails. Null is allowed. What was written is
// safe without it; the next open takes less time with it.
enum FpdbCode fpdb_close(struct FpdbDb *db, char **error);

// Writes the number of entries to `count`.
enum FpdbCode fpdb_count(const struct FpdbDb *db, uint64_t *count, char **error);

// Inserts a document, unless another one is near it or its name or id is there already. `name` is
// for a database with names. Otherwise it is null, and the document has this id.
enum FpdbCode fpdb_insert_if_novel(const struct FpdbDb *db,
                                   uint64_t fingerprint,
                                   const char *name,
                                   uint64_t id,
                                   struct FpdbOutcome *outcome,
                                   char **error);

// Inserts documents in one commit, which is much faster than one by one. They are decided in turn:
// a document may be a duplicate of one before it. One of `names` and `ids` is null. All arrays
// have `count` elements.
enum FpdbCode fpdb_insert_batch_if_novel(const struct FpdbDb *db,
                                         const uint64_t *fingerprints,
                                         const char *const *names,
                                         const uint64_t *ids,
                                         uintptr_t count,
                                         struct FpdbOutcome *outcomes,
                                         char **error);

// Inserts a document, or gives the one with its name the new fingerprint, unless another document
// is near that: then it stays as it was. For pages that are visited again and again, in a database
// with names. If `name` is null, `id` is that of the document. `stamp` may be null. A document
// keeps the greatest stamp that it was given.
enum FpdbCode fpdb_upsert_if_novel(const struct FpdbDb *db,
                                   uint64_t fingerprint,
                                   const char *name,
                                   uint64_t id,
                                   const uint64_t *stamp,
                                   struct FpdbOutcome *outcome,
                                   char **error);

// Removes the document with this name, or with this id if `name` is null. Writes to `removed`
// whether there was one. In a database without names, it reads all entries to find those with the
// id.
enum FpdbCode fpdb_remove(const struct FpdbDb *db,
                          const char *name,
                          uint64_t id,
                          bool *removed,
                          char **error);

// Gives a document a stamp, unless it has a greater one. Writes to `exists` whether there is such
// a document. For a database with names.
enum FpdbCode fpdb_touch(const struct FpdbDb *db,
                         const char *name,
                         uint64_t id,
                         uint64_t stamp,
                         bool *exists,
                         char **error);

// Removes all documents with a stamp less than `before`. Writes their number to `removed`.
enum FpdbCode fpdb_expire(const struct FpdbDb *db,
                          uint64_t before,
                          uint64_t *removed,
                          char **error);

// Finds all documents whose fingerprints differ in at most `distance` bits, the nearest first.
// Writes their number to `found`, and the first `capacity` of them to `matches`. To know the
// number only, let `capacity` be 0.
enum FpdbCode fpdb_query(const struct FpdbDb *db,
                         uint64_t fingerprint,
                         uint32_t distance,
                         struct FpdbMatch *matches,
                         uintptr_t capacity,
                         uintptr_t *found,
                         char **error);

// Writes to `found` whether there is a document with this name, or with this id if `name` is null,
// and if so, to `document` what is stored of it. For a database with names.
enum FpdbCode fpdb_get(const struct FpdbDb *db,
                       const char *name,
                       uint64_t id,
                       struct FpdbDocument *document,
                       bool *found,
                       char **error);

// Writes the name of a document to `name`, or null if there is none. Free it with
// `fpdb_free_text`.
enum FpdbCode fpdb_name(const struct FpdbDb *db, uint64_t id, char **name, char **error);

// Writes recent documents to files, and starts a new log. A database does so by itself.
enum FpdbCode fpdb_flush(const struct FpdbDb *db, char **error);

// Merges everything into one segment and frees the space of removed documents. A database merges
// by itself, too, but keeps some of that space.
enum FpdbCode fpdb_compact(const struct FpdbDb *db, char **error);

// Copies the database, as it is now, into an empty or missing folder.
enum FpdbCode fpdb_backup(const struct FpdbDb *db, const char *path, char **error);

// Reads all files and compares them with their checksums; unless `quick`, also decodes everything
// and compares tables, documents and ids with each other. Returns `FPDB_CODE_CORRUPTION`, with the
// first damage as text, if there is any.
enum FpdbCode fpdb_verify(const struct FpdbDb *db, bool quick, char **error);

// Drops all pages of files from memory. For a process that asks nothing for some time.
enum FpdbCode fpdb_release_memory(const struct FpdbDb *db, char **error);

// Returns the version, such as `0.1.0`. It is not freed.
const char *fpdb_version(void);

// Finds the recipe of a name, such as `default` or `pairs/1`.
enum FpdbCode fpdb_recipe(const char *name, struct FpdbRecipe **recipe, char **error);

// Frees a recipe. Null is allowed.
void fpdb_free_recipe(struct FpdbRecipe *recipe);

// Makes the fingerprint of a text of `bytes` bytes in UTF-8. Returns `FPDB_CODE_TOO_SHORT`, and
// leaves `fingerprint` as it is, if the text has too few words.
enum FpdbCode fpdb_fingerprint(const struct FpdbRecipe *recipe,
                               const char *text,
                               uintptr_t bytes,
                               uint64_t *fingerprint,
                               char **error);

// Frees the text of an error or a name. Null is allowed.
void fpdb_free_text(char *text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FPDB_H */
