/* A sealed store is a store, and a history of documents in it is a history. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/seal/key_folder.h"
#include "test/unit/runtimes/seal/tamper.h"
#include "test/unit/suite.h"

struct medium {
    struct memory_medium *memory;
    char *keys;
    const char *more; /* sources behind the folder */
    enum seal_scope scope;
};

static struct store *attach(void *arg)
{
    struct medium *medium = arg;

    return seal_store_new(memory_store_new(medium->memory),
                          key_folder_keys(medium->keys, medium->more), medium->scope);
}

static void flip(struct buf *buf)
{
    if (buf->length > 0)
        buf->data[buf->length / 2] ^= 1;
}

static void remove_entry(struct document *document, size_t i)
{
    buf_done(&document->entries[i]);
    document->n_entries--;
    for (; i < document->n_entries; i++)
        document->entries[i] = document->entries[i + 1];
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const char *const names[] = {NULL, "the open part of state of",
                                        "the secret part of state of", "the entry 2 of state of"};
    struct medium *medium = arg;
    struct store *store = memory_store_new(medium->memory);
    struct document document = DOCUMENT_INIT;
    bool is_missing = how == DAMAGE_MISSING;

    /* Without its secret part, a document whose open part is not sealed looks as if it never was:
     * NotSealed. */
    bool can = part != DAMAGE_HEAD && medium->scope != SEAL_NONE &&
               !(part == DAMAGE_SECRET && is_missing && medium->scope != SEAL_ALL);

    if (can) {
        memory_break_lock(medium->memory, name);
        tamper_take(store, name, &document);
        if (part == DAMAGE_ENTRIES && is_missing)
            remove_entry(&document, 1);
        else if (part == DAMAGE_ENTRIES)
            flip(&document.entries[1]);
        else if (is_missing)
            buf_reset(part == DAMAGE_OPEN ? &document.open : &document.secret);
        else
            flip(part == DAMAGE_OPEN ? &document.open : &document.secret);
        tamper_put(store, name, &document);
        *ret = str_new(names[part]);
    }
    document_done(&document);
    store->ops->free(store);
    return can;
}

static void break_lock(void *arg, const struct document_name *name)
{
    memory_break_lock(((struct medium *)arg)->memory, name);
}

static void keeps_the_contract(void)
{
    static const struct memory_medium_config media[] = {
        {0}, {.has_locks = true}, {.cannot_append = true}};
    static const struct {
        enum seal_scope scope;
        const char *more;
    } rows[] = {
        {SEAL_SECRET, ""}, {SEAL_ALL, ""}, {SEAL_ALL, ",identity"}, {SEAL_NONE, ",identity"}};

    for (size_t i = 0; i < ARRAY_SIZE(media) * ARRAY_SIZE(rows); i++) {
        size_t row = i / ARRAY_SIZE(media);
        const struct memory_medium_config *config = &media[i % ARRAY_SIZE(media)];
        struct medium medium = {memory_medium_new(config), key_folder_new(), rows[row].more,
                                rows[row].scope};

        store_contract_check(&(struct store_fixture){&medium, attach, damage,
                                                     config->has_locks ? break_lock : NULL});
        memory_medium_free(medium.memory);
        key_folder_free(medium.keys);
    }
}

static void keeps_histories(void)
{
    for (int scope = SEAL_NONE; scope <= SEAL_ALL; scope++) {
        struct medium medium = {memory_medium_new(NULL), key_folder_new(), ",identity",
                                (enum seal_scope)scope};
        struct store *store = attach(&medium);

        history_contract_check_store(store);
        store->ops->free(store);
        memory_medium_free(medium.memory);
        key_folder_free(medium.keys);
    }
}

SUITE(sealed_contract, TEST(keeps_the_contract), TEST(keeps_histories))
