/* Seals a document's parts, and its entries: private.h. */
#include "engine/base/limits.h"
#include "runtimes/io/random.h"
#include "runtimes/seal/private.h"

static int seal(const struct seed *seed, const struct seal_place *place,
                struct seal_content *content, struct buf *ret, struct error *error)
{
    unsigned char random[SEAL_RANDOM_SIZE];

    random_fill(random, sizeof(random));
    content->random = random;
    seal_format_write(ret, seed->bytes, &seed->block, place, content);
    if (buf_overflowed(ret))
        return err_set(error, ERR_TOO_LARGE, NULL, "sealed, it has more than %u bytes",
                       LIMIT_DOCUMENT_BYTES);
    return 0;
}

static int seal_secret_part(const struct sealed_store *store, const struct seed *seed,
                            const struct document_name *name, struct seal_content *content,
                            const struct buf *open, struct buf *ret, struct error *error)
{
    const struct seal_place place = {name, SEAL_SECRET_PART, 0};
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    unsigned char open_hash[HASH_SIZE];

    hash_add(hash, open->data, open->length);
    hash_finish(hash, open_hash);
    content->open_hash = open_hash;
    content->open_is_sealed = store->scope == SEAL_ALL;
    return seal(seed, &place, content, ret, error);
}

int seal_document(const struct sealed_store *store, const struct document_name *name,
                  const struct store_call *call, const struct document *document,
                  const struct buf *carried, size_t n_carried, struct sealed *ret,
                  struct error *error)
{
    const struct seal_place place = {name, SEAL_OPEN_PART, 0};
    _cleanup_(seed_unref_p) struct seed *seed = NULL;
    struct seal_content open = {
        .write = ret->write, .bytes = document->open.data, .length = document->open.length};
    struct seal_content secret = {.write = ret->write,
                                  .carried = carried,
                                  .n_carried = n_carried,
                                  .bytes = document->secret.data,
                                  .length = document->secret.length};
    int r = seal_keys_current(store->keys, call, &seed, error);

    if (r < 0)
        return r;
    random_fill(ret->write, SEAL_WRITE_SIZE);
    if (store->scope == SEAL_ALL)
        r = seal(seed, &place, &open, &ret->open, error);
    if (r >= 0)
        r = seal_secret_part(store, seed, name, &secret,
                             store->scope == SEAL_ALL ? &ret->open : &document->open, &ret->secret,
                             error);
    return r;
}

int seal_entry(const struct sealed_store *store, const struct document_name *name,
               const struct store_call *call, const unsigned char write[SEAL_WRITE_SIZE],
               uint64_t number, const void *bytes, size_t length, struct buf *ret,
               struct error *error)
{
    _cleanup_(seed_unref_p) struct seed *seed = NULL;
    const struct seal_place place = {name, SEAL_ENTRY, number};
    struct seal_content content = {.write = write, .bytes = bytes, .length = length};
    int r = seal_keys_current(store->keys, call, &seed, error);

    return r < 0 ? r : seal(seed, &place, &content, ret, error);
}
