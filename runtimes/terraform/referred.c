#include "runtimes/terraform/referred.h"

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/threads/locked.h"
#include "engine/value/children.h"

void referred_init(struct referred *referred)
{
    pthread_mutex_init(&referred->lock, NULL);
    strmap_init(&referred->schemas);
}

void referred_done(struct referred *referred)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&referred->schemas, e));) {
        free((void *)(uintptr_t)e->key);
        tf_schema_unref(e->value);
    }
    strmap_done(&referred->schemas);
    pthread_mutex_destroy(&referred->lock);
}

void referred_note(struct referred *referred, const char *id, struct tf_schema *schema)
{
    LOCKED(&referred->lock);

    if (!strmap_get(&referred->schemas, id))
        strmap_put(&referred->schemas, str_new(id), tf_schema_ref(schema));
}

/* ---- Types ---- */

/* An element of a collection has the same type under any key. */
static const struct tf_type *step_into(const struct tf_type *type, const char *step)
{
    if (type->element)
        return type->element;
    return type->kind == TF_OBJECT ? tf_type_member(type, step, strlen(step)) : NULL;
}

static const struct tf_type *type_at(const struct tf_type *type, const char *path)
{
    _cleanup_buf_ struct buf step = BUF_INIT;
    const char *at = path;

    while (type && *at) {
        buf_reset(&step);
        at = path_step(path, at, &step);
        type = at ? step_into(type, step.data) : NULL;
    }
    return type && !tf_type_has_dynamic(type) ? type : NULL;
}

const struct tf_type *referred_find(void *arg, const char *reference)
{
    struct referred *referred = arg;
    const struct tf_schema *schema;
    struct ref ref;
    int r;

    pthread_mutex_lock(&referred->lock);
    r = ref_parse(reference, &referred->schemas, &ref, NULL);
    pthread_mutex_unlock(&referred->lock);
    if (r < 0)
        return NULL;
    schema = ref.target;
    return type_at(schema->block->type, ref.path);
}

/* ---- Checks ---- */

struct checking {
    struct referred *referred;
    struct path *path;
    struct error *error;
};

static int check_reference(const struct checking *checking, const struct tf_type *type,
                           const struct value *written, const struct value *value)
{
    bool is_told = value && !value_is(value, VALUE_NULL) && !value_is(value, VALUE_UNKNOWN);
    const struct tf_type *found =
        is_told ? NULL : referred_find(checking->referred, value_string(written));
    _cleanup_buf_ struct buf wanted = BUF_INIT, is = BUF_INIT;

    if (!found || tf_type_converts(found, type))
        return 0;
    tf_type_describe(&wanted, type);
    tf_type_describe(&is, found);
    return err_set(checking->error, ERR_INVALID, "InvalidAttribute",
                   "%s: must be %s, and what it refers to is %s", path_text(checking->path),
                   wanted.data, is.data);
}

/* Of a container, where it is written out. */
static int check_typed(const struct checking *checking, const struct tf_type *type,
                       const struct value *written, const struct value *value)
{
    int r = 0;

    if (ref_is(written))
        return check_reference(checking, type, written, value);
    for (size_t i = 0; i < value_count(written) && r >= 0; i++) {
        const struct tf_type *inner = tf_type_child(type, written, i);

        if (!inner)
            continue;
        path_push_child(checking->path, written, i);
        r = check_typed(checking, inner, value_child(written, i),
                        value_counterpart(value, written, i));
        path_pop(checking->path);
    }
    return r;
}

/* One block may stand for a list of one. */
static const struct tf_type *type_as_written(const struct tf_nested *block,
                                             const struct value *written)
{
    bool is_list = block->nesting == TF_NESTED_LIST || block->nesting == TF_NESTED_SET;

    return is_list && value_is(written, VALUE_OBJECT) ? block->block->type : block->type;
}

int referred_check(struct referred *referred, const struct tf_block *block,
                   const struct value *written, const struct value *attributes, struct path *path,
                   struct error *error)
{
    const struct checking checking = {referred, path, error};
    int r = 0;

    for (size_t i = 0; i < block->type->n_members && r >= 0; i++) {
        const struct tf_member *member = &block->type->members[i];
        const struct value *its = value_get(written, member->name);
        bool is_block = i >= block->n_attributes;
        const struct tf_type *type =
            is_block ? type_as_written(&block->blocks[i - block->n_attributes], its) : member->type;

        if (is_block && ref_is(its))
            continue;
        path_push_key(path, member->name);
        r = check_typed(&checking, type, its, value_get(attributes, member->name));
        path_pop(path);
    }
    return r;
}
