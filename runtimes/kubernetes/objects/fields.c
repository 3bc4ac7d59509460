#include "runtimes/kubernetes/objects/fields.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/value/json.h"

/* ---- Steps ---- */

const char *fields_step(const char *key, size_t length, char type, size_t *ret_length)
{
    if (length < 2 || key[0] != type || key[1] != ':')
        return NULL;
    *ret_length = length - 2;
    return key + 2;
}

/* The field with this node belongs to the set itself, not only fields in it. */
static bool is_member(const struct value *node)
{
    return node && (value_count(node) == 0 || value_get(node, "."));
}

const struct value *fields_member(const struct value *set, const char *name, size_t length)
{
    _cleanup_buf_ struct buf key = BUF_INIT;

    if (!set)
        return NULL;
    buf_add_str(&key, "f:");
    buf_add(&key, name, length);
    return value_get_n(set, key.data, key.length);
}

bool fields_has(const struct value *set, const char *const *path)
{
    for (; *path && set; path++)
        set = fields_member(set, *path, strlen(*path));
    return set != NULL;
}

bool fields_were_taken(const struct value *own, const struct value *now, const struct value *theirs)
{
    for (size_t i = 0; i < value_count(own); i++) {
        size_t length;
        const char *key = value_member_key(own, i, &length);
        const struct value *mine = value_member(own, i), *at = value_get_n(theirs, key, length);
        const struct value *still = value_get_n(now, key, length);

        if (!at || (length == 1 && *key == '.'))
            continue;
        if (value_count(mine) == 0 ? !still : fields_were_taken(mine, still, at))
            return true;
    }
    return false;
}

/* ---- Union ---- */

static void add_union(struct value_builder *b, const struct value *x, const struct value *y,
                      bool is_root);

static void add_members(struct value_builder *b, const struct value *x, const struct value *y)
{
    for (size_t i = 0; i < value_count(x); i++) {
        size_t length;
        const char *key = value_member_key(x, i, &length);
        const struct value *other = value_get_n(y, key, length);

        value_key_n(b, key, length);
        if (other)
            add_union(b, value_member(x, i), other, false);
        else
            value_add(b, value_member(x, i));
    }
}

/* A leaf and a node with members: the field itself, and these members. */
static void add_union(struct value_builder *b, const struct value *x, const struct value *y,
                      bool is_root)
{
    bool is_leaf = value_count(x) == 0 || value_count(y) == 0;
    bool has_self = value_get(x, ".") || value_get(y, ".");

    value_begin_object(b);
    if (!is_root && is_leaf && !has_self && value_count(x) + value_count(y) > 0) {
        value_key(b, ".");
        value_begin_object(b);
        value_end_object(b);
    }
    add_members(b, x, y);
    for (size_t i = 0; i < value_count(y); i++) {
        size_t length;
        const char *key = value_member_key(y, i, &length);

        if (value_get_n(x, key, length))
            continue;
        value_key_n(b, key, length);
        value_add(b, value_member(y, i));
    }
    value_end_object(b);
}

/* Only an object is a set. */
static const struct value *set_of(const struct value *value)
{
    return value_is(value, VALUE_OBJECT) ? value : NULL;
}

const struct value *fields_union(const struct value *a, const struct value *b)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();

    add_union(builder, set_of(a), set_of(b), true);
    return value_finish(builder);
}

/* ---- Pruning ---- */

/* What becomes of one field. */
enum fate { KEEP, PRUNE, REMOVE };

static enum fate fate_of(const struct value *given_up, const struct value *kept, bool is_item)
{
    if (!given_up)
        return KEEP;
    if (!kept || (is_item && is_member(given_up) && !is_member(kept)))
        return REMOVE;
    return value_count(given_up) > 0 ? PRUNE : KEEP;
}

/* True if something is left: an empty container stays empty, but one that loses all is gone. */
static bool add_pruned(struct value_builder *b, const struct value *value,
                       const struct value *given_up, const struct value *kept);

static const struct value *pruned(const struct value *value, const struct value *given_up,
                                  const struct value *kept, bool *ret_is_gone)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    *ret_is_gone = !add_pruned(b, value, given_up, kept) && value_count(value) > 0;
    return value_finish(b);
}

