#include "runtimes/terraform/wanted.h"

#include "engine/base/buf.h"
#include "runtimes/terraform/version.h"

bool wanted_matches(const struct wanted *wanted, const char *text)
{
    bool is_any = true;
    struct version version;

    if (!version_read(text, &version))
        return false;
    for (size_t i = 0; i < WANTED_CONSTRAINTS; i++) {
        if (!version_matches(&version, wanted->constraints[i]))
            return false;
        is_any = is_any && !wanted->constraints[i];
    }
    return !is_any || !*version.suffix;
}

bool wanted_is_newer(const char *version, const char *best)
{
    struct version a, b;

    return version_read(version, &a) &&
           (!best || !version_read(best, &b) || version_compare(&a, &b) > 0);
}

int wanted_not_found(const struct wanted *wanted, const char *where, struct error *error)
{
    _cleanup_buf_ struct buf constraints = BUF_INIT;

    for (size_t i = 0; i < WANTED_CONSTRAINTS; i++)
        if (wanted->constraints[i])
            buf_printf(&constraints, "%s%s", constraints.length ? ", " : " that matches ",
                       wanted->constraints[i]);
    return err_set(error, ERR_NOT_FOUND, "ProviderNotFound",
                   "%s has no provider %s for " PLATFORM "%s", where, wanted->source->shown,
                   constraints.data);
}

void offer_done(struct offer *offer)
{
    free(offer->version);
    free(offer->folder);
    free(offer->archive);
    free(offer->url);
    free(offer->zh);
    free(offer->hashes);
    *offer = (struct offer){0};
}
