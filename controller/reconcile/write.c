#include "controller/reconcile/write.h"

#include "controller/core/finalizer.h"
#include "controller/core/thread.h"
#include "controller/reconcile/api.h"
#include "engine/base/mem.h"

struct spec_write {
    const struct reconcile_context *context;
    struct cancel *cancel;
    const struct value *metadata; /* before it, then after it */
    const struct value *status;   /* NULL: the finalizer */
    pthread_t thread;
    struct error error;
};

static void *run(void *arg)
{
    struct spec_write *write = arg;
    const char *namespace_name = value_get_string(write->metadata, "namespace");
    const char *name = value_get_string(write->metadata, "name");
    _cleanup_free_ char *path =
        api_spec_path(namespace_name, name, write->status ? "status" : NULL);

    if (write->status)
        api_put_status(write->context, path, "Spec", &write->metadata, write->status,
                       &write->error);
    else
        finalizer_add(write->context->client, path, "Spec", &write->metadata, write->cancel,
                      &write->error);
    return NULL;
}

static struct spec_write *begin(const struct spec_write *as)
{
    struct spec_write *write = NEW(struct spec_write);

    *write = *as;
    value_ref(write->metadata);
    value_ref(write->status);
    write->thread = thread_start("spec-write", run, write);
    return write;
}

struct spec_write *spec_write_finalizer(const struct reconcile_context *context,
                                        const struct value *metadata, struct cancel *cancel)
{
    return begin(&(struct spec_write){.context = context, .metadata = metadata, .cancel = cancel});
}

struct spec_write *spec_write_status(const struct reconcile_context *context,
                                     const struct value *metadata, const struct value *status)
{
    return begin(&(struct spec_write){.context = context, .metadata = metadata, .status = status});
}

int spec_write_end(struct spec_write *write, const struct value **ret_metadata, struct error *error)
{
    int r;

    pthread_join(write->thread, NULL);
    r = write->error.code ? err_copy(error, &write->error) : 0;
    *ret_metadata = write->metadata;
    value_unref(write->status);
    free(write);
    return r;
}
