#include "runtimes/terraform/package/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/package/shelf.h"
#include "runtimes/terraform/plugin/folder.h"

int staging_begin(const char *shelf, struct staging *ret, struct error *error)
{
    _cleanup_free_ char *folder = shelf_template(shelf);
    _cleanup_free_ char *files = NULL;

    if (!mkdtemp(folder))
        return shelf_failed(shelf, strerrordesc_np(errno), error);
    ret->folder = TAKE(folder);
    ret->lock = open(ret->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    files = str_printf("%s/" STAGING_FILES, ret->folder);
    if (ret->lock < 0 || flock(ret->lock, LOCK_EX | LOCK_NB) < 0 || mkdir(files, 0700) < 0 ||
        (ret->files = open(files, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return shelf_failed(shelf, strerrordesc_np(errno), error);
    return 0;
}

void staging_done(struct staging *staging)
{
    folder_remove(staging->folder);
    if (staging->files >= 0)
        close(staging->files);
    if (staging->lock >= 0)
        close(staging->lock);
    *staging = (struct staging)STAGING_INIT;
}
