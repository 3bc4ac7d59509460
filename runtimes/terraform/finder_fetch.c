#include "runtimes/terraform/finder_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/close.h"
#include "runtimes/io/write.h"
#include "runtimes/terraform/mirror.h"
#include "runtimes/terraform/network_mirror.h"
#include "runtimes/terraform/package/unpack.h"
#include "runtimes/terraform/registry.h"

#define ARCHIVE "archive.zip"
#define CHUNK   (256u << 10)

/* Whose hashes these are. */
#define LOCK_FILE "the file of --terraform-lock-file"
#define MIRROR    "the mirror"

void found_done(struct found *found)
{
    package_give_back(found->package);
    free(found->version);
    free(found->program);
    *found = (struct found){0};
}

/* ---- Where it is ---- */

/* The host of "registry.terraform.io/hashicorp/random". free(). */
static char *host_of(const struct source *source)
{
    return str_new_n(source->address, strcspn(source->address, "/"));
}

static int no_source(const struct wanted *wanted, const char *host, struct error *error)
{
    return err_set(error, ERR_FORBIDDEN, "ProviderHostNotAllowed",
                   "the provider %s is not downloaded: no flag --terraform-download-from of the "
                   "operator names %s, and there is no mirror",
                   wanted->source->shown, host);
}

/* The flag names the folder. */
static int offer_folder(const struct wanted *wanted, struct offer *ret, struct error *error)
{
    const struct source *allowed = wanted->allowed;

    if (!wanted_matches(wanted, allowed->version))
        return wanted_not_found(wanted, allowed->folder, error);
    *ret = (struct offer){.version = str_new(allowed->version),
                          .folder = str_new(allowed->folder),
                          .links = LINKS_INSIDE};
    return 0;
}

/* The last error says what the last source said. */
static int find_offer(const struct fetching *fetching, const struct wanted *wanted,
                      struct offer *ret, struct error *error)
{
    const struct finder_config *config = fetching->config;
    _cleanup_free_ char *host = host_of(wanted->source);
    struct error failure = {0};
    int r = ERR_NOT_FOUND;

    if (wanted->allowed && wanted->allowed->folder)
        return offer_folder(wanted, ret, error);
    if (config->mirror)
        r = mirror_find(config->mirror, wanted, ret, &failure);
    if (r == ERR_NOT_FOUND && config->network_mirror)
        r = network_mirror_find(fetching->remote, config->network_mirror, wanted, fetching->cancel,
                                ret, &failure);
    if (r == ERR_NOT_FOUND && remote_names(fetching->remote, host))
        r = registry_find(fetching->remote, wanted, fetching->cancel, ret, &failure);
    else if (!config->mirror && !config->network_mirror)
        r = no_source(wanted, host, &failure);
    return r < 0 ? err_copy(error, &failure) : 0;
}

/* ---- Hashes ---- */

/* What is known of a package before it may be kept. */
struct checking {
    const struct offer *offer;
    const struct locked *locked; /* NULL: the lock file does not list the provider */
    bool is_remote;
};

static int wrong_hash(const char *whose, const char *h1, const char *zh, struct error *error)
{
    return err_set(error, ERR_INVALID, "ProviderChecksum",
                   "the package's hash is %s%s%s, which %s does not list", h1,
                   zh ? ", that of its archive zh:" : "", zh ? zh : "", whose);
}

static int check_hashes(const struct checking *checking, const char *h1, const char *zh,
                        struct error *error)
{
    const struct offer *offer = checking->offer;

    if (checking->locked && !package_hash_is_listed(checking->locked->hashes, h1, zh))
        return wrong_hash(LOCK_FILE, h1, zh, error);
    if (offer->hashes && !package_hash_is_listed(offer->hashes, h1, zh))
        return wrong_hash(MIRROR, h1, zh, error);
    if (checking->is_remote && !offer->hashes && !offer->zh && !checking->locked)
        return err_set(error, ERR_INVALID, "ProviderChecksum",
                       "the mirror has no checksum of the package; a file of --terraform-lock-file "
                       "with %s%s%s would do",
                       h1, zh ? " or zh:" : "", zh ? zh : "");
    return 0;
}

