/* Lists of documents, and what killed processes left: store.h. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"

/* One chain, as its keys show it. */
struct chain {
    char *prefix;
    struct chain_list list;
    int64_t modified; /* of the object that was modified last, ms since 1970 */
};

struct found {
    char *key;
    int64_t modified;
};

struct keys {
    struct found *found;
    size_t count, capacity;
};

static void keys_done(struct keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->found[i].key);
    free(keys->found);
}

static int keep_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    struct keys *keys = arg;

    (void)error;
    keys->found = mem_grow(keys->found, keys->count, &keys->capacity, sizeof(*keys->found));
    keys->found[keys->count++] = (struct found){str_new(key), modified};
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct found *left = a, *right = b;

    return strcmp(left->key, right->key);
}

static int read_keys(struct chain_store *store, const char *prefix, const struct store_call *call,
                     struct keys *ret, struct error *error)
{
    int r = store->objects->ops->list(store->objects, prefix, keep_key, ret, call, error);

    if (r == 0 && ret->count)
        qsort(ret->found, ret->count, sizeof(*ret->found), compare_keys);
    return r;
}

/* The next chain of the sorted keys, from *at on. False: there is none. Numbers have one width, so
 * that they ascend. */
static bool next_chain(const struct keys *keys, size_t *at, struct chain *ret)
{
    int64_t number;
    size_t length;

    *ret = (struct chain){0};
    for (; *at < keys->count; ++*at) {
        const struct found *found = &keys->found[*at];

        if (!chain_key_parse(found->key, &number, &length))
            continue;
        if (ret->prefix &&
            (strlen(ret->prefix) != length || memcmp(found->key, ret->prefix, length) != 0))
            break;
        if (!ret->prefix)
            ret->prefix = str_new_n(found->key, length);
        chain_list_add(&ret->list, number);
        if (found->modified > ret->modified)
            ret->modified = found->modified;
    }
    return ret->prefix != NULL;
}

static void chain_done(struct chain *chain)
{
    free(chain->prefix);
    chain_list_done(&chain->list);
}

/* ---- Documents ---- */

/* The name of a chain whose keys have only a part of it is in its objects. */
static int read_name(struct chain_store *store, const struct chain *chain,
                     const struct store_call *call, struct object_head *ret, struct error *error)
{
    _cleanup_free_ char *key = chain_key(chain->prefix, chain->list.numbers[chain->list.count - 1]);
    _cleanup_free_ char *prefix = NULL;
    int r = chain_read_head(store, key, call, ret, error);

    if (r < 0)
        return r;
    prefix = chain_prefix(&ret->name.name);
    if (!str_equal(prefix, chain->prefix))
        return chain_damaged(store, key, "it is damaged: it is of another document", error);
    return 0;
}

static int name_chain(struct chain_store *store, const struct chain *chain, store_on_name *fn,
                      void *arg, const struct store_call *call, struct error *error)
{
    _cleanup_(own_name_done) struct own_name name = {0};
    _cleanup_(object_head_done) struct object_head head = {0};
    struct error problem = {0};
    int parsed = chain_prefix_parse(chain->prefix, &name), r = 0;

    if (parsed == 1) {
        r = fn(arg, &name.name, error);
    } else if (parsed == 0) {
        r = read_name(store, chain, call, &head, &problem);
        if (r == ERR_NOT_FOUND) /* changed or removed meanwhile */
            r = 0;
        else if (r < 0)
            r = err_copy(error, &problem);
        else
            r = fn(arg, &head.name.name, error);
    } else {
        r = chain_damaged(store, chain->prefix, "this is the key of no document", error);
    }
    return r;
}

int chain_documents(struct store *base, enum document_kind kind, const struct spec_key *spec,
                    store_on_name *fn, void *arg, const struct store_call *given,
                    struct error *error)
{
    struct chain_store *store = (struct chain_store *)base;
    struct store_call call = chain_call(store, given);
    _cleanup_free_ char *folder = chain_folder(kind, spec);
    _cleanup_(keys_done) struct keys keys = {0};
    int r = store_check_cancel(&call, error);

