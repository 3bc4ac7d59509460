#include "runtimes/terraform/registry.h"

#include <string.h>

#include "engine/base/str.h"

static int bad_answer(const char *address, const char *what, struct error *error)
{
    return err_set(error, ERR_INVALID, REMOTE_FAILED, "%s: %s", address, what);
}

/* An address in an answer. *ret: free(). */
static int resolve(const struct remote_answer *answer, const char *key, char **ret,
                   struct error *error)
{
    const char *text = value_get_string(answer->json, key);
    _cleanup_(http_url_done) struct http_url url = {0};
    int r;

    if (!text) {
        _cleanup_free_ char *what = str_printf("%s is missing", key);

        return bad_answer(answer->url, what, error);
    }
    r = remote_read_url(answer->url, text, &url, error);
    if (r < 0)
        err_wrap(error, "%s: %s", answer->url, key);
    else
        *ret = TAKE(url.whole);
    return r;
}

/* ---- Where its providers are ---- */

/* *ret: ends with a slash; free(). */
static int discover(struct remote *remote, const char *host, struct cancel *cancel, char **ret,
                    struct error *error)
{
    _cleanup_free_ char *address = str_printf("https://%s/.well-known/terraform.json", host);
    _cleanup_(remote_answer_done) struct remote_answer answer = {0};
    _cleanup_free_ char *found = NULL;
    int r = remote_get_json(remote, address, cancel, &answer, error);

    if (r == ERR_NOT_FOUND)
        return bad_answer(address, "the host is no registry of providers", error);
    if (r >= 0)
        r = resolve(&answer, "providers.v1", &found, error);
    if (r >= 0)
        *ret = str_printf("%s%s", found, str_has_suffix(found, "/") ? "" : "/");
    return r;
}

/* ---- Versions ---- */

/* NULL: the registry does not say, and then 5 was meant. */
static bool speaks_ours(const struct value *protocols)
{
    if (!value_count(protocols))
        return true;
    for (size_t i = 0; i < value_count(protocols); i++) {
        const char *protocol = value_string(value_at(protocols, i));

        if (protocol && (*protocol == '5' || *protocol == '6') &&
            (!protocol[1] || protocol[1] == '.'))
            return true;
    }
    return false;
}

static bool is_for_us(const struct value *platforms)
{
    for (size_t i = 0; i < value_count(platforms); i++) {
        const struct value *platform = value_at(platforms, i);

        if (str_equal(value_get_string(platform, "os"), PLATFORM_OS) &&
            str_equal(value_get_string(platform, "arch"), PLATFORM_ARCH))
            return true;
    }
    return false;
}

/* Borrowed; NULL: none will do. */
static const char *choose(const struct value *versions, const struct wanted *wanted)
{
    const char *best = NULL;

    for (size_t i = 0; value_is(versions, VALUE_ARRAY) && i < value_count(versions); i++) {
        const struct value *one = value_at(versions, i);
        const char *version = value_get_string(one, "version");

        if (version && wanted_matches(wanted, version) && wanted_is_newer(version, best) &&
            is_for_us(value_get(one, "platforms")) && speaks_ours(value_get(one, "protocols")))
            best = version;
    }
    return best;
}

static int find_version(struct remote *remote, const char *provider, const struct wanted *wanted,
                        struct cancel *cancel, char **ret, struct error *error)
{
    _cleanup_free_ char *address = str_printf("%s/versions", provider);
    _cleanup_(remote_answer_done) struct remote_answer answer = {0};
    int r = remote_get_json(remote, address, cancel, &answer, error);

    if (r < 0)
        return r;
    *ret = str_new(choose(value_get(answer.json, "versions"), wanted));
    return *ret ? 0 : ERR_NOT_FOUND;
}

/* ---- The archive ---- */