/* A list without an h1 decides before the archive is opened. */
static bool refuses_archive(const char *hashes, const char *zh)
{
    return hashes && !strstr(hashes, "h1:") && !package_hash_is_listed(hashes, NULL, zh);
}

static int check_archive(const struct checking *checking, const char *zh, struct error *error)
{
    const struct offer *offer = checking->offer;
    bool is_locked_out = checking->locked && refuses_archive(checking->locked->hashes, zh);

    if (offer->zh && !str_equal(offer->zh, zh))
        return err_set(error, ERR_INVALID, "ProviderChecksum",
                       "the archive's SHA-256 is %s, and has to be %s", zh, offer->zh);
    if (is_locked_out || refuses_archive(offer->hashes, zh))
        return err_set(error, ERR_INVALID, "ProviderChecksum",
                       "the archive's SHA-256 is zh:%s, which %s does not list", zh,
                       is_locked_out ? LOCK_FILE : MIRROR);
    return 0;
}

/* ---- Archives ---- */

static int read_failed(const char *path, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "ProviderCacheFailed", "%s: %s", path,
                   strerrordesc_np(errno));
}

/* Of somebody who may change it meanwhile. */
static int copy_archive(const char *path, int to, uint64_t most, char ret_sha256[HASH_HEX_SIZE],
                        struct error *error)
{
    _cleanup_(close_fd_p) int from = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    _cleanup_free_ char *chunk = mem_new(CHUNK);
    uint64_t bytes = 0;
    ssize_t n = 0;

    while (from >= 0 && (n = read(from, chunk, CHUNK)) > 0) {
        bytes += (uint64_t)n;
        if (bytes > most)
            return err_set(error, ERR_INVALID, PACKAGE_INVALID, "it has more than %llu MiB",
                           (unsigned long long)(most >> 20));
        hash_add(hash, chunk, (size_t)n);
        if (write_all(to, chunk, (size_t)n) < 0)
            return read_failed("the operator's copy", error);
    }
    if (from < 0 || n < 0)
        return read_failed(path, error);
    hash_finish_hex(hash, ret_sha256);
    return 0;
}

static int get_archive(const struct fetching *fetching, const struct offer *offer, int to,
                       char ret_sha256[HASH_HEX_SIZE], struct error *error)
{
    uint64_t most = cache_room(fetching->cache);
    int r;

    if (offer->archive)
        return copy_archive(offer->archive, to, most, ret_sha256, error);
    r = remote_get_file(fetching->remote, offer->url, to, most, fetching->cancel, ret_sha256,
                        error);
    /* What is listed and not there is no answer to "which are there?". */
    return r == ERR_NOT_FOUND ? (error->code = ERR_INVALID) : r;
}

/* Others' copies may have to make room. */
static int keep_copy(const struct fetching *fetching, struct staging *staging, const char *zh,
                     const struct package_writer *writer, const char *h1, struct package **ret,
                     struct error *error)
{
    const struct finder_config *config = fetching->config;
    struct error failure = {0};
    int r = cache_keep(fetching->cache, staging, zh, writer, h1, ret, &failure);

    if (r >= 0 || !str_equal(failure.reason, CACHE_FULL) || !config->make_room ||
        !config->make_room(config->arg, fetching->cache, writer->bytes))
        return err_copy(error, &failure);
    return cache_keep(fetching->cache, staging, zh, writer, h1, ret, error);
}

/* zh: NULL: of no archive. */
static int keep(const struct fetching *fetching, const struct checking *checking,
                struct staging *staging, const char *zh, struct package_writer *writer,
                struct package **ret, struct error *error)
{
    char h1[PACKAGE_H1_SIZE];
    int r;

    package_writer_finish(writer, h1);
    r = check_hashes(checking, h1, zh, error);
    return r < 0 ? r : keep_copy(fetching, staging, zh, writer, h1, ret, error);
}

static int unpack(const struct fetching *fetching, const struct checking *checking,
                  struct staging *staging, int archive, const char *zh, struct package **ret,
                  struct error *error)
{
    _cleanup_(package_writer_done) struct package_writer writer;
    int r;

    package_writer_init(&writer, staging->files, cache_room(fetching->cache));
    r = package_unpack(archive, &writer, error);
    return r < 0 ? r : keep(fetching, checking, staging, zh, &writer, ret, error);
}