static bool add_object(struct value_builder *b, const struct value *object,
                       const struct value *given_up, const struct value *kept)
{
    size_t left = 0;

    value_begin_like(b, object);
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length;
        const char *name = value_member_key(object, i, &length);
        const struct value *member = value_member(object, i);
        const struct value *give = fields_member(given_up, name, length);
        const struct value *keep = fields_member(kept, name, length);
        enum fate fate = fate_of(give, keep, false);
        _cleanup_value_ const struct value *changed = NULL;
        bool is_gone = false;

        if (fate == PRUNE)
            changed = pruned(member, give, keep, &is_gone);
        if (fate == REMOVE || is_gone)
            continue;
        value_key_n(b, name, length);
        value_add(b, changed ? changed : member);
        left++;
    }
    value_end(b);
    return left > 0;
}

/* ---- Lists ---- */

/* A step to items that is given up. */
struct step {
    char type;                /* of k:, v: and i: */
    const struct value *at;   /* its text as JSON; a reference */
    const struct value *give; /* its node; borrowed */
    const struct value *keep; /* the node of what is kept; borrowed, or NULL */
};

static size_t read_steps(const struct value *given_up, const struct value *kept, struct step *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < value_count(given_up); i++) {
        size_t length, rest;
        const char *key = value_member_key(given_up, i, &length), *text = NULL;
        struct step step = {.give = value_member(given_up, i),
                            .keep = value_get_n(kept, key, length)};

        for (const char *type = "kvi"; *type && !text; type++) {
            text = fields_step(key, length, *type, &rest);
            step.type = *type;
        }
        if (text && json_read(text, rest, &step.at, NULL) >= 0)
            ret[n++] = step;
    }
    return n;
}

static bool has_key(const struct value *item, const struct value *key)
{
    bool has = value_is(item, VALUE_OBJECT) && value_is(key, VALUE_OBJECT) && value_count(key) > 0;

    for (size_t i = 0; has && i < value_count(key); i++) {
        size_t length;
        const char *name = value_member_key(key, i, &length);
        const struct value *value = value_get_n(item, name, length);

        has = value && value_equal(value, value_member(key, i));
    }
    return has;
}

static const struct step *step_to(const struct step *steps, size_t n, const struct value *item,
                                  size_t index)
{
    for (size_t i = 0; i < n; i++) {
        const struct step *step = &steps[i];

        if (step->type == 'k'   ? has_key(item, step->at)
            : step->type == 'v' ? value_equal(item, step->at)
                                : value_int(step->at, -1) == (int64_t)index)
            return step;
    }
    return NULL;
}

static bool add_item(struct value_builder *b, const struct value *item, const struct step *step)
{
    enum fate fate = step ? fate_of(step->give, step->keep, true) : KEEP;
    _cleanup_value_ const struct value *changed = NULL;
    bool is_gone = false;

    if (fate == PRUNE)
        changed = pruned(item, step->give, step->keep, &is_gone);
    if (fate == REMOVE || is_gone)
        return false;
    value_add(b, changed ? changed : item);
    return true;
}

static bool add_array(struct value_builder *b, const struct value *array,
                      const struct value *given_up, const struct value *kept)
{
    struct step *steps = NEW_ARRAY(struct step, value_count(given_up) + 1);
    size_t n = read_steps(given_up, kept, steps), left = 0;

    value_begin_like(b, array);
    for (size_t i = 0; i < value_count(array); i++)
        left += add_item(b, value_at(array, i), step_to(steps, n, value_at(array, i), i));
    value_end(b);
    for (size_t i = 0; i < n; i++)
        value_unref(steps[i].at);
    free(steps);
    return left > 0;
}

static bool add_pruned(struct value_builder *b, const struct value *value,
                       const struct value *given_up, const struct value *kept)
{
    if (value_is(value, VALUE_OBJECT))
        return add_object(b, value, given_up, kept);
    if (value_is(value, VALUE_ARRAY))
        return add_array(b, value, given_up, kept);
    value_add(b, value);
    return true;
}

const struct value *fields_prune(const struct value *object, const struct value *given_up,
                                 const struct value *kept)
{
    bool is_gone;

    return pruned(object, set_of(given_up), set_of(kept), &is_gone);
}
