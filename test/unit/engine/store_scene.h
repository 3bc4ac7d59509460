/*
 * One scenario of the contract of stores (store_contract.h): a document of a Spec of its own, the
 * store as two processes have it, and what all scenarios do with them.
 *
 * The files store_contract_*.c have the scenarios, each file those of one subject.
 */
#pragma once

#include <string.h>

#include "test/unit/engine/contract_expect.h"
#include "test/unit/engine/store_contract.h"

struct store_scene {
    const struct store_fixture *fixture;
    const char *note; /* the scenario's name */
    struct store *store, *other;
    struct document_name name; /* of the document that the functions below use */
    struct error error;        /* of the last call */
};

struct store_scenario {
    const char *name; /* the Spec's, too */
    void (*run)(struct store_scene *scene);
};
/* Each ends with a row without a name. */
extern const struct store_scenario store_contract_documents[];
extern const struct store_scenario store_contract_refusals[];
extern const struct store_scenario store_contract_names[];

/* ---- Calls: without deadline, cancel or permit ---- */

/* Opens the document to write, as the first process, or in `store`. Opening it in the other one
 * breaks the first one's lock, so that two may have it open. Aborts if that fails. */
struct store_file *store_scene_open(struct store_scene *scene);
struct store_file *store_scene_open_in(struct store_scene *scene, struct store *store);
void store_scene_close(struct store_file *file);

int store_scene_write(struct store_scene *scene, struct store_file *file, const char *open,
                      const char *secret);
int store_scene_write_bytes(struct store_scene *scene, struct store_file *file,
                            const struct buf *open, const struct buf *secret);
/* Not if the store cannot append. */
int store_scene_append(struct store_scene *scene, struct store_file *file, const char *text);
int store_scene_remove(struct store_scene *scene, struct store_file *file);
int store_scene_read(struct store_scene *scene, struct store_file *file, struct document *ret);
bool store_scene_can_append(const struct store_scene *scene);

/* Replaces what is in buf by bytes that do not repeat, NULs among them: a piece in the wrong place
 * shows. */
void store_scene_fill(struct buf *buf, size_t length, unsigned seed);

/* ---- Checks ---- */

static inline void expect_code(struct store_scene *scene, int actual, int expected,
                               const char *what)
{
    contract_expect_code(scene->note, &scene->error, actual, expected, what);
}

static inline void expect_ok(struct store_scene *scene, int actual, const char *what)
{
    expect_code(scene, actual, 0, what);
}

static inline void expect_true_of(struct store_scene *scene, bool holds, const char *what)
{
    contract_expect(scene->note, holds, what);
}

static inline bool has_bytes(const struct buf *buf, const void *bytes, size_t length)
{
    return buf->length == length && (length == 0 || memcmp(buf->data, bytes, length) == 0);
}

/* Reads the document. entries: texts, NULL-terminated; NULL: none. */
void store_scene_expect_read(struct store_scene *scene, struct store_file *file, const char *open,
                             const char *secret, const char *const *entries, const char *what);
/* The same as a process reads it that begins now. */
void store_scene_expect_kept(struct store_scene *scene, const char *open, const char *secret,
                             const char *const *entries, const char *what);
void store_scene_expect_none(struct store_scene *scene, const char *what);