static int fetch_archive(const struct fetching *fetching, const struct checking *checking,
                         struct package **ret, struct error *error)
{
    _cleanup_(staging_done) struct staging staging = STAGING_INIT;
    _cleanup_(close_fd_p) int archive = -1;
    char zh[HASH_HEX_SIZE];
    int r;

    /* What is known by its hash need not be fetched. */
    if (checking->offer->zh)
        *ret = cache_find_archive(fetching->cache, checking->offer->zh);
    if (*ret)
        return check_hashes(checking, (*ret)->h1, checking->offer->zh, error);
    r = cache_begin(fetching->cache, &staging, error);
    if (r < 0)
        return r;
    archive = openat(staging.lock, ARCHIVE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (archive < 0)
        return read_failed(staging.folder, error);
    r = get_archive(fetching, checking->offer, archive, zh, error);
    if (r >= 0)
        r = check_archive(checking, zh, error);
    if (r < 0)
        return r;
    *ret = cache_find_archive(fetching->cache, zh);
    if (*ret)
        return check_hashes(checking, (*ret)->h1, zh, error);
    return unpack(fetching, checking, &staging, archive, zh, ret, error);
}

/* ---- Folders ---- */

static int hash_folder(const struct offer *offer, char ret_h1[PACKAGE_H1_SIZE], struct error *error)
{
    _cleanup_(package_writer_done) struct package_writer writer;
    int r;

    package_writer_init(&writer, -1, UINT64_MAX);
    r = package_copy(offer->folder, offer->links, &writer, error);
    if (r >= 0)
        package_writer_finish(&writer, ret_h1);
    return r;
}

/* A copy that is there already is found by the hash. */
static int fetch_folder(const struct fetching *fetching, const struct checking *checking,
                        struct package **ret, struct error *error)
{
    _cleanup_(staging_done) struct staging staging = STAGING_INIT;
    _cleanup_(package_writer_done) struct package_writer writer;
    char h1[PACKAGE_H1_SIZE];
    int r;

    package_writer_init(&writer, -1, cache_room(fetching->cache));
    r = hash_folder(checking->offer, h1, error);
    if (r < 0)
        return r;
    *ret = cache_find_files(fetching->cache, h1);
    if (*ret)
        return check_hashes(checking, (*ret)->h1, NULL, error);
    r = cache_begin(fetching->cache, &staging, error);
    writer.folder = staging.files;
    if (r >= 0)
        r = package_copy(checking->offer->folder, checking->offer->links, &writer, error);
    return r < 0 ? r : keep(fetching, checking, &staging, NULL, &writer, ret, error);
}

/* ---- All ---- */

static int fetch_package(const struct fetching *fetching, const struct wanted *wanted,
                         const struct offer *offer, struct found *ret, struct error *error)
{
    const struct locked *locked = lock_file_find(fetching->config->locked, wanted->source->address);
    struct checking checking = {.offer = offer, .locked = locked, .is_remote = offer->url};
    struct error failure = {0};
    int r = offer->folder ? fetch_folder(fetching, &checking, &ret->package, &failure)
                          : fetch_archive(fetching, &checking, &ret->package, &failure);

    if (r >= 0)
        r = package_program(ret->package->folder, wanted->source->name, &ret->program, &failure);
    if (r >= 0) {
        ret->version = str_new(offer->version);
        ret->is_locked = locked;
        return 0;
    }
    if (wanted->allowed && wanted->allowed->folder)
        err_wrap(&failure, "the folder %s that --terraform-provider names", offer->folder);
    if (failure.code != ERR_CANCELLED)
        err_wrap(&failure, "the provider %s %s", wanted->source->shown, offer->version);
    return err_copy(error, &failure);
}

int fetch_provider(const struct fetching *fetching, const struct wanted *wanted, struct found *ret,
                   struct error *error)
{
    struct found found = {0};
    struct offer offer = {0};
    int r = find_offer(fetching, wanted, &offer, error);

    if (r >= 0)
        r = fetch_package(fetching, wanted, &offer, &found, error);
    offer_done(&offer);
    if (r < 0) {
        found_done(&found);
        return r;
    }
    *ret = found;
    return 0;
}
