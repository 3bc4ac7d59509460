#include "runtimes/terraform/package/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/shelf.h"
#include "runtimes/terraform/package/unpack.h"
#include "runtimes/terraform/plugin/folder.h"

#define NAME       "kusion-packages"
#define ZH_PREFIX  "zh-"
#define MOST_BYTES (UINT64_C(2) << 30) /* of one package */

struct copy {
    struct package base; /* first */
    struct cache *cache;
    LIST_ENTRY(copy) entry;
    bool is_listed; /* else it is freed when nobody uses it any more */
    char *name;     /* of its folder */
    char *path;
    char *aside;              /* where it was put, to be removed; or NULL */
    char h1[PACKAGE_H1_SIZE]; /* "": not hashed yet by this operator */
    char zh[HASH_HEX_SIZE];
    uint64_t bytes;
    struct timespec used;
    unsigned users;
};

LIST_HEAD(copy_list, copy);

struct cache {
    char *folder;
    uint64_t most_bytes;
    pthread_mutex_t lock;
    struct copy_list copies;
    struct copy_list dropped; /* that nobody uses: to be freed without the lock */
};

/* ---- Names ---- */

/* An h1 as a file's name: free(). */
static char *h1_in_name(const char *h1)
{
    char *name = str_new(h1);

    name[strlen("h1")] = '-';
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return name;
}

static char *name_of(const char *zh, const char *h1)
{
    _cleanup_free_ char *files = h1_in_name(h1);

    return zh ? str_printf(ZH_PREFIX "%s.%s", zh, files) : str_new(files);
}

/* ---- Copies, with the lock ---- */

static void free_copy(struct copy *copy)
{
    folder_remove(copy->aside);
    free(copy->name);
    free(copy->path);
    free(copy);
}

static struct copy *add_copy(struct cache *cache, const char *name, uint64_t bytes)
{
    struct copy *copy = NEW(struct copy);
    bool is_archive = str_has_prefix(name, ZH_PREFIX);

    copy->cache = cache;
    copy->name = str_new(name);
    copy->path = str_printf("%s/%s", cache->folder, name);
    if (is_archive)
        str_copy(copy->zh, sizeof(copy->zh), name + strlen(ZH_PREFIX));
    copy->base = (struct package){.folder = copy->path,
                                  .name = copy->name,
                                  .h1 = copy->h1,
                                  .zh = is_archive ? copy->zh : NULL};
    copy->bytes = bytes;
    copy->is_listed = true;
    LIST_INSERT_HEAD(&cache->copies, copy, entry);
    return copy;
}

/* It is not found any more. What is left of it is removed later, when its last user is gone. */
static void drop_copy(struct copy *copy)
{
    struct cache *cache = copy->cache;

    if (copy->is_listed) {
        LIST_REMOVE(copy, entry);
        copy->aside = shelf_put_aside(cache->folder, copy->name);
        copy->is_listed = false;
    }
    if (!copy->users)
        LIST_INSERT_HEAD(&cache->dropped, copy, entry);
}

static void leave(struct copy *copy)
{
    if (!--copy->users && !copy->is_listed)
        drop_copy(copy);
}

/* Frees the lock, and then removes what was dropped: that may be large. */
static void unlock(struct cache *cache)
{
    struct copy *dropped = LIST_FIRST(&cache->dropped), *next;

    LIST_INIT(&cache->dropped);
    pthread_mutex_unlock(&cache->lock);
    for (; dropped; dropped = next) {
        next = LIST_NEXT(dropped, entry);
        free_copy(dropped);
    }
}

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Bytes of all copies, or of those in use. */
static uint64_t bytes_of(const struct cache *cache, bool is_in_use)
{
    const struct copy *copy;
    uint64_t sum = 0;

    LIST_FOREACH(copy, &cache->copies, entry) {
        if (copy->users || !is_in_use)
            sum += copy->bytes;
    }
    return sum;
}

static struct copy *find_oldest(const struct cache *cache)
{
    struct copy *copy, *oldest = NULL;

    LIST_FOREACH(copy, &cache->copies, entry) {
        if (!copy->users && (!oldest || is_before(copy->used, oldest->used)))
            oldest = copy;
    }
    return oldest;
}

static bool has_room(const struct cache *cache, uint64_t bytes)
{
    return bytes_of(cache, true) + bytes <= cache->most_bytes;
}

/* Drops what was not used for the longest time. False: those in use do not leave that room; then
 * nothing is dropped, because it may be all that others have while no source answers. */
