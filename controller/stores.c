#include "controller/stores.h"

#include <ctype.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "runtimes/file/store.h"
#include "runtimes/kubernetes/documents.h"
#include "runtimes/kubernetes/history.h"

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

/* One row for each type. A store on a server has its Releases with it, and describes its place
 * without what may be a password. */
static const struct store_type {
    const char *name;
    const char *form; /* for messages */
    int (*open)(const struct connection *connection, const struct place *place, struct store **ret,
                struct error *error);
    char *(*describe)(const struct connection *connection, const struct place *place);
    bool has_releases;
    bool needs_cluster;
} types[] = {
    {"configmap", "configmap", open_configmaps, describe_configmaps, false, true},
    {"kubernetes", NULL, open_configmaps, describe_configmaps, false, true}, /* its name before */
    {"file", "file:FOLDER", open_files, describe_text, true, false},
};

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
    *ret_needs_cluster = type->needs_cluster;
    return 0;
}

int stores_open(const struct connection *connection, const char *flag, const char *text,
                struct opened_store *ret, struct error *error)
{
    struct place place;
    const struct store_type *type = find_type(text, &place);
    struct error problem = {0};

    *ret = (struct opened_store){0};
    if (!type)
        return refuse(flag, text, error);
    if (type->open(connection, &place, &ret->store, &problem) < 0) {
        err_wrap(&problem, "%s: %s", flag, type->name);
        return err_copy(error, &problem);
    }
    ret->base = ret->store;
    ret->place = type->describe(connection, &place);
    ret->has_releases = type->has_releases;
    return 0;
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
