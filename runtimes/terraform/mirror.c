#include "runtimes/terraform/mirror.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/str.h"
#include "runtimes/io/close.h"

static bool has_type(const char *path, mode_t type)
{
    struct stat status;

    return stat(path, &status) == 0 && (status.st_mode & S_IFMT) == type;
}

/* "3.7.2" of "terraform-provider-random_3.7.2_linux_amd64.zip"; NULL: it is named otherwise.
 * free(). */
static char *version_of_archive(const char *file, const struct source *source)
{
    _cleanup_free_ char *prefix = str_printf("terraform-provider-%s_", source->name);
    static const char suffix[] = "_" PLATFORM ".zip";
    size_t length = strlen(file);

    if (!str_has_prefix(file, prefix) || !str_has_suffix(file, suffix) ||
        length <= strlen(prefix) + strlen(suffix))
        return NULL;
    return str_new_n(file + strlen(prefix), length - strlen(prefix) - strlen(suffix));
}

/* Takes a version that is newer than the one found so far, or the same, unpacked. */
static void consider(const char *folder, const struct wanted *wanted, const char *name,
                     struct offer *found)
{
    _cleanup_free_ char *packed = version_of_archive(name, wanted->source);
    _cleanup_free_ char *path =
        packed ? str_printf("%s/%s", folder, name) : str_printf("%s/%s/" PLATFORM, folder, name);
    const char *version = packed ? packed : name;

    if (!wanted_matches(wanted, version) || !has_type(path, packed ? S_IFREG : S_IFDIR))
        return;
    if (!wanted_is_newer(version, found->version) &&
        (packed || !str_equal(version, found->version)))
        return;
    offer_done(found);
    found->version = str_new(version);
    *(packed ? &found->archive : &found->folder) = TAKE(path);
}

int mirror_find(const char *folder, const struct wanted *wanted, struct offer *ret,
                struct error *error)
{
    _cleanup_free_ char *versions = str_printf("%s/%s", folder, wanted->source->address);
    _cleanup_(close_folder_p) DIR *entries = opendir(versions);
    struct offer found = {0};
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        consider(versions, wanted, entry->d_name, &found);
    if (!found.version)
        return wanted_not_found(wanted, "the folder of --terraform-plugin-dir", error);
    *ret = found;
    return 0;
}
