/*
 * Sealing: a store (engine/store.h) around any other, which encrypts what that one keeps.
 *
 * A write seals the document's parts, a read opens them, an append seals its entry; all else is
 * passed on. What stands above sees the document as it is, and what stands below sees bytes that
 * cannot be read, nor changed unnoticed: a part that was changed, cut, mixed with another write or
 * brought from another document is found by the next read, and is ERR_CORRUPT with its name.
 * (format.h has the bytes.)
 *
 * Three things it does not hide: names, sizes, and which documents change when. One thing it does
 * not find: a whole document that is put back as it once was, or whose last entries are taken away.
 *
 * ---- Keys ----
 *
 * Each part has a key of its own, which is derived from a seed. A seed is 32 random bytes that
 * this process draws once a day; each part holds it, wrapped by a key of a source: a folder of key
 * files (keys_file.h), or a KMS behind its plugin (keys_kms.h). So a save asks nobody, and only
 * seeds are wrapped, never data.
 *
 * When another key is to be used for writing (`current` names another file; the plugin's Status
 * tells another key id), the next save draws a new seed. If that fails, and the source cannot be
 * asked, saves go on with the seed at hand until it is two days old, and a warning is logged. Seeds
 * that were unwrapped are remembered, so a KMS that is down stops only a process that begins, and a
 * document whose seed it has not seen. A new seed is unwrapped once before it is used: a source
 * that could not do so would leave documents that nobody can read.
 *
 * ---- Errors, beside those of the store below ----
 *
 *   ERR_UNAVAILABLE KeyUnavailable  The seed cannot be wrapped or unwrapped, whatever the reason:
 *                                   from a KMS' answers nobody can tell an outage from a damaged
 *                                   key. The document may be whole, so it is never ERR_CORRUPT.
 *   ERR_UNAVAILABLE KeyMissing      The folder of keys has no file of that name.
 *   ERR_UNAVAILABLE NotSealed       The document was not sealed, and the keys do not have
 *                                   `identity`.
 *   ERR_CORRUPT StateCorrupt        The seed was unwrapped, and the part is not what was sealed.
 *
 * After a read that ended with one of the first three, the handle refuses all changes with the same
 * error until a read succeeds: nobody has seen what they would replace.
 *
 * Threads: as of any store. Keys are thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/store.h"
#include "engine/threads/clock.h"

#define SEAL_UNAVAILABLE "KeyUnavailable"
#define SEAL_MISSING     "KeyMissing"
#define SEAL_NOT_SEALED  "NotSealed"

/* ---- Keys ---- */

struct seal_keys;

/*
 * Reads the text of --state-key: sources, separated by commas. The first one seals; all of them
 * open, each what it sealed. So who goes from one source to another names both for a while.
 *
 *   file:DIRECTORY         a folder of key files, such as a mounted Secret; its file `current` has
 *                          the name of the key that seals
 *   kms:unix:///PATH       the socket of a KMS plugin that speaks Kubernetes' KMS v2 (kms:unix:PATH
 *                          is the same)
 *   identity               not first: documents that are not sealed may be read, as they are before
 *                          sealing is turned on. Whoever can write to the store can then put a
 *                          document there that was never sealed, so it should go again after a
 *                          rekey.
 *
 * ERR_INVALID InvalidFlag: the text is wrong; its message begins with "--state-key: ". Nothing is
 * asked yet: seal_keys_check() does. ERR_UNAVAILABLE ThreadNotStarted. clock: borrowed; the one by
 * which the deadlines of calls are.
 */
int seal_keys_parse(const char *text, const struct clock_source *clock, struct seal_keys **ret,
                    struct error *error);
void seal_keys_free(struct seal_keys *keys); /* wipes what it knows */
DEFINE_CLEANUP(struct seal_keys *, seal_keys_free)
/* Whether documents can be sealed now: draws a seed if there is none. For the start, so that a
 * wrong flag, folder or socket shows at once. */
int seal_keys_check(struct seal_keys *keys, const struct store_call *call, struct error *error);

/* ---- The store ---- */

/* What a write seals. Whatever was sealed is opened, also with SEAL_NONE. */
enum seal_scope {
    SEAL_NONE,   /* nothing: to turn sealing off again */
    SEAL_SECRET, /* secret parts and entries. The open part stays readable, and cannot be changed
                    unnoticed */
    SEAL_ALL,
};

/* Reads the text of --state-encryption: none, secret or all. ERR_INVALID InvalidFlag. */
int seal_scope_parse(const char *text, enum seal_scope *ret, struct error *error);

/* Takes both over: they are freed with it. Its type is that of the store below. */
struct store *seal_store_new(struct store *inner, struct seal_keys *keys, enum seal_scope scope);

/* ---- All documents of a store ---- */

/* Called for each document that could not be read or written; the walk goes on. */
typedef void seal_on_problem(void *arg, const struct document_name *name,
                             const struct error *problem);

struct seal_rekeyed {
    size_t documents; /* that there are */
    size_t written;   /* anew, with the key that seals now */
    size_t failed;
};

/*
 * Writes each document anew that is not sealed, as a whole, with the key that seals now and in the
 * store's scope. Entries are kept. Each is one write, so a process that is killed leaves each
 * document as it was or rewritten, and another run goes on.
 *
 * Nobody else may use the store meanwhile: an operator that has State open would find it changed by
 * another process. A document that somebody has locked fails.
 *
 * store: of seal_store_new(). 0 also if some failed. An error: the documents could not be listed,
 * or there is no key to seal with.
 */
int seal_store_rekey(struct store *store, const struct store_call *call, seal_on_problem *fn,
                     void *arg, struct seal_rekeyed *ret, struct error *error);

struct seal_count {
    char *key; /* "file k1", "kms arn:aws:kms:…"; "identity": not sealed */
    size_t documents;
};
struct seal_counts {
    struct seal_count *counts;
    size_t n;
};
void seal_counts_done(struct seal_counts *counts);

/* Counts, for each key, the documents that cannot be read without it. A key may go when it has
 * none. Needs no key. *ret: seal_counts_done(), also after an error. */
int seal_store_count(struct store *store, const struct store_call *call, seal_on_problem *fn,
                     void *arg, struct seal_counts *ret, struct error *error);
