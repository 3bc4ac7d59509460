#include "runtimes/terraform/package/hash.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define H1 "h1:"
#define ZH "zh:"

struct line {
    char *path;
    char sha256[HASH_HEX_SIZE];
};

struct package_hash {
    struct line *lines;
    size_t count, capacity;
};

struct package_hash *package_hash_new(void)
{
    return NEW(struct package_hash);
}

void package_hash_add(struct package_hash *hash, const char *path, const char sha256[HASH_HEX_SIZE])
{
    struct line *line;

    hash->lines = mem_grow(hash->lines, hash->count, &hash->capacity, sizeof(*hash->lines));
    line = &hash->lines[hash->count++];
    line->path = str_new(path);
    memcpy(line->sha256, sha256, HASH_HEX_SIZE);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->path, ((const struct line *)b)->path);
}

void package_hash_finish(struct package_hash *hash, char ret[PACKAGE_H1_SIZE])
{
    struct hash *whole = hash_new();
    _cleanup_buf_ struct buf text = BUF_INIT;
    unsigned char digest[HASH_SIZE];

    if (hash->count)
        qsort(hash->lines, hash->count, sizeof(*hash->lines), by_path);
    for (size_t i = 0; i < hash->count; i++) {
        _cleanup_free_ char *line =
            str_printf("%s  %s\n", hash->lines[i].sha256, hash->lines[i].path);

        hash_add(whole, line, strlen(line));
    }
    hash_finish(whole, digest);
    hash_free(whole);
    buf_add_str(&text, H1);
    base64_encode(&text, digest, sizeof(digest));
    str_copy(ret, PACKAGE_H1_SIZE, text.data);
}

void package_hash_free(struct package_hash *hash)
{
    if (!hash)
        return;
    for (size_t i = 0; i < hash->count; i++)
        free(hash->lines[i].path);
    free(hash->lines);
    free(hash);
}

bool package_hash_is_valid(const char *text)
{
    _cleanup_buf_ struct buf digest = BUF_INIT;

    if (str_has_prefix(text, ZH))
        return hash_is_hex(text + strlen(ZH));
    return str_has_prefix(text, H1) && strlen(text) == PACKAGE_H1_SIZE - 1 &&
           base64_decode(&digest, text + strlen(H1), strlen(text) - strlen(H1)) &&
           digest.length == HASH_SIZE;
}

static bool is_one(const char *text, size_t length, const char *h1, const char *zh)
{
    _cleanup_free_ char *one = str_new_n(text, length);

    return str_equal(one, h1) || (zh && str_has_prefix(one, ZH) && str_equal(one + strlen(ZH), zh));
}

bool package_hash_is_listed(const char *list, const char *h1, const char *zh)
{
    static const char between[] = " ,\t\n";

    for (const char *at = list; at && *(at += strspn(at, between));) {
        size_t length = strcspn(at, between);

        if (is_one(at, length, h1, zh))
            return true;
        at += length;
    }
    return false;
}
