/* Reads --state-key and --state-encryption: seal.h. */
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/seal/keys_file.h"
#include "runtimes/seal/keys_kms.h"
#include "runtimes/seal/seeds.h"

#define MOST_SOURCES 8
#define FORMS        "file:DIRECTORY, kms:unix:///PATH, and then identity"

struct sources {
    struct seal_source *list[MOST_SOURCES];
    size_t n;
    bool reads_unsealed;
};

static void sources_done(struct sources *sources)
{
    for (size_t i = 0; i < sources->n; i++)
        sources->list[i]->ops->free(sources->list[i]);
}

static int refuse(const char *word, const char *why, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidFlag", "--state-key: \"%s\" %s", word, why);
}

/* "///run/kms.sock" and "/run/kms.sock" are the same. */
static const char *skip_authority(const char *path)
{
    return str_has_prefix(path, "///") ? path + 2 : path;
}

static int add_source(struct sources *sources, const char *word, const struct clock_source *clock,
                      struct error *error)
{
    static const char file[] = "file:", kms[] = "kms:unix:";
    const char *path;

    if (str_equal(word, "identity")) {
        if (sources->n == 0)
            return refuse(word, "cannot be first: the first source seals (" FORMS ")", error);
        sources->reads_unsealed = true;
        return 0;
    }
    if (sources->n == MOST_SOURCES)
        return refuse(word, "is one source too many: 8 are enough", error);
    if (str_has_prefix(word, file)) {
        path = word + strlen(file);
        if (*path != '/')
            return refuse(word, "needs an absolute path: file:/etc/kusion/keys", error);
        sources->list[sources->n++] = keys_file_new(path);
        return 0;
    }
    if (str_has_prefix(word, kms)) {
        int r;

        path = skip_authority(word + strlen(kms));
        if (path[0] != '/' || path[1] == '/')
            return refuse(word, "needs an absolute path: kms:unix:///run/kms/kms.sock", error);
        r = keys_kms_new(path, clock, &sources->list[sources->n], error);
        sources->n += r >= 0;
        return r;
    }
    return refuse(word, "is none of " FORMS, error);
}

int seal_keys_parse(const char *text, const struct clock_source *clock, struct seal_keys **ret,
                    struct error *error)
{
    _cleanup_(sources_done) struct sources sources = {0};
    const char *at = text;

    for (;;) {
        size_t length = strcspn(at, ",");
        _cleanup_free_ char *word = str_new_n(at, length);
        int r = add_source(&sources, word, clock, error);

        if (r < 0)
            return r;
        at += length;
        if (!*at++)
            break;
    }
    *ret = seal_keys_new(sources.list, sources.n, sources.reads_unsealed, clock);
    sources.n = 0;
    return 0;
}

int seal_scope_parse(const char *text, enum seal_scope *ret, struct error *error)
{
    static const char *const words[] = {
        [SEAL_NONE] = "none", [SEAL_SECRET] = "secret", [SEAL_ALL] = "all"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!str_equal(text, words[i]))
            continue;
        *ret = (enum seal_scope)i;
        return 0;
    }
    return err_set(error, ERR_INVALID, "InvalidFlag",
                   "--state-encryption: \"%s\" is neither none, secret nor all", text);
}
