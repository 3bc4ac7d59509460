#include "test/unit/runtimes/kubernetes/store_fixture.h"

#include "engine/base/json.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/list.h"
#include "test/unit/suite.h"

static struct state_store *new_store(struct fixture *fixture)
{
    return kube_store_new(
        &(struct kube_store_config){fixture->live.harness.client, fixture->live.space});
}

void fixture_turn_to(struct fixture *fixture, const char *spec_name)
{
    fixture->key = (struct state_key){"team", spec_name};
    state_key_name(&fixture->key, fixture->head);
}

void fixture_start_again(struct fixture *fixture)
{
    kube_store_free(fixture->store);
    fixture->store = new_store(fixture);
}

bool fixture_begin(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    if (!live_start(&fixture->live))
        return false;
    fixture->store = new_store(fixture);
    fixture_turn_to(fixture, "web");
    return true;
}

void fixture_end(struct fixture *fixture)
{
    kube_store_free(fixture->store);
    live_stop(&fixture->live);
}

struct state *fixture_make(const struct fixture *fixture, unsigned seed, size_t bytes, bool secret)
{
    return states_make(fixture->key.spec_namespace, fixture->key.spec_name, seed, bytes, secret);
}

int fixture_save(struct fixture *fixture, const struct state *state, char **version)
{
    err_clear(&fixture->error);
    return fixture->store->ops->save(fixture->store, &fixture->key, state, NULL, version,
                                     &fixture->error);
}

int fixture_load(struct fixture *fixture, struct state **ret, char **ret_version)
{
    err_clear(&fixture->error);
    return fixture->store->ops->load(fixture->store, &fixture->key, NULL, ret, ret_version,
                                     &fixture->error);
}

void fixture_expect(struct fixture *fixture, const struct state *expected, const char *note)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_free_ char *version = NULL;

    EXPECT_INT(fixture_load(fixture, &state, &version), 0, fixture->error.message);
    EXPECT(state && states_equal(state, expected), note);
}

int fixture_remove(struct fixture *fixture, const char *version)
{
    err_clear(&fixture->error);
    return fixture->store->ops->remove(fixture->store, &fixture->key, version, NULL,
                                       &fixture->error);
}

void fixture_begin_to_save(struct fixture *fixture, const struct state *state)
{
    struct kube_store *store = (struct kube_store *)fixture->store;
    struct payload open, secret;

    EXPECT_INT(state_encode(state, &open, &secret, &fixture->error), 0, fixture->error.message);
    EXPECT_INT(chunks_write(store, &store_open_part, fixture->head, &fixture->key, &open, NULL,
                            &fixture->error),
               0, fixture->error.message);
    EXPECT_INT(chunks_write(store, &store_secret_part, fixture->head, &fixture->key, &secret, NULL,
                            &fixture->error),
               0, fixture->error.message);
    payload_done(&open);
    payload_done(&secret);
}

/* ---- What is there ---- */

struct names {
    char *items[32];
    size_t count;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    names->count = 0;
}

static int add_name(void *arg, const struct value *item, struct error *error)
{
    struct names *names = arg;

    (void)error;
    if (names->count < ARRAY_SIZE(names->items))
        names->items[names->count++] =
            str_new(value_string(value_path(item, "metadata", "name", NULL)));
    return 0;
}

static void list_names(struct fixture *fixture, const char *collection, struct names *ret)
{
    _cleanup_free_ char *where = live_text(&fixture->live, collection);
    _cleanup_free_ char *path = str_printf("%s?labelSelector=" KUBE_STATE_LABEL, where);
    struct kube_list list = {.path = path, .on_item = add_name, .arg = ret};

    *ret = (struct names){0};
    EXPECT_INT(kube_list(fixture->live.harness.client, &list, NULL, &fixture->error), 0,
               fixture->error.message);
}

size_t fixture_count(struct fixture *fixture, const char *collection)
{
    _cleanup_(names_done) struct names names;

    list_names(fixture, collection, &names);
    return names.count;
}

char *fixture_chunk(struct fixture *fixture, const char *collection, const char *suffix)
{
    _cleanup_(names_done) struct names names;
    char *found = NULL;

    list_names(fixture, collection, &names);
    for (size_t i = 0; i < names.count && !found; i++)
        if (str_has_suffix(names.items[i], suffix))
            found = str_new(names.items[i]);
    EXPECT(found, suffix);
    return found ? found : str_new("none");
}

/* ---- Damage ---- */

/* Replaces a chunk, which is immutable, by one that differs as edit says. */
static void replace(struct fixture *fixture, const char *path, const struct value *object)
{
    _cleanup_free_ char *collection = str_new_n(path, (size_t)(strrchr(path, '/') - path));
    _cleanup_value_ const struct value *bare = NULL;
    static const char *const version[] = {"metadata", "resourceVersion"};
    _cleanup_free_ char *text = NULL;

    bare = value_without_path(object, version, 2);
    text = json_to_str(bare);
    EXPECT_INT(live_do(&fixture->live, "DELETE", path, NULL, NULL, &fixture->error), 0,
               fixture->error.message);
    EXPECT_INT(live_do(&fixture->live, "POST", collection, text, NULL, &fixture->error), 0,
               fixture->error.message);
}

/* Its bytes are other ones of the same length; the checksum beside them stays. */
static void overwrite(struct fixture *fixture, const char *path, bool with_checksum)
{
    _cleanup_value_ const struct value *object = NULL, *text = NULL, *changed = NULL, *bare = NULL;
    static const char *const annotation[] = {"metadata", "annotations", "api.kusion.io/checksum"};
    const char *keys[] = {strstr(path, "/secrets/") ? "data" : "binaryData", KEY_DATA};
    _cleanup_free_ char *bytes = NULL;

    EXPECT_INT(live_do(&fixture->live, "GET", path, NULL, &object, &fixture->error), 0,
               fixture->error.message);
    bytes = str_new(value_string(value_path(object, keys[0], keys[1], NULL)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    bytes[20] = bytes[20] == 'A' ? 'B' : 'A';
    text = value_pack("s", bytes);
    changed = value_with_path(object, keys, 2, text);
    bare = with_checksum ? value_ref(changed) : value_without_path(changed, annotation, 3);
    replace(fixture, path, bare);
}

void fixture_damage(struct fixture *fixture, const char *path, enum damage how, const char *merge)
{
    if (how == MISSING)
        EXPECT_INT(live_do(&fixture->live, "DELETE", path, NULL, NULL, &fixture->error), 0, path);
    else if (how == MERGED)
        EXPECT_INT(live_do(&fixture->live, "PATCH", path, merge, NULL, &fixture->error), 0, path);
    else
        overwrite(fixture, path, how == OVERWRITTEN);
}
