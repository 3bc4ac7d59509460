/* What a Kusion spec may have, and the operator does not support, or does not know. */

#include "cli/convert/candidate.h"
#include "engine/base/str.h"
#include "engine/spec/import_id.h"

#define REFUSED "is not supported by " KUSION_VERSION ": the operator refuses the Spec"

struct looking {
    const struct candidates *all;
    const struct candidate *candidate;
    const struct place_in *place;
};

static void warn(const struct looking *looking, const char *below, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void warn(const struct looking *looking, const char *below, const char *format, ...)
{
    const char *path = looking->place->path;
    const struct place_in at = {
        looking->place->document,
        arena_printf(looking->all->arena, "%s%s%s", path, *path && *below ? "." : "", below)};
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    findings_add(looking->all->findings, SEVERITY_WARNING, "Unsupported", &at,
                 looking->candidate ? looking->candidate->label : NULL, "%s", text);
}

static void look_at_extensions(const struct looking *looking, bool is_kubernetes)
{
    const struct value *extensions = value_get(looking->candidate->entry, "extensions");
    const struct value *policy = value_get(extensions, "healthPolicy");

    if (!is_kubernetes)
        return;
    if (value_get(policy, "health.kcl") && !value_get(policy, "health.lua"))
        warn(looking, "extensions.healthPolicy[health.kcl]",
             "a health check in KCL " REFUSED "; docs/health.md has the same in Lua");
    if (value_type(value_get(extensions, "kubeConfig")) != VALUE_NULL)
        warn(looking, "extensions.kubeConfig", "kubeConfig " REFUSED);
}

/* Kusion's State has it, and the operator's has not. */
static void look_at_import(const struct looking *looking, const struct convert_source *source)
{
    const struct candidate *candidate = looking->candidate;
    const struct value *extensions = value_get(candidate->entry, "extensions");

    if (!candidate->item->is_entry || candidate->item->head >= source->n_heads ||
        source->heads[candidate->item->head].is_spec ||
        !str_equal(value_get_string(candidate->entry, "type"), "Terraform") ||
        value_get(extensions, IMPORT_ID))
        return;
    warn(looking, "",
         "if Kusion has made it, it needs the extension " IMPORT_ID
         ", else it is created a second time (docs/terraform.md)");
}

void unsupported_check(const struct candidates *all, const struct convert_source *source,
                       bool is_refused_later)
{
    for (size_t i = 0; i < source->n_heads && !is_refused_later; i++) {
        const struct looking looking = {.all = all, .place = &source->heads[i].place};

        const struct value *store = value_get(source->heads[i].fields, "secretStore");

        if (value_count(store) && !value_count(value_get(store, "auth")))
            warn(&looking, source->heads[i].is_spec ? "spec.secretStore" : "secretStore",
                 "secretStore needs `auth` as well: as whom the store is asked (docs/secrets.md)");
    }
    for (size_t i = 0; i < all->count; i++) {
        const struct candidate *candidate = &all->items[i];
        const struct looking looking = {all, candidate, &candidate->item->place};

        if (candidate->is_left_out)
            continue;
        look_at_import(&looking, source);
        if (is_refused_later)
            continue;
        look_at_extensions(&looking,
                           str_equal(value_get_string(candidate->entry, "type"), "Kubernetes"));
    }
}
