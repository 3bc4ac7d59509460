#include "engine/store/implement.h"

#include <stdlib.h>

#include "engine/base/str.h"

/* ---- Names ---- */

void own_name_set(struct own_name *name, enum document_kind kind)
{
    name->name = (struct document_name){kind, {name->namespace_name, name->spec_name}, name->item};
}

void own_name_copy(struct own_name *to, const struct document_name *from)
{
    to->namespace_name = str_new(from->spec.namespace_name);
    to->spec_name = str_new(from->spec.name);
    to->item = str_new(from->item);
    own_name_set(to, from->kind);
}

void own_name_done(struct own_name *name)
{
    free(name->namespace_name);
    free(name->spec_name);
    free(name->item);
    *name = (struct own_name){0};
}

bool document_name_equal(const struct document_name *a, const struct document_name *b)
{
    return a->kind == b->kind && str_equal(a->item, b->item) &&
           str_equal(a->spec.name, b->spec.name) &&
           str_equal(a->spec.namespace_name, b->spec.namespace_name);
}

bool document_kind_parse(const char *text, enum document_kind *ret)
{
    for (int kind = 0; kind < DOCUMENT_KINDS; kind++)
        if (str_equal(text, document_kind_name((enum document_kind)kind))) {
            *ret = (enum document_kind)kind;
            return true;
        }
    return false;
}

/* ---- Errors ---- */

int store_check_cancel(const struct store_call *call, struct error *error)
{
    if (!cancel_fired(call->cancel))
        return 0;
    return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
}

int store_check_change(enum store_mode mode, const struct store_call *call, struct error *error)
{
    if (mode != STORE_WRITE)
        return err_set(error, ERR_INVALID, NULL, "the document is open for reading only");
    return store_check_cancel(call, error);
}

int store_changed(const struct document_name *name, struct error *error)
{
    return err_set(error, ERR_CONFLICT, STORE_CONFLICT,
                   "%s of %s/%s was changed by another process meanwhile",
                   document_kind_name(name->kind), name->spec.namespace_name, name->spec.name);
}
