/* Functions that all stores share: engine/store.h. */
#include "engine/store.h"

#include <stdlib.h>

static const char *const kinds[DOCUMENT_KINDS] = {
    [DOCUMENT_STATE] = "state", [DOCUMENT_OUTCOME] = "outcome",
    [DOCUMENT_PLAN] = "plan",   [DOCUMENT_APPROVAL] = "approval",
    [DOCUMENT_SPEC] = "spec",   [DOCUMENT_RELEASE] = "release",
};

const char *document_kind_name(enum document_kind kind)
{
    return kinds[kind];
}

void document_done(struct document *document)
{
    buf_done(&document->open);
    buf_done(&document->secret);
    for (size_t i = 0; i < document->n_entries; i++)
        buf_done(&document->entries[i]);
    free(document->entries);
    document->entries = NULL;
    document->n_entries = 0;
}
