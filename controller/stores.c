#include "controller/stores.h"

#include <ctype.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "runtimes/file/store.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/history/history.h"
#include "runtimes/kubernetes/store/documents.h"
#include "runtimes/postgres/store.h"
#include "runtimes/s3/store.h"
#include "runtimes/webdav/store.h"

#define TYPE_SIZE 32

/* A place, taken apart. */
struct place {
    const char *text;     /* "file:/var/lib/kusion" */
    const char *argument; /* "/var/lib/kusion"; "": there is none */
};

/* ---- Types ---- */

static int open_configmaps(const struct connection *connection, const struct place *place,
                           struct store **ret, struct error *error)
{
    if (*place->argument)
        return err_set(error, ERR_INVALID, "InvalidFlag",
                       "nothing follows it: --state-namespace says where they are");
    *ret = kube_documents_new(
        &(struct kube_documents_config){.cluster = connection->cluster,
                                        .namespace_name = connection->state_namespace,
                                        .effect_time = connection->flags->api_request_timeout});
    return 0;
}

static int open_files(const struct connection *connection, const struct place *place,
                      struct store **ret, struct error *error)
{
    (void)connection;
    if (!*place->argument)
        return err_set(error, ERR_INVALID, "InvalidFlag", "a folder is missing");
    *ret = file_store_new(place->argument);
    return 0;
}

static char *describe_configmaps(const struct connection *connection, const struct place *place)
{
    (void)place;
    return str_printf("configmap:%s", connection->state_namespace);
}

static char *describe_text(const struct connection *connection, const struct place *place)
{
    (void)connection;
    return str_new(place->text);
}

/* The address without its settings. None of these takes a password in it. */
static char *describe_address(const struct connection *connection, const struct place *place)
{
    (void)connection;
    return str_new_n(place->text, strcspn(place->text, "?"));
}

/* One row for each type. A store on a server has its Releases with it, and describes its place
 * without what may be a password. */
static const struct store_type {
    const char *name;
    const char *form; /* for messages */
    /* One of these. */
    int (*open)(const struct connection *connection, const struct place *place, struct store **ret,
                struct error *error);
    int (*open_address)(const char *address, struct store **ret, struct error *error);
    char *(*describe)(const struct connection *connection, const struct place *place);
    enum { IN_CLUSTER = 1 << 0, HAS_RELEASES = 1 << 1, ON_SERVER = 1 << 2 } flags;
} types[] = {
    {"configmap", "configmap", open_configmaps, NULL, describe_configmaps, IN_CLUSTER},
    /* Its name before. */
    {"kubernetes", NULL, open_configmaps, NULL, describe_configmaps, IN_CLUSTER},
    {"file", "file:FOLDER", open_files, NULL, describe_text, HAS_RELEASES},
    {"postgres", "postgres://USER@HOST/DATABASE", NULL, postgres_store_open, describe_address,
     HAS_RELEASES | ON_SERVER},
    {"s3", "s3://BUCKET/PREFIX", NULL, s3_store_open, describe_address, HAS_RELEASES | ON_SERVER},
    {"https", "https://HOST/FOLDER", NULL, webdav_store_open, describe_address,
     HAS_RELEASES | ON_SERVER},
    {"http", NULL, NULL, webdav_store_open, describe_address, HAS_RELEASES | ON_SERVER},
};

/* ---- Sealing ---- */

static int refuse_unsealed(const struct store_type *type, const char *encryption,
                           struct error *error)
{
    if (str_equal(encryption, "none") || (!encryption && !(type->flags & ON_SERVER)))
        return 0;
    if (encryption)
        return err_set(error, ERR_INVALID, "InvalidFlag", "--state-encryption=%s needs --state-key",
                       encryption);
    return err_set(error, ERR_INVALID, "InvalidFlag",
                   "a store on a server gets values of Secrets: say --state-key, with which they "
                   "are sealed, or --state-encryption=none");
}

static int seal_store(const struct flags *flags, const struct store_type *type,
                      struct opened_store *opened, struct error *error)
{
    enum seal_scope scope = SEAL_SECRET;
    struct seal_keys *keys;
    int r;

    if (!flags->state_key)
        return refuse_unsealed(type, flags->state_encryption, error);
    r = flags->state_encryption ? seal_scope_parse(flags->state_encryption, &scope, error) : 0;
    if (r >= 0)
        r = seal_keys_parse(flags->state_key, &system_clock, &keys, error);
    if (r < 0)
        return r;
    opened->keys = keys;
    opened->store = seal_store_new(opened->store, keys, scope);
    return 0;
}

/* ---- Places ---- */

static const struct store_type *find_type(const char *text, struct place *ret)
{
    size_t length = strcspn(text, ":");

    *ret = (struct place){text, text[length] ? text + length + 1 : ""};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strlen(types[i].name) == length && strncmp(types[i].name, text, length) == 0)
            return &types[i];
    return NULL;
}

/* What stands before the colon, if that is like a type. */
static void copy_type(const char *text, char ret[TYPE_SIZE])
{
    size_t length = strcspn(text, ":");
    bool is_word = text[length] && length < TYPE_SIZE;

    for (size_t i = 0; i < length && is_word; i++)
        is_word = islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]);
    str_copy(ret, TYPE_SIZE, "");
    if (is_word) {
        memcpy(ret, text, length);
        ret[length] = '\0';
    }
}

static int refuse(const char *flag, const char *text, struct error *error)
{
    _cleanup_buf_ struct buf forms = BUF_INIT;
    char type[TYPE_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (types[i].form)
            buf_printf(&forms, "%s%s", forms.length ? ", " : "", types[i].form);
    copy_type(text, type);
    return err_set(error, ERR_INVALID, "InvalidFlag", "%s: %s%s%s; say one of %s", flag,
                   *type ? "there is no store of the type \""
                         : "it does not begin with a type of store",
                   type, *type ? "\"" : "", forms.data);
}

int stores_check(const char *flag, const char *text, bool *ret_needs_cluster, struct error *error)
{
    struct place place;
    const struct store_type *type = find_type(text, &place);

    if (!type)
        return refuse(flag, text, error);
    *ret_needs_cluster = type->flags & IN_CLUSTER;
    return 0;
}

int stores_open(const struct connection *connection, const char *flag, const char *text,
                struct opened_store *ret, struct error *error)
{
    struct place place;
    const struct store_type *type = find_type(text, &place);
    int r;

    *ret = (struct opened_store){0};
    if (!type)
        return refuse(flag, text, error);
    r = type->open ? type->open(connection, &place, &ret->store, error)
                   : type->open_address(place.text, &ret->store, error);
    if (r < 0) {
        err_wrap(error, "%s: %s", flag, type->name);
        return r;
    }
    ret->base = ret->store;
    ret->place = type->describe(connection, &place);
    ret->has_releases = type->flags & HAS_RELEASES;
    r = seal_store(connection->flags, type, ret, error);
    if (r < 0)
        stores_close(ret);
    return r;
}

void stores_close(struct opened_store *store)
{
    if (store->store)
        store->store->ops->free(store->store);
    free(store->place);
    *store = (struct opened_store){0};
}

struct release_history *stores_make_history(const struct connection *connection,
                                            const struct opened_store *opened, struct store *store)
{
    return opened->has_releases ? document_history_new(store)
                                : kube_history_new(&connection->cluster);
}
