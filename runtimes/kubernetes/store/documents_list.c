/* Lists of documents, by the labels of their heads: documents_private.h. */
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/store/documents_private.h"

struct listing {
    struct documents *store;
    enum document_kind kind;
    struct strmap found; /* head's name -> struct document_file, which owns the strings */
};

/* Runs on the request loop's thread. A list may return an item twice. */
static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct listing *listing = arg;
    const struct value *metadata = value_get(item, "metadata");
    const struct value *annotations = value_get(metadata, "annotations");
    const char *name = value_get_string(metadata, "name");
    const struct document_name document = {
        listing->kind,
        {value_get_string(annotations, "api.kusion.io/spec-namespace"),
         value_get_string(annotations, "api.kusion.io/spec-name")},
        value_get_string(annotations, "api.kusion.io/item")};
    struct document_file *file = NULL;

    if (document.spec.namespace_name && document.spec.name)
        file = kube_document_new(listing->store, &document);
    if (!file || !str_equal(file->head_name, name)) {
        kube_document_free(file);
        return err_set(
            error, ERR_CORRUPT, DOCUMENT_CORRUPT,
            "ConfigMap %s/%s is damaged: its annotations do not say which document it is",
            listing->store->namespace_name, name);
    }
    kube_document_free(strmap_remove(&listing->found, file->head_name));
    strmap_put(&listing->found, file->head_name, file);
    return 0;
}

static char *heads_selector(enum document_kind kind, const struct spec_key *spec)
{
    struct buf selector = BUF_INIT;

    buf_printf(&selector, KUBE_KIND_LABEL "=%s", document_kind_name(kind));
    if (spec) {
        char name[KUBE_DOCUMENT_NAME_SIZE];

        kube_document_name(&(struct document_name){DOCUMENT_STATE, *spec, NULL}, name);
        buf_printf(&selector, "," KUBE_SPEC_LABEL "=%s", name);
    }
    return buf_take(&selector);
}

int kube_documents_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                        store_on_name *fn, void *arg, const struct store_call *call,
                        struct error *error)
{
    struct documents *store = (struct documents *)base;
    struct listing listing = {.store = store, .kind = kind};
    _cleanup_free_ char *selector = heads_selector(kind, spec);
    int64_t deadline = call->deadline ? call->deadline : CLOCK_FOREVER;
    int r;

    strmap_init(&listing.found);
    r = kube_list(store->client,
                  &(struct kube_list){.ref = {&kube_config_maps, store->namespace_name, NULL, NULL},
                                      .selector = {.labels = selector},
                                      .metadata_only = true,
                                      .wait = {&system_clock, deadline, call->cancel},
                                      .on_item = on_item,
                                      .arg = &listing},
                  NULL, error);
    for (struct strmap_entry *e = NULL; r == 0 && (e = strmap_next(&listing.found, e));)
        r = fn(arg, &((struct document_file *)e->value)->name, error);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&listing.found, e));)
        kube_document_free(e->value);
    strmap_done(&listing.found);
    return r;
}
