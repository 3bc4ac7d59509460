#include "test/unit/runtimes/file/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"

static size_t count;
static const char *wanted_prefix, *wanted_suffix;
static char *found;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int look_at_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    const char *name = path + ftw->base;

    (void)status;
    (void)type;
    count += ftw->level > 0;
    if (!found && wanted_prefix && str_has_prefix(name, wanted_prefix) &&
        str_has_suffix(name, wanted_suffix))
        found = str_new(path);
    return 0;
}

char *folder_new(void)
{
    char *path = str_new("/tmp/kusion-store-XXXXXX");

    if (!mkdtemp(path))
        abort();
    return path;
}

void folder_free(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

size_t folder_count(const char *path)
{
    count = 0;
    wanted_prefix = NULL;
    nftw(path, look_at_one, 16, FTW_PHYS);
    return count;
}

char *folder_find(const char *path, const char *prefix, const char *suffix)
{
    wanted_prefix = prefix;
    wanted_suffix = suffix;
    found = NULL;
    nftw(path, look_at_one, 16, FTW_PHYS);
    return found;
}
