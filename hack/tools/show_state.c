/* Prints the State of a Spec as JSON. hack/state is its script, and says how to use it. */
#include <stdio.h>
#include <string.h>

#include "controller/backends.h"
#include "engine/base/json.h"
#include "engine/state/codec.h"

/* The open part as it is stored: JSON in which every sensitive value is null. */
static int print_open(const struct state *state, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r = state_encode(state, &document, error);

    if (r >= 0)
        r = value_expand(document.open.data, document.open.length, &value, error);
    document_done(&document);
    if (r < 0)
        return r;
    json_write(&text, value, JSON_PRETTY);
    printf("%s\n", text.data);
    return 0;
}

static int print_state(const struct document *document, const char *place, struct error *error)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    int r = state_decode(document, &state, error);

    fprintf(stderr, "%s: %zu bytes, %zu of them secret, and %zu entries\n", place,
            document->open.length + document->secret.length, document->secret.length,
            document->n_entries);
    return r < 0 ? r : print_open(state, error);
}

static int show(struct store *store, const struct document_name *name, struct error *error)
{
    static const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    _cleanup_free_ char *place = store->ops->describe(store, name);
    int r = store_load(store, name, &call, &document, error);

    if (r >= 0)
        r = print_state(&document, place, error);
    else if (r == ERR_NOT_FOUND)
        err_set(error, r, "NotFound", "there is no State of %s/%s (%s)", name->spec.namespace_name,
                name->spec.name, place);
    document_done(&document);
    return r;
}

static int run(const struct flags *flags, const struct document_name *name, struct error *error)
{
    struct connection connection = {0};
    struct backends backends = {0};
    int r = connection_init(&connection, flags, error);

    if (r >= 0)
        r = connection_open(&connection, NULL, NULL, error);
    if (r >= 0)
        r = backends_init(&backends, &connection, error);
    if (r >= 0)
        r = show(backends.opened.store, name, error);
    backends_done(&backends);
    connection_done(&connection);
    return r;
}

/* "NAMESPACE/NAME", last, after flags of the operator. */
int main(int argc, char **argv)
{
    struct document_name name = {.kind = DOCUMENT_STATE};
    struct error error = {0};
    struct flags flags;
    char *slash = argc > 1 ? strchr(argv[argc - 1], '/') : NULL;

    if (!slash || flags_parse(argc - 1, argv, &flags, &error) < 0) {
        fprintf(stderr, "state: %s\n", slash ? error.message : "say NAMESPACE/NAME of a Spec");
        return 2;
    }
    *slash = '\0';
    name.spec = (struct spec_key){argv[argc - 1], slash + 1};
    if (run(&flags, &name, &error) == 0)
        return 0;
    fprintf(stderr, "state: %s: %s\n", error.reason, error.message);
    return 1;
}
