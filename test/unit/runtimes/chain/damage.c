#include "test/unit/runtimes/chain/damage.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "test/unit/suite.h"

static const struct store_call plain;

struct keys {
    char *newest;
    struct objects *objects;
    bool is_delete;
};

static int on_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    struct keys *keys = arg;

    (void)modified;
    if (keys->is_delete)
        return keys->objects->ops->delete (keys->objects, key, &plain, error);
    if (!keys->newest || strcmp(key, keys->newest) > 0) {
        free(keys->newest);
        keys->newest = str_new(key);
    }
    return 0;
}

/* Replaces the newest object by one with a byte that is not its own. */
static void change(struct objects *objects, const char *key, enum damage_part part)
{
    _cleanup_buf_ struct buf bytes;
    struct object_head head = {0};
    struct error error = {0};
    size_t at = 50;

    buf_init(&bytes, OBJECT_BYTES);
    EXPECT_INT(objects->ops->get(objects, key, &bytes, &plain, &error), 0, error.message);
    EXPECT(object_head_parse(&bytes, &head), key);
    if (part == DAMAGE_OPEN)
        at = head.length + 50;
    if (part == DAMAGE_SECRET)
        at = head.length + head.open.length + 50;
    object_head_done(&head);
    bytes.data[at] ^= 1;
    EXPECT_INT(objects->ops->delete (objects, key, &plain, &error), 0, error.message);
    EXPECT_INT(objects->ops->create(objects, key, &bytes, &plain, &error), 0, error.message);
}

bool chain_damage(struct objects *objects, const struct document_name *name, enum damage_part part,
                  enum damage_how how, char **ret)
{
    _cleanup_free_ char *prefix = chain_prefix(name);
    struct keys keys = {.objects = objects, .is_delete = how == DAMAGE_MISSING};

    if (how == DAMAGE_MISSING && part != DAMAGE_HEAD)
        return false; /* a part is not an object of its own */
    EXPECT_INT(objects->ops->list(objects, prefix, on_key, &keys, &plain, NULL), 0, prefix);
    if (how == DAMAGE_MISSING)
        return true;
    change(objects, keys.newest, part);
    *ret = part == DAMAGE_HEAD ? objects->ops->describe(objects, keys.newest)
                               : str_new(part == DAMAGE_OPEN ? "open section" : "secret section");
    free(keys.newest);
    return true;
}
