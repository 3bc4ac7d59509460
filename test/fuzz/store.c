/*
 * The store of State, over an API server in memory (kube_do and its kin are replaced here): a
 * State of a few hundred bytes or, with its chunks, of a few million is saved; then what is
 * stored is changed as the input says. Loading gives that State, or ERR_CORRUPT, or, where the
 * head is gone, ERR_NOT_FOUND: never another State.
 *
 * The first line says how large ("small", "secret", "large": in chunks); each that follows is
 * "OBJECT POINTER JSON": what is put there (or, without JSON, removed) in the object of that
 * number; the pointer "/" is all of it.
 */
#include "runtimes/kubernetes/store.h"
#include "engine/base/json.h"
#include "engine/base/path.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/list.h"
#include "test/fuzz/fuzz.h"

#define MOST         16
#define MOST_CHANGES 8

static const struct state_key key = {"team-a", "web"};

/* What each size of State is stored as. It is saved once, and each input changes a copy. */
static struct plane {
    struct state *state;
    struct stored {
        char *path;
        const struct value *object, *changed; /* changed NULL: removed */
    } objects[MOST];
    size_t n_objects;
} planes[3], *plane;

static const struct value *find(const char *path)
{
    for (size_t i = 0; i < plane->n_objects; i++)
        if (strcmp(plane->objects[i].path, path) == 0)
            return plane->objects[i].changed;
    return NULL;
}

int __wrap_kube_get(struct kube_client *client, const char *path, struct cancel *cancel,
                    const struct value **ret, struct error *error);
int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error);
int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error);

int __wrap_kube_get(struct kube_client *client, const char *path, struct cancel *cancel,
                    const struct value **ret, struct error *error)
{
    const struct value *found = find(path);

    (void)client;
    (void)cancel;
    if (!found)
        return err_set(error, ERR_NOT_FOUND, "NotFound", "not there");
    *ret = value_ref(found);
    return 0;
}

/* Creates, and nothing else: a State that is saved once needs no more. */
int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error)
{
    const char *name = value_get_string(value_get(request->body, "metadata"), "name");
    struct stored *stored = &plane->objects[plane->n_objects++];

    (void)client;
    (void)error;
    must(strcmp(request->method, "POST") == 0 && name && plane->n_objects < MOST);
    stored->path = str_printf("%s/%s", request->path, name);
    stored->object = value_ref(request->body);
    stored->changed = value_ref(request->body);
    if (ret)
        *ret = value_ref(request->body);
    return 0;
}

int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error)
{
    (void)client;
    (void)list;
    (void)ret_resource_version;
    (void)error;
    return 0;
}

/* ---- What is saved ---- */

/* Bytes that do not compress, as text. */
static void add_noise(struct buf *to, size_t length)
{
    uint32_t state = 1;

    while (length--) {
        state = state * 1664525 + 1013904223;
        buf_add_char(to, (char)('0' + (state >> 24) % 64));
    }
}

static struct state *make_state(size_t open, size_t secret)
{
    struct state *state = state_new("team-a", "web", "uid-1");
    struct record *record = state_record(state, "v1:Secret:team-a:s", "Kubernetes");
    _cleanup_buf_ struct buf open_text = BUF_INIT, secret_text = BUF_INIT;
    _cleanup_value_ const struct value *password = NULL, *hidden = NULL;

    add_noise(&secret_text, secret);
    password = value_pack("s", secret_text.data);
    hidden = secret ? value_sensitive(password) : value_ref(password);
    record->attributes = value_pack("{s:s, s:{s:s}, s:{s:v}}", "kind", "Secret", "metadata", "name",
                                    "s", "data", "password", hidden);
    add_noise(&open_text, open);
    record = state_record(state, "v1:ConfigMap:team-a:c", "Kubernetes");
    record->attributes = value_pack("{s:s, s:s}", "kind", "ConfigMap", "text", open_text.data);
    record->dependencies = value_pack("[s]", "v1:Secret:team-a:s");
    return state;
}

/* ---- What is changed ---- */

static void change(const char *line)
{
    unsigned number = 0;
    int end = 0;
    _cleanup_free_ char *pointer = NULL;
    _cleanup_value_ const struct value *with = NULL;
    const struct value *changed, **object;

    if (sscanf(line, "%3u %ms%n", &number, &pointer, &end) < 2)
        return;
    object = &plane->objects[number % plane->n_objects].changed;
    json_read_str(line + end, &with, NULL);
    if (strcmp(pointer, "/") == 0)
        pointer[0] = '\0';
    if (!pointer_find(*object, pointer))
        return;
    changed = pointer_replace(*object, pointer, with);
    value_unref(*object);
    *object = changed;
}

static void check_loaded(struct state_store *store, bool is_untouched)
{
    _cleanup_(state_free_p) struct state *loaded = NULL;
    _cleanup_free_ char *version = NULL;
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    struct error error = {0};
    int r = store->ops->load(store, &key, NULL, &loaded, &version, &error);

    must_agree(r, &error);
    must(r == 0 || r == ERR_CORRUPT || r == ERR_NOT_FOUND);
    must((r == 0) == (loaded != NULL) && (r == 0 || !is_untouched));
    if (r < 0)
        return;
    before = state_to_value(plane->state);
    after = state_to_value(loaded);
    must(value_equal(before, after));
}

static void plane_of(const char *size, struct state_store *store)
{
    static const struct {
        const char *name;
        size_t open, secret; /* bytes that do not compress */
    } sizes[] = {{"small", 0, 0}, {"secret", 0, 40}, {"large", 1000000, 40}};
    _cleanup_free_ char *version = NULL;
    size_t i = ARRAY_SIZE(sizes) - 1;

    while (i && strcmp(sizes[i].name, size) != 0)
        i--;
    plane = &planes[i];
    for (size_t k = 0; k < plane->n_objects; k++)
        value_assign(&plane->objects[k].changed, plane->objects[k].object);
    if (plane->state)
        return;
    plane->state = make_state(sizes[i].open, sizes[i].secret);
    must(store->ops->save(store, &key, plane->state, NULL, &version, NULL) == 0);
    check_loaded(store, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state_store *store =
        kube_store_new(&(struct kube_store_config){.namespace_name = "kusion-system"});
    _cleanup_free_ char *first = take_line(&data, &size);

    plane_of(first, store);
    for (size_t i = 0; i < MOST_CHANGES && size; i++) {
        _cleanup_free_ char *line = take_line(&data, &size);

        change(line);
    }
    check_loaded(store, false);
    kube_store_free(store);
    return 0;
}
