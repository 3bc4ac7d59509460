/* Outputs: the values that references take from live objects. Of an object that was seen, an
 * operation keeps these alone, as copies: the object itself may be a hundred times as large. */

#include "engine/operation/planning/planning.h"
#include "engine/operation/results.h"
#include "engine/spec/ref.h"
#include "engine/threads/locked.h"
#include "engine/value/path.h"
#include "engine/value/value_mark.h"

/* ---- List ---- */

static int list_output(void *arg, const char *text, struct error *error)
{
    struct operation *operation = arg;
    struct output *output;
    struct ref ref;

    if (strmap_get(&operation->outputs, text) ||
        ref_parse(text, &operation->spec->by_id, &ref, error) < 0)
        return 0;
    output = ARENA_NEW(&operation->arena, struct output);
    output->node = &operation->nodes[spec_index(operation->spec, ref.target)];
    output->path = ref.path;
    output->next = output->node->outputs;
    output->node->outputs = output;
    strmap_put(&operation->outputs, text, output);
    return 0;
}

void operation_list_outputs(struct operation *operation)
{
    const struct spec *spec = operation->spec;

    for (size_t i = 0; spec && i < spec->n_resources; i++) {
        ref_each(spec->resources[i].attributes, list_output, operation, NULL);
        ref_each(spec->resources[i].extensions, list_output, operation, NULL);
    }
}

/* ---- Values ---- */

/* Copies of the outputs, in their order; null for those that are not there. */
static const struct value *copy_outputs(const struct output *outputs, const struct value *live)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (const struct output *output = outputs; output; output = output->next) {
        const struct value *found = path_find(live, output->path, NULL);

        if (found)
            value_add_copy(b, found);
        else
            value_add_null(b);
    }
    value_end_array(b);
    return value_finish(b);
}

/* Under the lock. copies NULL: they are past a bound of limits.h, as no object is. */
static void take_outputs(struct node *node, const struct value *copies, const struct value *live)
{
    size_t i = 0;

    operation_hold(node->operation, value_memory(node->seen), value_memory(copies));
    value_assign(&node->seen, copies);
    node->is_seen = true;
    for (struct output *output = node->outputs; output; output = output->next, i++) {
        output->value = value_at(copies, i);
        output->is_there = copies && path_find(live, output->path, &output->reached);
    }
}

void operation_set_live(struct node *node, const struct value *live)
{
    struct operation *operation = node->operation;
    const struct record *record = operation_change(node)->record;
    _cleanup_value_ const struct value *attributes = NULL, *sent = NULL, *both = NULL;
    _cleanup_value_ const struct value *open = NULL, *copies = NULL;

    if (node->outputs && live) {
        pthread_mutex_lock(&operation->lock);
        attributes = value_ref(node->attributes);
        pthread_mutex_unlock(&operation->lock);
        sent = value_mark_like(live, attributes);
        both = value_mark_like(sent, record ? record->attributes : NULL);
        open = copy_outputs(node->outputs, both);
        copies = operation_mark_quotes(node, open);
    }
    pthread_mutex_lock(&operation->lock);
    if (live) {
        take_outputs(node, copies, both);
    } else {
        operation_hold(operation, value_memory(node->seen), 0);
        value_assign(&node->seen, NULL);
        node->is_seen = false;
    }
    pthread_mutex_unlock(&operation->lock);
}

struct seen operation_seen(const struct output *output)
{
    struct node *node = output->node;
    struct seen seen = {0};
    LOCKED(&node->operation->lock);

    seen.is_seen = node->is_seen;
    seen.reached = output->reached;
    if (node->is_seen && output->is_there)
        seen.value = value_ref(output->value);
    return seen;
}
