#include "test/runtime/things.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/value/json.h"

#define MODE_FOLDER 0755
#define MODE_LOG    0644

static void close_p(FILE **file)
{
    if (*file)
        fclose(*file);
}

static int failed(const char *path, struct error *error)
{
    char text[128];

    return err_set(error, ERR_UNAVAILABLE, NULL, "%s: %s", path,
                   strerror_r(errno, text, sizeof(text)));
}

static int read_text(const char *path, struct buf *to, struct error *error)
{
    _cleanup_(close_p) FILE *file = fopen(path, "re");
    char bytes[4096];
    size_t n;

    if (!file && errno == ENOENT)
        return err_set(error, ERR_NOT_FOUND, NULL, "%s is not there", path);
    if (!file)
        return failed(path, error);
    while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
        buf_add(to, bytes, n);
    return ferror(file) ? failed(path, error) : 0;
}

int things_init(const char *directory, struct error *error)
{
    _cleanup_free_ char *things = str_printf("%s/things", directory);

    if (mkdir(things, MODE_FOLDER) < 0 && errno != EEXIST)
        return failed(things, error);
    return 0;
}

int thing_new_id(char ret[THING_ID_SIZE], struct error *error)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return failed("random numbers", error);
    snprintf(ret, THING_ID_SIZE, "%016llx", (unsigned long long)number);
    return 0;
}

static char *path_of(const char *directory, const char *id)
{
    return str_printf("%s/things/%s.json", directory, id);
}

int thing_read(const char *directory, const char *id, const struct value **ret, struct error *error)
{
    _cleanup_free_ char *path = path_of(directory, id);
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r = read_text(path, &text, error);

    return r < 0 ? r : json_read(text.data, text.length, ret, error);
}

int thing_write(const char *directory, const struct value *thing, struct error *error)
{
    _cleanup_free_ char *path = path_of(directory, value_get_string(thing, "id"));
    _cleanup_free_ char *unfinished = str_printf("%s.new", path);
    _cleanup_(close_p) FILE *file = fopen(unfinished, "we");
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (!file)
        return failed(unfinished, error);
    json_write(&text, thing, JSON_COMPACT);
    if (fwrite(text.data, 1, text.length, file) != text.length || fflush(file) != 0 ||
        rename(unfinished, path) < 0)
        return failed(path, error);
    return 0;
}

int thing_remove(const char *directory, const char *id, struct error *error)
{
    _cleanup_free_ char *path = path_of(directory, id);

    return unlink(path) < 0 && errno != ENOENT ? failed(path, error) : 0;
}

void things_log(const char *directory, const char *verb, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/log", directory);
    _cleanup_free_ char *line = str_printf("%s %s\n", verb, name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, MODE_LOG);

    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        abort(); /* tests rely on the log */
    close(fd);
}

bool things_hurry(const char *directory)
{
    _cleanup_free_ char *path = str_printf("%s/hurry", directory);

    return access(path, F_OK) == 0;
}

bool things_have_fault(const char *directory, const char *name, const char *fault)
{
    _cleanup_free_ char *path = str_printf("%s/faults/%s", directory, name);
    _cleanup_buf_ struct buf text = BUF_INIT;

    return read_text(path, &text, NULL) >= 0 && str_equal(text.data, fault);
}