static bool make_room(struct cache *cache, uint64_t bytes)
{
    if (!has_room(cache, bytes))
        return false;
    while (bytes_of(cache, false) + bytes > cache->most_bytes)
        drop_copy(find_oldest(cache));
    return true;
}

/* Also for the next operator. */
static void note_use(struct copy *copy)
{
    clock_gettime(CLOCK_REALTIME, &copy->used);
    utimensat(AT_FDCWD, copy->path, (struct timespec[]){copy->used, copy->used}, 0);
}

/* ---- Made and freed ---- */

static void on_copy(void *arg, const char *name, uint64_t bytes, struct timespec used)
{
    struct cache *cache = arg;

    add_copy(cache, name, bytes)->used = used;
}

int cache_new(const char *folder, uint64_t most_bytes, struct cache **ret, struct error *error)
{
    struct cache *cache = NEW(struct cache);
    int r;

    cache->folder = str_printf("%s/" NAME, folder);
    cache->most_bytes = most_bytes;
    pthread_mutex_init(&cache->lock, NULL);
    LIST_INIT(&cache->copies);
    LIST_INIT(&cache->dropped);
    r = shelf_make(cache->folder, error);
    if (r >= 0)
        r = shelf_read(cache->folder, on_copy, cache, error);
    if (r < 0) {
        cache_free(cache);
        return r;
    }
    *ret = cache;
    return 0;
}

void cache_free(struct cache *cache)
{
    struct copy *copy;

    if (!cache)
        return;
    while ((copy = LIST_FIRST(&cache->copies))) {
        LIST_REMOVE(copy, entry);
        free_copy(copy);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache->folder);
    free(cache);
}

/* ---- Use ---- */

void package_give_back(struct package *package)
{
    struct copy *copy = (struct copy *)package;
    struct cache *cache;

    if (!copy)
        return;
    cache = copy->cache;
    pthread_mutex_lock(&cache->lock);
    leave(copy);
    unlock(cache);
}

/* The copy is as it was made. */
static bool is_intact(const struct copy *copy, char h1[PACKAGE_H1_SIZE])
{
    _cleanup_(package_writer_done) struct package_writer writer;
    _cleanup_free_ char *in_name = NULL;

    package_writer_init(&writer, -1, UINT64_MAX);
    if (package_copy(copy->path, LINKS_INSIDE, &writer, NULL) < 0)
        return false;
    package_writer_finish(&writer, h1);
    in_name = h1_in_name(h1);
    return str_has_suffix(copy->name, in_name);
}

/* With the lock, which is released while the copy is hashed. */
static bool is_usable(struct cache *cache, struct copy *copy)
{
    char h1[PACKAGE_H1_SIZE];
    bool is_good;

    if (!*copy->h1) {
        unlock(cache);
        is_good = is_intact(copy, h1);
        pthread_mutex_lock(&cache->lock);
        if (!is_good)
            return false;
        if (!*copy->h1) /* others have hashed it meanwhile, and may read it */
            memcpy(copy->h1, h1, sizeof(h1));
    }
    /* Others may have emptied the folder. */
    return access(copy->path, F_OK) == 0;
}

/* With the lock. A copy that will not do is dropped. */
static bool take(struct cache *cache, struct copy *copy)
{
    copy->users++;
    if (is_usable(cache, copy)) {
        note_use(copy);
        return true;
    }
    drop_copy(copy);
    leave(copy);
    return false;
}

/* Which copy is looked for: all that are given. */
struct which {
    const char *prefix, *suffix; /* of the name; or NULL */
};

static struct copy *find_copy(struct cache *cache, const struct which *which)
{
    struct copy *copy;

    LIST_FOREACH(copy, &cache->copies, entry) {
        if ((!which->prefix || str_has_prefix(copy->name, which->prefix)) &&
            (!which->suffix || str_has_suffix(copy->name, which->suffix)))
            return copy;
    }
    return NULL;
}

/* With the lock. The first that will do. */
static struct package *take_one(struct cache *cache, const struct which *which)
{
    struct copy *copy;

    while ((copy = find_copy(cache, which)))
        if (take(cache, copy))
            return &copy->base;
    return NULL;
}

static struct package *find(struct cache *cache, const struct which *which)
{
    struct package *found;

    pthread_mutex_lock(&cache->lock);
    found = take_one(cache, which);
    unlock(cache);
    return found;
}

struct package *cache_find(struct cache *cache, const char *name)
{
    return find(cache, &(struct which){.prefix = name});
}

