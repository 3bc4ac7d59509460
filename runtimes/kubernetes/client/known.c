#include "runtimes/kubernetes/client/known.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct known_object {
    unsigned generation;
    size_t name; /* where it begins in text, after "NAMESPACE/" */
    char text[]; /* NAMESPACE/NAME, NUL, UID, NUL */
};

static const char *uid_of(const struct known_object *known)
{
    return known->text + strlen(known->text) + 1;
}

static const char *metadata_text(const struct value *object, const char *key)
{
    const char *text = value_get_string(value_get(object, "metadata"), key);

    return text ? text : "";
}

static struct known_object *known_object_new(const struct value *object, unsigned generation)
{
    const char *space = metadata_text(object, "namespace"), *name = metadata_text(object, "name");
    const char *uid = metadata_text(object, "uid");
    size_t n_space = strlen(space) + 1, n_name = strlen(name) + 1, n_uid = strlen(uid) + 1;
    struct known_object *known = mem_new(sizeof(*known) + n_space + n_name + n_uid);

    known->generation = generation;
    known->name = n_space;
    memcpy(known->text, space, n_space - 1);
    known->text[n_space - 1] = '/';
    memcpy(known->text + n_space, name, n_name);
    memcpy(known->text + n_space + n_name, uid, n_uid);
    return known;
}

void known_init(struct known *known)
{
    *known = (struct known){0};
    strmap_init(&known->objects);
}

void known_done(struct known *known)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&known->objects, e));)
        free(e->value);
    strmap_done(&known->objects);
}

static void give_gone(const struct known_object *gone, known_on_gone *on_gone, void *arg)
{
    _cleanup_free_ char *space = gone->name > 1 ? str_new_n(gone->text, gone->name - 1) : NULL;
    _cleanup_value_ const struct value *object =
        value_pack("{s:{s:s?, s:s, s:s}}", "metadata", "namespace", space, "name",
                   gone->text + gone->name, "uid", uid_of(gone));

    on_gone(arg, object);
}

/* With its place in the map. */
static size_t bytes_of(const struct known_object *known)
{
    return sizeof(*known) + 2 * sizeof(struct strmap_entry) + strlen(known->text) +
           strlen(uid_of(known)) + 2;
}

/* known->objects has it no more. */
static void forget(struct known *known, struct known_object *object)
{
    if (object)
        known->bytes -= bytes_of(object);
    free(object);
}

void known_put(struct known *known, const struct value *object, known_on_gone *on_gone, void *arg)
{
    _cleanup_free_ struct known_object *now = known_object_new(object, known->generation);
    struct known_object *before = strmap_get(&known->objects, now->text);

    if (before && strcmp(uid_of(before), uid_of(now)) == 0) {
        before->generation = known->generation;
        return;
    }
    if (before) {
        strmap_remove(&known->objects, now->text);
        give_gone(before, on_gone, arg);
        forget(known, before);
    }
    if (known->is_bounded && known->bytes + bytes_of(now) > KNOWN_BYTES)
        return;
    known->bytes += bytes_of(now);
    strmap_put(&known->objects, now->text, now);
    TAKE(now);
}

void known_remove(struct known *known, const struct value *object)
{
    _cleanup_free_ struct known_object *key = known_object_new(object, 0);

    forget(known, strmap_remove(&known->objects, key->text));
}

void known_begin_list(struct known *known)
{
    known->generation++;
}

void known_end_list(struct known *known, known_on_gone *on_gone, void *arg)
{
    _cleanup_free_ struct known_object **gone = NULL;
    size_t count = 0, capacity = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&known->objects, e));) {
        struct known_object *object = e->value;

        if (object->generation == known->generation)
            continue;
        gone = mem_grow(gone, count, &capacity, sizeof(*gone));
        gone[count++] = object;
    }
    for (size_t i = 0; i < count; i++) {
        strmap_remove(&known->objects, gone[i]->text);
        give_gone(gone[i], on_gone, arg);
        forget(known, gone[i]);
    }
}