    if (r < 0)
        return r;
    r = read_keys(store, folder, &call, &keys, error);
    for (size_t at = 0; r == 0;) {
        _cleanup_(chain_done) struct chain chain;

        if (!next_chain(&keys, &at, &chain))
            break;
        if (chain.list.count > 1) /* a single one is a tombstone */
            r = name_chain(store, &chain, fn, arg, &call, error);
    }
    return r;
}

/* ---- What is left ---- */

static bool is_old(const struct chain_store *store, int64_t modified)
{
    return modified > 0 && modified + KEPT_MS < store->clock->now(store->clock);
}

/* Closes a tombstone that is alone, and deletes it; or deletes what closed one. Anything else
 * stays, and is damage. */
static int forget_tombstone(struct chain_store *store, const struct chain *chain,
                            const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *key = chain_key(chain->prefix, chain->list.numbers[0]);
    struct object_head head = {0};
    struct error problem = {0};
    int r = chain_read_head(store, key, call, &head, &problem);

    if (r < 0)
        return r == ERR_NOT_FOUND || r == ERR_CORRUPT ? 0 : err_copy(error, &problem);
    if (head.is_removed && is_old(store, head.written)) {
        if (!head.is_closed)
            r = chain_close(store, &head, chain->prefix, call, &problem);
        if (r == 0)
            r = store->objects->ops->delete (store->objects, key, call, &problem);
    }
    object_head_done(&head);
    return r == ERR_CONFLICT ? 0 : err_copy(error, &problem); /* it was written after meanwhile */
}

static int tidy_chain(struct chain_store *store, const struct chain *chain,
                      const struct store_call *call, struct error *error)
{
    if (chain->list.count > 1)
        chain_purge(store, chain->prefix, &chain->list, chain_lowest_kept(&chain->list), call);
    else if (is_old(store, chain->modified))
        return forget_tombstone(store, chain, call, error);
    return 0;
}

static int tidy_kind(struct chain_store *store, enum document_kind kind,
                     const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *folder = chain_folder(kind, NULL);
    _cleanup_(keys_done) struct keys keys = {0};
    int r = read_keys(store, folder, call, &keys, error);

    for (size_t at = 0; r == 0;) {
        _cleanup_(chain_done) struct chain chain;

        if (!next_chain(&keys, &at, &chain))
            break;
        r = store_check_cancel(call, error);
        if (r == 0)
            r = tidy_chain(store, &chain, call, error);
    }
    return r;
}

static int prune_kind(struct chain_store *store, enum document_kind kind,
                      const struct store_call *given, struct error *error)
{
    const struct store_call call = chain_call(store, given);
    _cleanup_free_ char *folder = chain_folder(kind, NULL);

    return store->objects->ops->prune(store->objects, folder, &call, error);
}

static int tidy_unfinished(struct chain_store *store, const struct store_call *call,
                           struct error *error)
{
    _cleanup_(keys_done) struct keys keys = {0};
    int r = read_keys(store, OBJECT_UNFINISHED, call, &keys, error);

    for (size_t i = 0; r == 0 && i < keys.count; i++)
        if (is_old(store, keys.found[i].modified))
            r = store->objects->ops->delete (store->objects, keys.found[i].key, call, error);
    return r;
}

int chain_tidy(struct store *base, const struct store_call *given, struct error *error)
{
    struct chain_store *store = (struct chain_store *)base;
    struct store_call call = chain_call(store, given);
    int r = 0;

    for (int kind = 0; r == 0 && kind < DOCUMENT_KINDS; kind++)
        r = tidy_kind(store, (enum document_kind)kind, &call, error);
    if (r == 0)
        r = tidy_unfinished(store, &call, error);
    for (int kind = 0; r == 0 && store->objects->ops->prune && kind < DOCUMENT_KINDS; kind++)
        r = prune_kind(store, (enum document_kind)kind, given, error);
    return r;
}
