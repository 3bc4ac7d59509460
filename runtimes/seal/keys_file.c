#include "runtimes/seal/keys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/close.h"
#include "runtimes/seal/cipher.h"
#include "runtimes/seal/seal.h"

#define CURRENT   "current"
#define MOST_NAME 253 /* bytes of a key's name, as of a Secret's keys */

struct file_source {
    struct seal_source base;
    char *directory;
};

/* ---- Names ---- */

static bool is_name(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && length <= MOST_NAME && text[0] != '.' && !str_equal(text, CURRENT) &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0';
}

/* ---- Files ---- */

static int open_file(const char *path, int *ret, struct error *error)
{
    char text[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && errno == ENOENT)
        return err_set(error, ERR_UNAVAILABLE, SEAL_MISSING, "%s is missing", path);
    if (fd < 0)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "opening %s: %s", path,
                       strerror_r(errno, text, sizeof(text)));
    *ret = fd;
    return 0;
}

/* Reads a file of at most `size` bytes, of which one is to spare. */
static int read_file(const char *path, void *ret, size_t size, size_t *ret_length,
                     struct stat *ret_info, struct error *error)
{
    _cleanup_(close_fd_p) int fd = -1;
    char text[128];
    size_t length = 0;
    ssize_t n = 1;
    int r = open_file(path, &fd, error);

    if (r < 0)
        return r;
    if (fstat(fd, ret_info) < 0 || !S_ISREG(ret_info->st_mode))
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "%s is no file", path);
    while (n != 0 && length < size) {
        n = read(fd, (char *)ret + length, size - length);
        if (n < 0 && errno != EINTR)
            return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "reading %s: %s", path,
                           strerror_r(errno, text, sizeof(text)));
        length += n > 0 ? (size_t)n : 0;
    }
    *ret_length = length;
    return 0;
}

static int check_key(const char *path, size_t length, const struct stat *info, struct error *error)
{
    if (info->st_mode & S_IRWXO)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "%s is open to everybody (mode %04o): a key file has the mode 0400 or 0440; "
                       "of a mounted Secret it is the volume's defaultMode",
                       path, (unsigned)info->st_mode & 07777);
    if (length != SEAL_SEED_SIZE)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "%s has %lld bytes: a key is %d random bytes, as they are and not as text",
                       path, (long long)info->st_size, SEAL_SEED_SIZE);
    return 0;
}

/* name: is_name(). */
static int read_key(const struct file_source *source, const char *name,
                    unsigned char ret[SEAL_SEED_SIZE], struct error *error)
{
    _cleanup_free_ char *path = str_printf("%s/%s", source->directory, name);
    unsigned char bytes[SEAL_SEED_SIZE + 1];
    struct stat info;
    size_t length;
    int r = read_file(path, bytes, sizeof(bytes), &length, &info, error);

    if (r >= 0)
        r = check_key(path, length, &info, error);
    if (r >= 0)
        memcpy(ret, bytes, SEAL_SEED_SIZE);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return r;
}

static int read_current(const struct file_source *source, char **ret, struct error *error)
{
    _cleanup_free_ char *path = str_printf("%s/" CURRENT, source->directory);
    char text[MOST_NAME + 3] = "";
    struct stat info;
    size_t length;
    int r = read_file(path, text, sizeof(text) - 1, &length, &info, error);

    if (r == ERR_UNAVAILABLE && error && str_equal(error->reason, SEAL_MISSING))
        err_wrap(error, "the folder of keys does not say which one seals (a file \"" CURRENT
                        "\" with the key's name)");
    if (r < 0)
        return r;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    if (strlen(text) != length || !is_name(text)) {
        _cleanup_free_ char *shown = utf8_show(text);

        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "%s has \"%s\": it is to have the name of a key file and nothing else", path,
                       shown);
    }
    *ret = str_new(text);
    return 0;
}

static int read_current_key(const struct file_source *source, char **ret_name,
                            unsigned char ret[SEAL_SEED_SIZE], struct error *error)
{
    _cleanup_free_ char *name = NULL;
    struct error failure = {0};
    int r = read_current(source, &name, &failure);

    if (r >= 0) {
        r = read_key(source, name, ret, &failure);
        if (r < 0)
            err_wrap(&failure, "the key that seals, \"%s\"", name);
    }
    if (r < 0)
        return err_copy(error, &failure);
    *ret_name = TAKE(name);
    return 0;
}

/* ---- The table ---- */

static void file_free(struct seal_source *base)
{
    struct file_source *source = (struct file_source *)base;

    free(source->directory);
    free(source);
}

/* The name, and a digest of the key: another key under the same name is another key. */
static int file_current(struct seal_source *base, const struct store_call *call, char **ret,
                        struct error *error)
{
    _cleanup_free_ char *name = NULL;
    unsigned char key[SEAL_SEED_SIZE];
    char digest[HASH_HEX_SIZE];
    int r = read_current_key((struct file_source *)base, &name, key, error);

    (void)call;
    if (r < 0)
        return r;
    hash_hex(key, sizeof(key), digest);
    OPENSSL_cleanse(key, sizeof(key));
    *ret = str_printf("%s %s", name, digest);
    return 0;
}

static int file_wrap(struct seal_source *base, const struct store_call *call,
                     const unsigned char seed[SEAL_SEED_SIZE], struct seal_wrapped *ret,
                     struct error *error)
{
    unsigned char key[SEAL_SEED_SIZE], wrapped[CIPHER_WRAPPED_SIZE];
    int r = read_current_key((struct file_source *)base, &ret->key_id, key, error);

    (void)call;
    if (r < 0)
        return r;
    cipher_wrap(key, seed, wrapped);
    OPENSSL_cleanse(key, sizeof(key));
    ret->provider = str_new(base->ops->provider);
    buf_add(&ret->bytes, wrapped, sizeof(wrapped));
    return 0;
}

static int file_unwrap(struct seal_source *base, const struct store_call *call,
                       const struct seal_wrapped *wrapped, unsigned char ret_seed[SEAL_SEED_SIZE],
                       struct error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    unsigned char key[SEAL_SEED_SIZE];
    bool is_right;
    int r;

    (void)call;
    if (!is_name(wrapped->key_id) || wrapped->bytes.length != CIPHER_WRAPPED_SIZE) {
        _cleanup_free_ char *shown = utf8_show(wrapped->key_id);

        return err_set(error, ERR_UNAVAILABLE, SEAL_MISSING,
                       "it names the key \"%s\", of which %s can have no file", shown,
                       source->directory);
    }
    r = read_key(source, wrapped->key_id, key, error);
    if (r < 0) {
        err_wrap(error, "its key \"%s\"", wrapped->key_id);
        return r;
    }
    is_right = cipher_unwrap(key, (const unsigned char *)wrapped->bytes.data, ret_seed);
    OPENSSL_cleanse(key, sizeof(key));
    if (!is_right)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "the key %s/%s does not open it: the file has another key than when it was "
                       "sealed, or its head is damaged",
                       source->directory, wrapped->key_id);
    return 0;
}

struct seal_source *keys_file_new(const char *directory)
{
    static const struct seal_source_ops ops = {"file", file_free, file_current, file_wrap,
                                               file_unwrap};
    struct file_source *source = NEW(struct file_source);

    source->base.ops = &ops;
    source->directory = str_new(directory);
    return &source->base;
}
