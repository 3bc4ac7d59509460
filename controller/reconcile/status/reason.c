#include "controller/reconcile/status/reason.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/cleanup.h"

static const struct reason {
    const char *name;
    unsigned traits; /* of enum reason_trait */
} reasons[] = {
#define REASON(name, traits) {#name, traits},
#include "controller/reconcile/status/reason.def"
#undef REASON
};

static int compare_names(const void *name, const void *reason)
{
    return strcmp(name, ((const struct reason *)reason)->name);
}

/* NULL: it is unknown. */
static const struct reason *find_reason(const char *name)
{
    return !name ? NULL
                 : bsearch(name, reasons, ARRAY_SIZE(reasons), sizeof(*reasons), compare_names);
}

bool reason_has(const char *reason, enum reason_trait trait)
{
    const struct reason *known = find_reason(reason);

    return known && known->traits & trait;
}

const char *reason_label(const char *reason)
{
    const struct reason *known = find_reason(reason);

    return known ? known->name : "Other";
}
