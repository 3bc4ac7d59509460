/* The order that runtimes know of, put together. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* The targets of one runtime. */
struct part {
    struct runtime_target *targets;
    uint32_t *indices; /* of each, among all targets */
    size_t count;
};

static void part_init(struct part *part, const char *type, const struct runtime_target *targets,
                      const char *const *types, size_t n)
{
    *part = (struct part){NEW_ARRAY(struct runtime_target, n + 1), NEW_ARRAY(uint32_t, n + 1), 0};
    for (size_t i = 0; i < n; i++)
        if (str_equal(types[i], type)) {
            part->targets[part->count] = targets[i];
            part->indices[part->count++] = (uint32_t)i;
        }
}

static void part_done(struct part *part)
{
    free(part->targets);
    free(part->indices);
}

static uint32_t highest(const uint32_t *places, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        if (places[i] > most)
            most = places[i];
    return most;
}

/* `after`: how many are last by other runtimes; those of this one go after them. */
static void merge(const struct part *part, const struct relations *found, uint32_t after,
                  struct relations *to)
{
    for (size_t i = 0; i < found->n_items; i++)
        relations_add(to, part->indices[found->items[i].node], part->indices[found->items[i].other],
                      found->items[i].kind);
    for (size_t i = 0; i < part->count; i++) {
        to->ranks[part->indices[i]] = found->ranks[i];
        to->last[part->indices[i]] = found->last[i] ? after + found->last[i] : 0;
    }
}

int operation_relate(struct operation *operation, const struct runtime_target *targets,
                     const char *const *types, size_t n, struct relations *ret, struct error *error)
{
    const struct operation_config *config = &operation->config;
    int r = 0;

    relations_init(ret, n);
    for (size_t i = 0; i < config->n_runtimes && r >= 0; i++) {
        struct runtime *runtime = config->runtimes[i];
        struct relations found;
        struct part part;

        if (!runtime->ops->relate)
            continue;
        part_init(&part, runtime->ops->type, targets, types, n);
        relations_init(&found, part.count);
        r = runtime->ops->relate(runtime, &config->scope, part.targets, part.count, &found, error);
        if (r >= 0)
            merge(&part, &found, highest(ret->last, n), ret);
        relations_done(&found);
        part_done(&part);
    }
    return r < 0 ? r : 0;
}

int operation_relate_records(struct operation *operation, const struct record *const *records,
                             size_t n, struct relations *ret, struct error *error)
{
    _cleanup_free_ struct runtime_target *targets = NEW_ARRAY(struct runtime_target, n + 1);
    _cleanup_free_ const char **types = NEW_ARRAY(const char *, n + 1);

    for (size_t i = 0; i < n; i++) {
        targets[i] = (struct runtime_target){
            .id = records[i]->id, .attributes = records[i]->attributes, .uid = records[i]->uid};
        types[i] = records[i]->type;
    }
    return operation_relate(operation, targets, types, n, ret, error);
}
