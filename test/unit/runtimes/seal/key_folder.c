#include "test/unit/runtimes/seal/key_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/suite.h"

char *key_folder_new(void)
{
    char *path = str_new("/tmp/test-keys-XXXXXX");

    if (!mkdtemp(path))
        abort();
    key_folder_add(path, "k1", 1);
    key_folder_add(path, "k2", 2);
    key_folder_use(path, "k1");
    return path;
}

void key_folder_free(char *path)
{
    DIR *folder = opendir(path);

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        _cleanup_free_ char *file = str_printf("%s/%s", path, entry->d_name);

        unlink(file);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
    free(path);
}

/* By a new file that is renamed into place, as kubelet does it. */
void key_folder_write(const char *path, const char *name, const void *bytes, size_t length,
                      unsigned mode)
{
    _cleanup_free_ char *file = str_printf("%s/%s", path, name);
    _cleanup_free_ char *new = str_printf("%s/..new", path);
    int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || fchmod(fd, mode) < 0)
        abort();
    close(fd);
    if (rename(new, file) < 0)
        abort();
}

void key_folder_add(const char *path, const char *name, int value)
{
    unsigned char key[32];

    memset(key, value, sizeof(key));
    key_folder_write(path, name, key, sizeof(key), 0440);
}

void key_folder_remove(const char *path, const char *name)
{
    _cleanup_free_ char *file = str_printf("%s/%s", path, name);

    unlink(file);
}

void key_folder_use(const char *path, const char *name)
{
    _cleanup_free_ char *line = str_printf("%s\n", name);

    key_folder_write(path, "current", line, strlen(line), 0444);
}

struct seal_keys *key_folder_keys(const char *path, const char *more)
{
    _cleanup_free_ char *text = str_printf("file:%s%s", path, more);
    struct seal_keys *keys = NULL;
    struct error error = {0};

    EXPECT_INT(seal_keys_parse(text, &system_clock, &keys, &error), 0, error.message);
    if (!keys)
        abort();
    return keys;
}
