#include "runtimes/terraform/mirror.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/version.h"

#if defined(__x86_64__)
#define PLATFORM "linux_amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux_arm64"
#else
#error "this platform has no name in mirrors yet"
#endif

static void close_p(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

/* The first name in the folder that begins so; NULL: none. free(). */
static char *find_program(const char *folder, const char *prefix)
{
    _cleanup_(close_p) DIR *entries = opendir(folder);
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (str_has_prefix(entry->d_name, prefix)) {
            _cleanup_free_ char *path = str_printf("%s/%s", folder, entry->d_name);

            if (access(path, X_OK) == 0)
                return TAKE(path);
        }
    return NULL;
}

/* Takes a version that is newer than the one found so far. */
static void consider(const char *folder, const struct source *source, const char *name,
                     const char *constraint, struct mirror_found *found)
{
    _cleanup_free_ char *inside = str_printf("%s/%s/" PLATFORM, folder, name);
    _cleanup_free_ char *prefix = str_printf("terraform-provider-%s", source->name);
    _cleanup_free_ char *program = NULL;
    struct version version, best;
    bool is_any = !source->version && !constraint;

    if (!version_read(name, &version) || (is_any && *version.suffix) ||
        !version_matches(&version, source->version) || !version_matches(&version, constraint))
        return;
    if (found->version && version_read(found->version, &best) &&
        version_compare(&version, &best) <= 0)
        return;
    program = find_program(inside, prefix);
    if (!program)
        return;
    mirror_found_done(found);
    *found = (struct mirror_found){.version = str_new(name), .program = TAKE(program)};
}

int mirror_find(const char *folder, const struct source *source, const char *constraint,
                struct mirror_found *ret, struct error *error)
{
    _cleanup_free_ char *versions = str_printf("%s/%s", folder, source->address);
    _cleanup_(close_p) DIR *entries = opendir(versions);
    _cleanup_(mirror_found_done) struct mirror_found found = {0};
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        consider(versions, source, entry->d_name, constraint, &found);
    if (!found.program)
        return err_set(error, ERR_NOT_FOUND, "ProviderNotFound",
                       "the folder of --terraform-plugin-dir has no provider %s for " PLATFORM
                       "%s%s%s%s",
                       source->shown, source->version || constraint ? " that matches " : "",
                       source->version ? source->version : "",
                       source->version && constraint ? ", " : "", constraint ? constraint : "");
    *ret = found;
    found = (struct mirror_found){0};
    return 0;
}

void mirror_found_done(struct mirror_found *found)
{
    free(found->version);
    free(found->program);
    *found = (struct mirror_found){0};
}
