#include "engine/store/names.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

void names_done(struct names *names)
{
    free(names->items);
    strmap_done(&names->index);
    arena_done(&names->arena);
}

char *name_text(const struct document_name *name)
{
    return str_printf("%s %s/%s%s%s", document_kind_name(name->kind), name->spec.namespace_name,
                      name->spec.name, name->item ? " " : "", name->item ? name->item : "");
}

static int add(void *arg, const struct document_name *name, struct error *error)
{
    struct names *names = arg;
    struct arena *arena = &names->arena;
    _cleanup_free_ char *text = name_text(name);

    (void)error;
    if (strmap_get(&names->index, text))
        return 0;
    names->items = mem_grow(names->items, names->count, &names->capacity, sizeof(*names->items));
    names->items[names->count++] = (struct document_name){
        name->kind,
        {arena_str(arena, name->spec.namespace_name), arena_str(arena, name->spec.name)},
        name->item ? arena_str(arena, name->item) : NULL};
    strmap_put(&names->index, arena_str(arena, text), names);
    return 0;
}

int names_list_of(struct names *names, struct store *store, enum document_kind kind,
                  const struct spec_key *spec, const struct store_call *call, struct error *error)
{
    return store->ops->list(store, kind, spec, add, names, call, error);
}

int names_list(struct names *names, struct store *store, enum document_kind kind,
               const struct store_call *call, struct error *error)
{
    return names_list_of(names, store, kind, NULL, call, error);
}

bool names_has(const struct names *names, const struct document_name *name)
{
    _cleanup_free_ char *text = name_text(name);

    return strmap_get(&names->index, text);
}
