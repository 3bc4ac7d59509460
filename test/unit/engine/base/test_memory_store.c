/* The store in memory, which other tests rely on: that it keeps the contract, and its limit. */
#include "engine/base/str.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

static struct store *attach(void *arg)
{
    return memory_store_new(arg);
}

static bool damage(void *arg, const struct document_name *document, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const char *const parts[] = {"head", "open part", "secret part", "entries"};

    if (part == DAMAGE_HEAD && how == DAMAGE_MISSING)
        return false;
    memory_damage(arg, document, parts[part]);
    *ret = str_new(parts[part]);
    return true;
}

static void break_lock(void *arg, const struct document_name *document)
{
    memory_break_lock(arg, document);
}

static void keeps_the_contract(void)
{
    static const struct memory_medium_config configs[] = {
        {0}, {.has_locks = true}, {.cannot_append = true}};

    for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
        _cleanup_(memory_medium_free_p) struct memory_medium *medium =
            memory_medium_new(&configs[i]);

        store_contract_check(&(struct store_fixture){medium, attach, damage,
                                                     configs[i].has_locks ? break_lock : NULL});
    }
}

/* ---- Its limit ---- */

struct desk {
    struct memory_medium *medium;
    struct store *store;
    struct store_file *file;
};

static void desk_begin(struct desk *desk)
{
    *desk = (struct desk){.medium = memory_medium_new(
                              &(struct memory_medium_config){.has_locks = true, .max_entries = 2})};
    desk->store = memory_store_new(desk->medium);
    EXPECT_INT(desk->store->ops->open(desk->store, &name, STORE_WRITE, &plain, &desk->file, NULL),
               0, "open");
}

static void desk_end(struct desk *desk)
{
    desk->store->ops->close(desk->file);
    desk->store->ops->free(desk->store);
    memory_medium_free(desk->medium);
}

static int put(struct desk *desk, const char *text)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, text);
    return desk->store->ops->write(desk->file, &plain,
                                   &(struct document){.open = bytes, .secret = BUF_INIT}, NULL);
}

static void entries_have_a_limit(void)
{
    struct desk desk;

    desk_begin(&desk);
    EXPECT_INT(put(&desk, "1"), 0, "write");
    for (int i = 0; i < 3; i++)
        EXPECT_INT(desk.store->ops->append(desk.file, &plain, "a", 1, NULL),
                   i < 2 ? 0 : ERR_TOO_LARGE, "append");
    EXPECT_INT(put(&desk, "2"), 0, "folded");
    EXPECT_INT(desk.store->ops->append(desk.file, &plain, "a", 1, NULL), 0, "room again");
    EXPECT_INT(memory_count(desk.medium, MEMORY_APPEND), 3, "those that happened");
    EXPECT_INT(memory_documents(desk.medium), 1, "one document");
    desk_end(&desk);
}

SUITE(memory_store, TEST(keeps_the_contract), TEST(entries_have_a_limit))