/* The line of a list of SHA256SUMS: "HEX  FILE", or "HEX *FILE". */
static bool is_listed(const char *list, const char *sha256, const char *file)
{
    for (const char *line = list; *line;) {
        size_t length = strcspn(line, "\r\n");
        _cleanup_free_ char *text = str_new_n(line, length);
        size_t hex = strcspn(text, " \t");
        const char *name = text + hex + strspn(text + hex, " \t");

        name += *name == '*';
        if (hex == HASH_HEX_SIZE - 1 && strncmp(text, sha256, hex) == 0 && str_equal(name, file))
            return true;
        line += length;
        line += strspn(line, "\r\n");
    }
    return false;
}

static int check_sum(struct remote *remote, const struct remote_answer *answer,
                     struct cancel *cancel, struct error *error)
{
    const char *sha256 = value_get_string(answer->json, "shasum");
    const char *file = value_get_string(answer->json, "filename");
    _cleanup_free_ char *address = NULL, *list = NULL;
    int r;

    if (!sha256 || !hash_is_hex(sha256))
        return bad_answer(answer->url, "shasum is no SHA-256", error);
    if (!file || !*file)
        return bad_answer(answer->url, "filename is missing", error);
    r = resolve(answer, "shasums_url", &address, error);
    if (r >= 0)
        r = remote_get_text(remote, address, cancel, &list, error);
    if (r == ERR_NOT_FOUND)
        return bad_answer(address, "the list of checksums is not there", error);
    if (r >= 0 && !is_listed(list, sha256, file))
        r = err_set(error, ERR_INVALID, "ProviderChecksum",
                    "%s: the list of checksums does not have %s with the checksum %s", address,
                    file, sha256);
    return r;
}

static int check_platform(const struct remote_answer *answer, struct error *error)
{
    if (!str_equal(value_get_string(answer->json, "os"), PLATFORM_OS) ||
        !str_equal(value_get_string(answer->json, "arch"), PLATFORM_ARCH))
        return bad_answer(answer->url, "the package is for another platform than " PLATFORM, error);
    if (!speaks_ours(value_get(answer->json, "protocols")))
        return bad_answer(answer->url, "the provider speaks neither protocol 5 nor 6", error);
    return 0;
}

static int find_archive(struct remote *remote, const char *provider, struct cancel *cancel,
                        struct offer *offer, struct error *error)
{
    _cleanup_free_ char *address =
        str_printf("%s/%s/download/" PLATFORM_OS "/" PLATFORM_ARCH, provider, offer->version);
    _cleanup_(remote_answer_done) struct remote_answer answer = {0};
    int r = remote_get_json(remote, address, cancel, &answer, error);

    if (r >= 0)
        r = check_platform(&answer, error);
    if (r >= 0)
        r = check_sum(remote, &answer, cancel, error);
    if (r >= 0)
        r = resolve(&answer, "download_url", &offer->url, error);
    if (r >= 0)
        offer->zh = str_new(value_get_string(answer.json, "shasum"));
    return r;
}

int registry_find(struct remote *remote, const struct wanted *wanted, struct cancel *cancel,
                  struct offer *ret, struct error *error)
{
    const char *address = wanted->source->address, *name = strchr(address, '/') + 1;
    _cleanup_free_ char *host = str_new_n(address, (size_t)(name - 1 - address));
    _cleanup_free_ char *where = str_printf("the registry %s", host);
    _cleanup_free_ char *services = NULL, *provider = NULL;
    struct offer offer = {0};
    struct error failure = {0};
    int r = discover(remote, host, cancel, &services, &failure);

    if (r >= 0) {
        provider = str_printf("%s%s", services, name);
        r = find_version(remote, provider, wanted, cancel, &offer.version, &failure);
    }
    if (r >= 0)
        r = find_archive(remote, provider, cancel, &offer, &failure);
    if (r < 0) {
        offer_done(&offer);
        return r == ERR_NOT_FOUND ? wanted_not_found(wanted, where, error)
                                  : err_copy(error, &failure);
    }
    *ret = offer;
    return 0;
}
