#include "engine/graph/relations.h"

#include "engine/base/mem.h"

void relations_init(struct relations *relations, size_t n_targets)
{
    *relations = (struct relations){.n_targets = n_targets};
    relations->ranks = NEW_ARRAY(uint16_t, n_targets);
    relations->last = NEW_ARRAY(uint32_t, n_targets);
}

void relations_done(struct relations *relations)
{
    free(relations->items);
    free(relations->ranks);
    free(relations->last);
    *relations = (struct relations)RELATIONS_INIT;
}

void relations_add(struct relations *relations, size_t node, size_t other, enum relation_kind kind)
{
    if (node >= relations->n_targets || other >= relations->n_targets)
        abort();
    relations->items = mem_grow(relations->items, relations->n_items, &relations->capacity,
                                sizeof(*relations->items));
    relations->items[relations->n_items++] =
        (struct relation){(uint32_t)node, (uint32_t)other, kind};
}
