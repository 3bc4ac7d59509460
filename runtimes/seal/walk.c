/* All documents of a sealed store: which keys they need, and writing them anew. seal.h. */

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/store/names.h"
#include "runtimes/seal/private.h"

static int list_names(struct store *inner, const struct store_call *call, struct names *ret,
                      struct error *error)
{
    int r = 0;

    for (int kind = 0; kind < DOCUMENT_KINDS && r >= 0; kind++)
        if (kind != DOCUMENT_STORE) /* the identity is in clear, for whoever has no key */
            r = names_list(ret, inner, (enum document_kind)kind, call, error);
    return r;
}

/* ---- Keys of a part ---- */

/* "file k1"; free(). NULL: the part is damaged. */
static char *key_of_block(const void *block, size_t length)
{
    _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;

    if (!seal_block_read(block, length, &wrapped))
        return NULL;
    return str_printf("%s %s", wrapped.provider, wrapped.key_id);
}

static int key_of_part(const struct buf *bytes, enum seal_part part, char **ret,
                       struct seal_view *ret_view, struct error *error)
{
    int r = seal_format_view(bytes, part, ret_view, error);

    if (r < 0)
        return r;
    *ret = key_of_block(ret_view->block, ret_view->block_length);
    return *ret ? 0 : err_set(error, ERR_CORRUPT, "StateCorrupt", "its head cannot be read");
}

#define UNSEALED "identity"

/* Calls fn with the key of each part; one may come several times. */
static int each_key(const struct document *stored,
                    void (*fn)(void *arg, const char *key, const struct seal_view *view), void *arg,
                    struct error *error)
{
    struct seal_view view = {0}, secret;
    _cleanup_free_ char *key = NULL;
    int r;

    if (!seal_format_has_mark(&stored->secret)) {
        fn(arg, UNSEALED, &view);
        return 0;
    }
    r = key_of_part(&stored->secret, SEAL_SECRET_PART, &key, &secret, error);
    if (r >= 0)
        fn(arg, key, &secret);
    if (r >= 0 && secret.open_is_sealed) {
        free(TAKE(key));
        r = key_of_part(&stored->open, SEAL_OPEN_PART, &key, &view, error);
        if (r >= 0)
            fn(arg, key, &view);
    }
    for (size_t i = 0; r >= 0 && i < stored->n_entries; i++) {
        free(TAKE(key));
        r = key_of_part(&stored->entries[i], SEAL_ENTRY, &key, &view, error);
        if (r >= 0)
            fn(arg, key, &view);
    }
    return r;
}

/* ---- Counting ---- */

void seal_counts_done(struct seal_counts *counts)
{
    for (size_t i = 0; i < counts->n; i++)
        free(counts->counts[i].key);
    free(counts->counts);
    *counts = (struct seal_counts){0};
}

struct tally {
    struct seal_counts *counts;
    size_t *last; /* of each count: the number of the document that was counted last */
    size_t document;
};

static void count_key(void *arg, const char *key, const struct seal_view *view)
{
    struct tally *tally = arg;
    struct seal_counts *counts = tally->counts;
    _cleanup_free_ char *shown = utf8_show(key); /* a plugin may have chosen any */
    size_t i = 0;

    (void)view;
    while (i < counts->n && !str_equal(counts->counts[i].key, shown))
        i++;
    if (i == counts->n) {
        counts->counts = mem_resize(counts->counts, i + 1, sizeof(struct seal_count));
        tally->last = mem_resize(tally->last, i + 1, sizeof(size_t));
        counts->counts[counts->n++] = (struct seal_count){TAKE(shown), 0};
        tally->last[i] = 0;
    }
    counts->counts[i].documents += tally->last[i] != tally->document;
    tally->last[i] = tally->document;
}

/* A document that went meanwhile is none. */
static int count_document(struct store *inner, const struct document_name *name,
                          const struct store_call *call, struct tally *tally, struct error *error)
{
    struct document stored = DOCUMENT_INIT;
    int r = store_load(inner, name, call, &stored, error);

    tally->document++;
    if (r >= 0)
        r = each_key(&stored, count_key, tally, error);
    document_done(&stored);
    return r == ERR_NOT_FOUND ? 0 : r;
}

