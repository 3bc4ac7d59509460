/* Objects by key, one counter of versions, and all changes ever: what watches are made from. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/api_server/private.h"

char *api_storage_key(const struct api_kind *kind, const char *namespace_name, const char *name)
{
    /* 0x01 sorts before all that names are made of. */
    return str_printf("%s/%s\x01%s\x01%s", kind->group, kind->plural,
                      namespace_name ? namespace_name : "", name);
}

const struct value *api_storage_find(const struct api_server *server, const struct api_kind *kind,
                                     const char *namespace_name, const char *name)
{
    _cleanup_free_ char *key = api_storage_key(kind, namespace_name, name);
    const struct stored *stored = strmap_get(&server->objects, key);

    return stored ? stored->object : NULL;
}

static const struct value *with_version(const struct value *object, int64_t version)
{
    static const char *const path[] = {"metadata", "resourceVersion"};
    _cleanup_free_ char *text = str_printf("%lld", (long long)version);
    _cleanup_value_ const struct value *number = value_pack("s", text);

    return value_with_path(object, path, ARRAY_SIZE(path), number);
}

static void note(struct api_server *server, const struct api_kind *kind, const struct value *before,
                 const struct value *after)
{
    server->changes = mem_grow(server->changes, server->n_changes, &server->changes_capacity,
                               sizeof(*server->changes));
    server->changes[server->n_changes++] =
        (struct change){server->version, kind, value_ref(before), value_ref(after)};
    pthread_cond_broadcast(&server->changed);
}

static void stored_free(struct stored *stored)
{
    free(stored->key);
    value_unref(stored->object);
    free(stored);
}

static const struct value *take_away(struct api_server *server, const struct api_kind *kind,
                                     const char *key)
{
    struct stored *old = strmap_remove(&server->objects, key);
    _cleanup_value_ const struct value *last = NULL;

    if (!old)
        return NULL;
    last = with_version(old->object, server->version);
    value_assign(&server->removed, last);
    note(server, kind, last, NULL);
    stored_free(old);
    return server->removed;
}

const struct value *api_storage_commit(struct api_server *server, const struct api_kind *kind,
                                       const char *namespace_name, const char *name,
                                       const struct value *object)
{
    _cleanup_free_ char *key = api_storage_key(kind, namespace_name, name);
    struct stored *stored = strmap_get(&server->objects, key);
    _cleanup_value_ const struct value *before = stored ? value_ref(stored->object) : NULL;

    server->version++;
    if (!object)
        return take_away(server, kind, key);
    if (!stored) {
        stored = NEW(struct stored);
        stored->key = str_new(key);
        stored->kind = kind;
        strmap_put(&server->objects, stored->key, stored);
    }
    value_unref(stored->object);
    stored->object = with_version(object, server->version);
    note(server, kind, before, stored->object);
    return stored->object;
}

static int compare(const void *a, const void *b)
{
    return strcmp((*(const struct stored *const *)a)->key, (*(const struct stored *const *)b)->key);
}

const struct stored **api_storage_all(const struct api_server *server, const struct api_kind *kind,
                                      const char *namespace_name, size_t *ret_count)
{
    _cleanup_free_ char *prefix = namespace_name
                                      ? api_storage_key(kind, namespace_name, "")
                                      : str_printf("%s/%s\x01", kind->group, kind->plural);
    const struct stored **all = NEW_ARRAY(const struct stored *, server->objects.count + 1);
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&server->objects, e));)
        if (str_has_prefix(e->key, prefix))
            all[count++] = e->value;
    qsort(all, count, sizeof(const struct stored *), compare);
    *ret_count = count;
    return all;
}

static void forget_objects(struct api_server *server)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&server->objects, e));)
        stored_free(e->value);
    strmap_done(&server->objects);
}

static void forget_saved(struct api_server *server)
{
    for (size_t i = 0; i < server->n_saved; i++) {
        free(server->saved[i].key);
        value_unref(server->saved[i].object);
    }
    free(server->saved);
}

static struct stored copy_of(const struct stored *stored)
{
    return (struct stored){str_new(stored->key), stored->kind, value_ref(stored->object)};
}

void api_storage_save(struct api_server *server)
{
    forget_saved(server);
    server->saved = NEW_ARRAY(struct stored, server->objects.count + 1);
    server->n_saved = 0;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&server->objects, e));)
        server->saved[server->n_saved++] = copy_of(e->value);
    server->saved_version = server->version;
}

/* What changed since was never: no watch will see it. */
void api_storage_set_back(struct api_server *server)
{
    forget_objects(server);
    strmap_init(&server->objects);
    for (size_t i = 0; i < server->n_saved; i++) {
        struct stored *stored = NEW(struct stored);

        *stored = copy_of(&server->saved[i]);
        strmap_put(&server->objects, stored->key, stored);
    }
    server->version = server->saved_version;
    while (server->n_changes && server->changes[server->n_changes - 1].version > server->version) {
        struct change *change = &server->changes[--server->n_changes];

        value_unref(change->before);
        value_unref(change->after);
    }
}

void api_storage_done(struct api_server *server)
{
    forget_objects(server);
    forget_saved(server);
    for (size_t i = 0; i < server->n_changes; i++) {
        value_unref(server->changes[i].before);
        value_unref(server->changes[i].after);
    }
    free(server->changes);
    value_unref(server->removed);
}
