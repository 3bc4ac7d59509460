#include "test/unit/runtimes/kubernetes/store/served.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/list.h"
#include "test/unit/suite.h"

static const struct store_call plain;

struct store *served_attach(void *arg)
{
    struct live *live = arg;

    return kube_documents_new(&(struct kube_documents_config){
        .cluster = {live->harness.client, NULL}, .namespace_name = live->space, .effect_time = 1});
}

static void open_file(struct served *scene)
{
    EXPECT_INT(scene->store->ops->open(scene->store, &scene->name, STORE_WRITE, &plain,
                                       &scene->file, &scene->error),
               0, "open");
}

static void close_store(struct served *scene)
{
    scene->store->ops->close(scene->file);
    scene->store->ops->free(scene->store);
}

void served_start_again(struct served *scene)
{
    struct document document = DOCUMENT_INIT;

    close_store(scene);
    scene->store = served_attach(&scene->live);
    open_file(scene);
    scene->store->ops->read(scene->file, &plain, &document, NULL);
    document_done(&document);
}

void served_run(void (*test)(struct served *scene), bool (*start)(struct live *live))
{
    struct served scene = {.name = {DOCUMENT_STATE, {"team", "web"}, NULL}};

    if (!start(&scene.live))
        return;
    scene.store = served_attach(&scene.live);
    kube_document_name(&scene.name, scene.head);
    open_file(&scene);
    test(&scene);
    close_store(&scene);
    live_stop(&scene.live);
}

void served_fill(struct buf *to, size_t length, unsigned seed)
{
    uint32_t state = seed + 1;

    while (length--) {
        state = state * 1664525 + 1013904223;
        buf_add_char(to, (char)(state >> 24));
    }
}

int served_write(struct served *scene, size_t open, size_t secret, unsigned seed)
{
    struct document document = DOCUMENT_INIT;
    int r;

    served_fill(&document.open, open, seed);
    served_fill(&document.secret, secret, seed + 1);
    err_clear(&scene->error);
    r = scene->store->ops->write(scene->file, &plain, &document, &scene->error);
    document_done(&document);
    return r;
}

int served_append(struct served *scene, const char *text)
{
    err_clear(&scene->error);
    return scene->store->ops->append(scene->file, &plain, text, strlen(text), &scene->error);
}

int served_read(struct served *scene)
{
    struct document document = DOCUMENT_INIT;
    int r;

    err_clear(&scene->error);
    r = scene->store->ops->read(scene->file, &plain, &document, &scene->error);
    document_done(&document);
    return r;
}

struct task served_task(struct served *scene)
{
    return (struct task){(struct documents *)scene->store, &plain,
                         system_clock.monotonic(&system_clock) + 60000};
}

/* ---- What is there ---- */

struct names {
    char *items[64];
    size_t count;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
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

/* Of one document (its head's name), or of all (NULL). */
static void list_names(struct live *live, const char *collection, const char *head,
                       struct names *ret)
{
    _cleanup_free_ char *labels =
        str_printf(KUBE_DOCUMENT_LABEL "%s%s", head ? "=" : "", head ? head : "");
    const struct kube_kind *kind =
        str_equal(collection, SERVED_MAPS) ? &kube_config_maps : &kube_secrets;
    struct kube_list list = {.ref = {kind, live->space, NULL, NULL},
                             .selector = {.labels = labels},
                             .on_item = add_name,
                             .arg = ret};

    *ret = (struct names){0};
    EXPECT_INT(kube_list(live->harness.client, &list, NULL, NULL), 0, labels);
}

size_t served_count(struct served *scene, const char *collection)
{
    _cleanup_(names_done) struct names names;

    list_names(&scene->live, collection, NULL, &names);
    return names.count;
}

char *served_find(struct live *live, const char *collection, const char *head, const char *text)
{
    _cleanup_(names_done) struct names names;

    list_names(live, collection, head, &names);
    for (size_t i = 0; i < names.count; i++)
        if (strstr(names.items[i], text))
            return str_new(names.items[i]);
    return NULL;
}