int seal_store_count(struct store *base, const struct store_call *call, seal_on_problem *fn,
                     void *arg, struct seal_counts *ret, struct error *error)
{
    struct store *inner = ((struct sealed_store *)base)->inner;
    _cleanup_(names_done) struct names names = NAMES_INIT;
    struct tally tally = {.counts = ret};
    int r;

    *ret = (struct seal_counts){0};
    r = list_names(inner, call, &names, error);
    for (size_t i = 0; r >= 0 && i < names.count; i++) {
        struct error problem = {0};

        if (count_document(inner, &names.items[i], call, &tally, &problem) < 0)
            fn(arg, &names.items[i], &problem);
    }
    free(tally.last);
    return r;
}

/* ---- Writing anew ---- */

struct wanted {
    char *key; /* that seals now */
    enum seal_scope scope;
    bool is_other; /* of the document: it is not as wanted */
};

static void compare_key(void *arg, const char *key, const struct seal_view *view)
{
    struct wanted *wanted = arg;
    bool is_secret = view->open_hash != NULL;

    if (wanted->scope == SEAL_NONE)
        wanted->is_other = !str_equal(key, UNSEALED);
    else if (!str_equal(key, wanted->key) ||
             (is_secret && view->open_is_sealed != (wanted->scope == SEAL_ALL)))
        wanted->is_other = true;
}

/* Of the inner store's handle: whether the document is as it is to be. */
static int is_as_wanted(struct sealed_file *file, const struct store_call *call,
                        struct wanted *wanted, bool *ret, struct error *error)
{
    _cleanup_(document_done) struct document stored = DOCUMENT_INIT;
    int r = file->file->store->ops->read(file->file, call, &stored, error);

    wanted->is_other = false;
    if (r >= 0)
        r = each_key(&stored, compare_key, wanted, error);
    *ret = !wanted->is_other;
    return r;
}

static int write_anew(struct sealed_file *file, const struct store_call *call, struct error *error)
{
    const struct store_ops *ops = file->base.store->ops;
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    int r = ops->read(&file->base, call, &document, error);

    if (r >= 0 && ((struct sealed_store *)file->base.store)->scope != SEAL_NONE)
        r = sealed_write_carrying(file, call, &document, document.entries, document.n_entries,
                                  error);
    else if (r >= 0 && document.n_entries > 0)
        r = err_set(error, ERR_UNSUPPORTED, NULL,
                    "it has entries, which stay sealed until the operator saves it as a whole");
    else if (r >= 0)
        r = ops->write(&file->base, call, &document, error);
    return r;
}

/* 1: written; 0: it was as wanted, or went meanwhile. */
static int rekey(struct store *store, const struct document_name *name,
                 const struct store_call *call, struct wanted *wanted, struct error *error)
{
    struct store_file *file = NULL;
    bool is_right = true;
    int r = store->ops->open(store, name, STORE_WRITE, call, &file, error);

    if (r >= 0)
        r = is_as_wanted((struct sealed_file *)file, call, wanted, &is_right, error);
    if (r >= 0 && !is_right)
        r = write_anew((struct sealed_file *)file, call, error);
    store->ops->close(file);
    if (r == ERR_NOT_FOUND)
        return 0;
    return r < 0 ? r : !is_right;
}

static int find_wanted(const struct sealed_store *store, const struct store_call *call,
                       struct wanted *ret, struct error *error)
{
    _cleanup_(seed_unref_p) struct seed *seed = NULL;
    int r;

    ret->scope = store->scope;
    if (store->scope == SEAL_NONE)
        return 0;
    r = seal_keys_current(store->keys, call, &seed, error);
    if (r >= 0)
        ret->key = key_of_block(seed->block.data, seed->block.length);
    return r;
}

int seal_store_rekey(struct store *base, const struct store_call *call, seal_on_problem *fn,
                     void *arg, struct seal_rekeyed *ret, struct error *error)
{
    struct sealed_store *store = (struct sealed_store *)base;
    _cleanup_(names_done) struct names names = NAMES_INIT;
    struct wanted wanted = {0};
    int r = find_wanted(store, call, &wanted, error);

    *ret = (struct seal_rekeyed){0};
    if (r >= 0)
        r = list_names(store->inner, call, &names, error);
    for (size_t i = 0; r >= 0 && i < names.count; i++) {
        struct error problem = {0};
        int done = rekey(base, &names.items[i], call, &wanted, &problem);

        ret->documents++;
        ret->written += done > 0;
        ret->failed += done < 0;
        if (done < 0)
            fn(arg, &names.items[i], &problem);
    }
    free(wanted.key);
    return r;
}