struct package *cache_find_archive(struct cache *cache, const char *zh)
{
    _cleanup_free_ char *prefix = str_printf(ZH_PREFIX "%s.", zh);

    return find(cache, &(struct which){.prefix = prefix});
}

struct package *cache_find_files(struct cache *cache, const char *h1)
{
    _cleanup_free_ char *name = name_of(NULL, h1);

    return find(cache, &(struct which){.prefix = name});
}

struct package *cache_find_hash(struct cache *cache, const char *h1)
{
    _cleanup_free_ char *in_name = package_hash_is_valid(h1) ? h1_in_name(h1) : NULL;

    return in_name ? find(cache, &(struct which){.suffix = in_name}) : NULL;
}

/* ---- New copies ---- */

uint64_t cache_room(const struct cache *cache)
{
    return cache->most_bytes < MOST_BYTES ? cache->most_bytes : MOST_BYTES;
}

bool cache_fits(struct cache *cache, uint64_t bytes, struct package *const *given_back, size_t n)
{
    bool fits;

    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < n; i++)
        ((struct copy *)given_back[i])->users--;
    fits = has_room(cache, bytes);
    for (size_t i = 0; i < n; i++)
        ((struct copy *)given_back[i])->users++;
    unlock(cache);
    return fits;
}

int cache_begin(struct cache *cache, struct staging *ret, struct error *error)
{
    int r = shelf_make(cache->folder, error); /* somebody may have removed it */

    return r < 0 ? r : staging_begin(cache->folder, ret, error);
}

/* With the lock. The staged files, or those that another operator has put there meanwhile, which
 * are the same unless they are damaged: then ERR_NOT_FOUND, and there is room for ours. */
static int place(struct cache *cache, struct staging *staging, const char *name, const char *h1,
                 uint64_t bytes, struct package **ret, struct error *error)
{
    _cleanup_free_ char *from = str_printf("%s/" STAGING_FILES, staging->folder);
    _cleanup_free_ char *to = str_printf("%s/%s", cache->folder, name);
    bool is_placed = rename(from, to) == 0;
    struct copy *copy;

    if (!is_placed && errno != EEXIST && errno != ENOTEMPTY)
        return shelf_failed(cache->folder, strerrordesc_np(errno), error);
    copy = add_copy(cache, name, bytes);
    if (is_placed) /* it is the one that was hashed just now */
        str_copy(copy->h1, sizeof(copy->h1), h1);
    if (!take(cache, copy))
        return ERR_NOT_FOUND;
    *ret = &copy->base;
    return 0;
}

static unsigned long long in_mib(uint64_t bytes)
{
    return (unsigned long long)((bytes + (1u << 20) - 1) >> 20);
}

static int is_full(const struct cache *cache, uint64_t bytes, struct error *error)
{
    struct error failure = {0};

    err_set(&failure, ERR_UNAVAILABLE, CACHE_FULL,
            "the providers that run leave no room for it: it has %llu MiB, theirs have %llu MiB, "
            "and --terraform-cache-size is %llu MiB",
            in_mib(bytes), in_mib(bytes_of(cache, true)), in_mib(cache->most_bytes));
    err_hint(&failure, "it is tried again; raise --terraform-cache-size, or let the Specs use "
                       "fewer versions of providers at once");
    return err_copy(error, &failure);
}

/* With the lock. Whoever is quicker makes it: the files are the same. */
static int put(struct cache *cache, struct staging *staging, const char *name, const char *h1,
               uint64_t bytes, struct package **ret, struct error *error)
{
    int r;

    *ret = take_one(cache, &(struct which){.prefix = name});
    if (*ret)
        return 0;
    if (!make_room(cache, bytes))
        return is_full(cache, bytes, error);
    r = place(cache, staging, name, h1, bytes, ret, error);
    if (r == ERR_NOT_FOUND)
        r = place(cache, staging, name, h1, bytes, ret, error);
    return r == ERR_NOT_FOUND
               ? shelf_failed(cache->folder, "a damaged copy cannot be replaced", error)
               : r;
}

int cache_keep(struct cache *cache, struct staging *staging, const char *zh,
               const struct package_writer *writer, const char *h1, struct package **ret,
               struct error *error)
{
    _cleanup_free_ char *name = name_of(zh, h1);
    int r;

    pthread_mutex_lock(&cache->lock);
    r = put(cache, staging, name, h1, writer->bytes, ret, error);
    unlock(cache);
    return r;
}
