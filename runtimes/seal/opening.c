/*
 * Opens what a store has of a document: private.h.
 *
 * The secret part first. It is proved by its tag, and proves the rest: the open part by its hash,
 * the entries by the id of their write. So each error names the part that is damaged, and no other.
 */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/seal/private.h"

struct opening {
    const struct sealed_store *store;
    const struct document_name *name;
    const struct store_call *call;
};

static const char *const part_names[] = {
    [SEAL_OPEN_PART] = "open part", [SEAL_SECRET_PART] = "secret part", [SEAL_ENTRY] = "entry"};

/* Puts the part's name before the message, and the code in its place. */
static int name_part(const struct opening *opening, enum seal_part part, uint64_t number,
                     struct error *error)
{
    _cleanup_free_ char *where =
        opening->store->inner->ops->describe(opening->store->inner, opening->name);
    _cleanup_free_ char *entry =
        part == SEAL_ENTRY ? str_printf(" %llu", (unsigned long long)number + 1) : NULL;

    err_wrap(error, "the %s%s of %s", part_names[part], entry ? entry : "", where);
    return error->code;
}

static int refuse(const char *how, struct error *error)
{
    return err_set(error, ERR_CORRUPT, "StateCorrupt", "%s", how);
}

/* Opens one part. carried, of *ret_view's number: allocated; NULL: not wanted. */
static int open_part(const struct opening *opening, const struct seal_place *place,
                     const struct buf *bytes, struct seal_view *ret_view, struct buf *ret,
                     struct buf **ret_carried, struct error *error)
{
    _cleanup_(seed_unref_p) struct seed *seed = NULL;
    struct buf *carried;
    int r = seal_format_view(bytes, place->part, ret_view, error);

    if (r >= 0)
        r = seal_keys_unwrap(opening->store->keys, opening->call, ret_view->block,
                             ret_view->block_length, &seed, error);
    if (r < 0)
        return r;
    carried = NEW_ARRAY(struct buf, ret_view->n_carried);
    for (size_t i = 0; i < ret_view->n_carried; i++)
        buf_init(&carried[i], 0);
    if (!seal_format_open(ret_view, seed->bytes, place, ret, carried)) {
        free(carried);
        return refuse(
            "it is not what was sealed here: it was changed, or is of another document or "
            "another write",
            error);
    }
    if (ret_carried)
        *ret_carried = carried;
    else
        free(carried); /* parts that are not secret have none */
    return 0;
}

static int open_secret(const struct opening *opening, const struct document *stored,
                       struct seal_view *ret_view, struct document *ret, struct error *error)
{
    const struct seal_place place = {opening->name, SEAL_SECRET_PART, 0};
    int r =
        open_part(opening, &place, &stored->secret, ret_view, &ret->secret, &ret->entries, error);

    if (r < 0)
        return name_part(opening, SEAL_SECRET_PART, 0, error);
    ret->n_entries = ret_view->n_carried;
    return 0;
}

static int check_hash(const struct buf *open, const unsigned char expected[HASH_SIZE],
                      struct error *error)
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    unsigned char actual[HASH_SIZE];

    hash_add(hash, open->data, open->length);
    hash_finish(hash, actual);
    if (memcmp(actual, expected, HASH_SIZE) != 0)
        return refuse("it is not the one that was written with the secret part", error);
    return 0;
}

static int open_open(const struct opening *opening, struct document *stored,
                     const struct seal_view *secret, struct document *ret, struct error *error)
{
    const struct seal_place place = {opening->name, SEAL_OPEN_PART, 0};
    struct seal_view view;
    int r = check_hash(&stored->open, secret->open_hash, error);

    if (r >= 0 && secret->open_is_sealed) {
        r = open_part(opening, &place, &stored->open, &view, &ret->open, NULL, error);
    } else if (r >= 0) {
        ret->open = stored->open;
        stored->open = (struct buf)BUF_INIT;
    }
    return r < 0 ? name_part(opening, SEAL_OPEN_PART, 0, error) : 0;
}

static int open_entry(const struct opening *opening, uint64_t number, const struct buf *bytes,
                      const unsigned char *write, struct buf *ret, struct error *error)
{
    const struct seal_place place = {opening->name, SEAL_ENTRY, number};
    struct seal_view view;
    int r = open_part(opening, &place, bytes, &view, ret, NULL, error);

    if (r >= 0 && memcmp(view.write, write, SEAL_WRITE_SIZE) != 0) {
        buf_done(ret);
        r = refuse("it was appended to another write of the document", error);
    }
    return r < 0 ? name_part(opening, SEAL_ENTRY, number, error) : 0;
}

static int open_entries(const struct opening *opening, const struct document *stored,
                        const struct seal_view *secret, struct document *ret, struct error *error)
{
    int r = 0;

    ret->entries = mem_resize(ret->entries, ret->n_entries + stored->n_entries, sizeof(struct buf));
    for (size_t i = 0; i < stored->n_entries && r >= 0; i++) {
        struct buf *entry = &ret->entries[ret->n_entries++];

        buf_init(entry, 0);
        r = open_entry(opening, i, &stored->entries[i], secret->write, entry, error);
    }
    return r;
}

static int open_sealed(const struct opening *opening, struct document *stored, struct document *ret,
                       struct opened *ret_opened, struct error *error)
{
    struct seal_view secret;
    int r = open_secret(opening, stored, &secret, ret, error);

    if (r >= 0)
        r = open_open(opening, stored, &secret, ret, error);
    if (r >= 0)
        r = open_entries(opening, stored, &secret, ret, error);
    if (r >= 0) {
        ret_opened->is_sealed = true;
        memcpy(ret_opened->write, secret.write, SEAL_WRITE_SIZE);
    }
    return r;
}

/* What is left of a sealed document whose secret part is gone is no document that never was sealed.
 */
static int check_unsealed(const struct opening *opening, const struct document *stored,
                          struct error *error)
{
    bool has_mark = seal_format_has_mark(&stored->open);

    for (size_t i = 0; i < stored->n_entries; i++)
        has_mark = has_mark || seal_format_has_mark(&stored->entries[i]);
    if (has_mark) {
        refuse("it is missing, or is not sealed, and the others are", error);
        return name_part(opening, SEAL_SECRET_PART, 0, error);
    }
    if (!seal_keys_read_unsealed(opening->store->keys)) {
        err_set(error, ERR_UNAVAILABLE, SEAL_NOT_SEALED,
                "it is missing, or is not sealed; if the document was written before sealing was "
                "turned on, add \"identity\" to --state-key, and rekey");
        return name_part(opening, SEAL_SECRET_PART, 0, error);
    }
    return 0;
}

int seal_open_document(const struct sealed_store *store, const struct document_name *name,
                       const struct store_call *call, struct document *stored, struct document *ret,
                       struct opened *ret_opened, struct error *error)
{
    const struct opening opening = {store, name, call};
    struct error failure = {0};
    int r;

    *ret_opened = (struct opened){0};
    if (seal_format_has_mark(&stored->secret)) {
        r = open_sealed(&opening, stored, ret, ret_opened, &failure);
    } else {
        r = check_unsealed(&opening, stored, &failure);
        if (r >= 0) {
            *ret = *stored;
            *stored = (struct document)DOCUMENT_INIT;
        }
    }
    if (r < 0) {
        document_done(ret);
        return err_copy(error, &failure);
    }
    return 0;
}
