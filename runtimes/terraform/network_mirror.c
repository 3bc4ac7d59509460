#include "runtimes/terraform/network_mirror.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/hash.h"

/* free(); NULL: none will do. */
static char *choose(const struct value *versions, const struct wanted *wanted)
{
    char *best = NULL;

    for (size_t i = 0; value_is(versions, VALUE_OBJECT) && i < value_count(versions); i++) {
        size_t length;
        const char *version = value_member_key(versions, i, &length);

        if (strlen(version) != length || !wanted_matches(wanted, version) ||
            !wanted_is_newer(version, best))
            continue;
        free(best);
        best = str_new(version);
    }
    return best;
}

static int find_version(struct remote *remote, const char *folder, const struct wanted *wanted,
                        struct cancel *cancel, char **ret, struct error *error)
{
    _cleanup_free_ char *address = str_printf("%s/index.json", folder);
    _cleanup_(remote_answer_done) struct remote_answer answer = {0};
    int r = remote_get_json(remote, address, cancel, &answer, error);

    if (r < 0)
        return r;
    *ret = choose(value_get(answer.json, "versions"), wanted);
    return *ret ? 0 : ERR_NOT_FOUND;
}

/* Those of a kind that is not known are left out. free(); NULL: there are none. */
static char *read_hashes(const struct value *hashes)
{
    _cleanup_buf_ struct buf list = BUF_INIT;

    for (size_t i = 0; value_is(hashes, VALUE_ARRAY) && i < value_count(hashes); i++) {
        const char *hash = value_string(value_at(hashes, i));

        if (hash && package_hash_is_valid(hash))
            buf_printf(&list, "%s%s", list.length ? " " : "", hash);
    }
    return list.length ? buf_take(&list) : NULL;
}

static int find_archive(struct remote *remote, const char *folder, struct cancel *cancel,
                        struct offer *offer, struct error *error)
{
    _cleanup_free_ char *address = str_printf("%s/%s.json", folder, offer->version);
    _cleanup_(remote_answer_done) struct remote_answer answer = {0};
    _cleanup_(http_url_done) struct http_url url = {0};
    const struct value *archive;
    int r = remote_get_json(remote, address, cancel, &answer, error);

    if (r < 0)
        return r;
    archive = value_path(answer.json, "archives", PLATFORM, NULL);
    if (!value_is(archive, VALUE_OBJECT))
        return ERR_NOT_FOUND;
    if (!value_get_string(archive, "url"))
        return err_set(error, ERR_INVALID, REMOTE_FAILED,
                       "%s: archives." PLATFORM ".url is missing", address);
    r = remote_read_url(answer.url, value_get_string(archive, "url"), &url, error);
    if (r < 0) {
        err_wrap(error, "%s", address);
        return r;
    }
    offer->url = TAKE(url.whole);
    offer->hashes = read_hashes(value_get(archive, "hashes"));
    return 0;
}

int network_mirror_find(struct remote *remote, const char *base, const struct wanted *wanted,
                        struct cancel *cancel, struct offer *ret, struct error *error)
{
    const char *slash = str_has_suffix(base, "/") ? "" : "/";
    _cleanup_free_ char *folder = str_printf("%s%s%s", base, slash, wanted->source->address);
    struct offer offer = {0};
    struct error failure = {0};
    int r = find_version(remote, folder, wanted, cancel, &offer.version, &failure);

    if (r >= 0)
        r = find_archive(remote, folder, cancel, &offer, &failure);
    if (r < 0) {
        offer_done(&offer);
        return r == ERR_NOT_FOUND
                   ? wanted_not_found(wanted, "the mirror of --terraform-network-mirror", error)
                   : err_copy(error, &failure);
    }
    *ret = offer;
    return 0;
}
