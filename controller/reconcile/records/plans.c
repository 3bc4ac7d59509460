#include "controller/reconcile/records/plans.h"

#include "controller/desk/desk.h"
#include "controller/reconcile/records/context.h"
#include "engine/base/str.h"
#include "engine/state/compress.h"

/* ---- Which there are ---- */

struct listing {
    struct desk *desk;
    store_on_name *fn; /* or NULL */
    void *arg;
};

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    const struct listing *listing = arg;

    if (!name->item)
        return 0;
    desk_note_document(listing->desk, name);
    return listing->fn ? listing->fn(listing->arg, name, error) : 0;
}

int plans_list(const struct reconcile_context *context, const struct store_call *call,
               store_on_name *fn, void *arg, struct error *error)
{
    static const enum document_kind kinds[] = {DOCUMENT_PLAN, DOCUMENT_APPROVAL};
    struct listing listing = {context->desk, fn, arg};
    struct store *store = context->store;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && r >= 0; i++)
        r = store->ops->list(store, kinds[i], NULL, on_name, &listing, call, error);
    if (r >= 0)
        desk_note_listed(context->desk);
    return r;
}

/* What is kept under the Release's name. */
static int find(const struct reconcile_context *context, const struct spec_key *release,
                const struct store_call *call, struct desk_documents *ret, struct error *error)
{
    int r;

    if (desk_documents_of(context->desk, release, ret))
        return 0;
    desk_documents_done(ret);
    r = plans_list(context, call, NULL, NULL, error);
    desk_documents_of(context->desk, release, ret);
    return r;
}

int plans_has(const struct reconcile_context *context, const struct spec_key *release,
              const struct store_call *call, bool *ret, struct error *error)
{
    _cleanup_(desk_documents_done) struct desk_documents documents = {0};
    int r = find(context, release, call, &documents, error);

    *ret = documents.count;
    return r;
}

int plans_find_approval(const struct reconcile_context *context, const struct spec_key *release,
                        const struct store_call *call, char **ret_spec, struct error *error)
{
    _cleanup_(desk_documents_done) struct desk_documents documents = {0};
    int r = find(context, release, call, &documents, error);

    *ret_spec = NULL;
    for (size_t i = 0; i < documents.count && !*ret_spec; i++)
        if (documents.items[i].kind == DOCUMENT_APPROVAL)
            *ret_spec = str_new(documents.items[i].spec);
    return r;
}

/* ---- One document ---- */

int plans_keep(const struct reconcile_context *context, const struct document_name *name,
               const struct value *plan, const struct store_call *call, char **ret_place,
               struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    int r = value_compress(plan, &document.open, error);

    if (r >= 0)
        r = context->store->ops->open(context->store, name, STORE_WRITE, call, &file, error);
    if (r >= 0) {
        desk_note_document(context->desk, name);
        r = store_replace(file, call, &document, error);
    }
    context->store->ops->close(file);
    document_done(&document);
    if (r < 0)
        err_wrap(error, "keeping the plan of Release %s/%s", name->spec.namespace_name, name->item);
    else
        *ret_place = context->store->ops->describe(context->store, name);
    return r;
}

int plans_load(const struct reconcile_context *context, const struct document_name *name,
               const struct store_call *call, const struct value **ret, struct error *error)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    int r = store_load(context->store, name, call, &document, error);

    if (r >= 0)
        r = value_expand(document.open.data, document.open.length, ret, error);
    if (r < 0)
        err_wrap(error, "reading the plan of Release %s/%s", name->spec.namespace_name, name->item);
    return r;
}

/* ---- Dropping ---- */

static int drop(const struct reconcile_context *context, const char *namespace_name,
                const struct desk_document *document, const struct store_call *call,
                struct error *error)
{
    const struct document_name name = {
        document->kind, {namespace_name, document->spec}, document->release};
    int r = store_drop(context->store, &name, call, error);

    if (r >= 0)
        desk_forget_document(context->desk, &name);
    else
        err_wrap(error, "removing the plan of Release %s/%s", namespace_name, document->release);
    return r;
}

int plans_drop_approvals(const struct reconcile_context *context, const struct spec_key *spec,
                         enum approvals_of of, const char *release, const struct store_call *call,
                         struct error *error)
{
    _cleanup_(desk_documents_done) struct desk_documents approvals =
        desk_approvals_of(context->desk, spec);
    int r = 0;

    for (size_t i = 0; i < approvals.count && r >= 0; i++)
        if (str_equal(approvals.items[i].release, release) == (of == APPROVALS_OF))
            r = drop(context, spec->namespace_name, &approvals.items[i], call, error);
    return r;
}

int plans_drop(const struct reconcile_context *context, const struct spec_key *release,
               const struct store_call *call, struct error *error)
{
    _cleanup_(desk_documents_done) struct desk_documents documents = {0};
    int r = find(context, release, call, &documents, error);

    for (size_t i = 0; i < documents.count && r >= 0; i++)
        r = drop(context, release->namespace_name, &documents.items[i], call, error);
    return r;
}
