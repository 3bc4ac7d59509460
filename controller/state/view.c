#include "controller/state/view.h"

#include <stdlib.h>

#include "engine/base/str.h"
#include "engine/state/codec.h"
#include "engine/store/identity_document.h"
#include "engine/store/names.h"
#include "engine/store/store_error.h"
#include "engine/value/json.h"

static int about(const struct state_side *side, struct error *problem, struct error *error)
{
    store_error_explain(problem, side->place);
    return err_copy(error, problem);
}

static size_t size_of(const struct document *document)
{
    size_t size = document->open.length + document->secret.length;

    for (size_t i = 0; i < document->n_entries; i++)
        size += document->entries[i].length;
    return size;
}

/* ---- The store itself ---- */

static int print_identity(const struct state_side *side, const struct store_call *call,
                          struct buf *to, struct error *error)
{
    _cleanup_(store_identity_done) struct store_identity identity = {0};
    struct error problem = {0};
    int r = store_identity_open(side->base, call, NULL, &identity, &problem);

    if (r < 0)
        return about(side, &problem, error);
    buf_printf(to, "store %s", side->place);
    if (identity.is_damaged)
        buf_add_str(to, ", its identity is damaged");
    else if (identity.copied_from)
        buf_printf(to, ", half a copy from %s", identity.copied_from);
    else if (!identity.term.counter)
        buf_add_str(to, ", no operator has used it yet");
    else
        buf_printf(to, ", id %s, begun %lld times", identity.term.id,
                   (long long)identity.term.counter);
    if (identity.moved_to)
        buf_printf(to, ", moved to %s", identity.moved_to);
    buf_add_str(to, "\n");
    return 0;
}

/* ---- All ---- */

static void print_state(const struct document_name *name, const struct document *document,
                        const struct state *state, struct buf *to)
{
    buf_printf(to, "%s/%s  revision %lld  %zu resources  %zu bytes\n", name->spec.namespace_name,
               name->spec.name, (long long)state_head(state)->revision, state_count(state),
               size_of(document));
}

/* *ret: a State, decoded; NULL: another document. */
static int read_document(const struct state_side *side, const struct document_name *name,
                         const struct store_call *call, struct document *document,
                         struct state **ret, struct error *error)
{
    int r = store_load(side->store, name, call, document, error);

    return r < 0 || name->kind != DOCUMENT_STATE ? r : state_decode(document, ret, error);
}

struct count {
    size_t documents, states, damaged;
};

/* Damage is a line; other failures end it. */
static int view_document(const struct state_side *side, const struct document_name *name,
                         bool prints, const struct store_call *call, struct count *count,
                         struct buf *to, struct error *error)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    int r = read_document(side, name, call, &document, &state, &problem);

    count->documents += r >= 0;
    count->states += r >= 0 && name->kind == DOCUMENT_STATE;
    if (r >= 0 && prints)
        print_state(name, &document, state, to);
    document_done(&document);
    if (r == ERR_CORRUPT) {
        _cleanup_free_ char *text = name_text(name);

        buf_printf(to, "DAMAGED %s: %s\n", text, problem.message);
        count->damaged++;
    }
    return r < 0 && r != ERR_NOT_FOUND && r != ERR_CORRUPT ? about(side, &problem, error) : 0;
}

static int view_kind(const struct state_side *side, enum document_kind kind, bool prints,
                     const struct store_call *call, struct count *count, struct buf *to,
                     struct error *error)
{
    _cleanup_(names_done) struct names names = NAMES_INIT;
    struct error problem = {0};
    int r = names_list(&names, side->store, kind, call, &problem);

    if (r < 0)
        about(side, &problem, error);
    for (size_t i = 0; i < names.count && r >= 0; i++)
        r = view_document(side, &names.items[i], prints, call, count, to, error);
    return r;
}

int state_list(const struct state_side *side, const struct store_call *call, struct buf *to,
               struct error *error)
{
    struct count count = {0};
    int r = print_identity(side, call, to, error);

    return r < 0 ? r : view_kind(side, DOCUMENT_STATE, true, call, &count, to, error);
}

int state_verify(const struct state_side *side, const struct store_call *call, struct buf *to,
                 struct error *error)
{
    struct count count = {0};
    int r = print_identity(side, call, to, error);

    for (enum document_kind kind = 0; kind < DOCUMENT_KINDS && r >= 0; kind++)
        r = kind == DOCUMENT_STORE ? 0 : view_kind(side, kind, false, call, &count, to, error);
    if (r < 0)
        return r;
    buf_printf(to, "%zu documents are whole, %zu of them State; %zu are damaged\n", count.documents,
               count.states, count.damaged);
    return count.damaged ? err_set(error, ERR_CORRUPT, "StateCorrupt", "%zu documents are damaged",
                                   count.damaged)
                         : 0;
}

/* ---- One ---- */

/* As it is stored: JSON in which every sensitive value is null. */
static int print_open(const struct state *state, struct buf *to, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_value_ const struct value *value = NULL;
    int r = state_encode(state, &document, error);

    if (r >= 0)
        r = value_expand(document.open.data, document.open.length, &value, error);
    document_done(&document);
    if (r >= 0)
        json_write(to, value, JSON_PRETTY);
    return r;
}

int state_show(const struct state_side *side, const struct spec_key *spec, bool reveals,
               const struct store_call *call, struct buf *to, struct error *error)
{
    const struct document_name name = {DOCUMENT_STATE, *spec, NULL};
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_value_ const struct value *all = NULL;
    struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    int r = read_document(side, &name, call, &document, &state, &problem);

    document_done(&document);
    if (r >= 0 && !reveals)
        r = print_open(state, to, &problem);
    if (r == ERR_NOT_FOUND)
        return err_set(error, r, "NotFound", "there is no State of %s/%s in %s",
                       spec->namespace_name, spec->name, side->place);
    if (r < 0)
        return about(side, &problem, error);
    if (reveals) {
        all = state_to_value(state);
        json_write(to, all, JSON_PRETTY);
    }
    buf_add_str(to, "\n");
    return 0;
}
