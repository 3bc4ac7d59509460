#include "runtimes/terraform/package/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/unpack.h"
#include "runtimes/terraform/plugin/folder.h"

#define NAME       "kusion-packages"
#define NEW_PREFIX ".new-"
#define FILES      "files"
#define MOST_BYTES (UINT64_C(2) << 30) /* of one package */

struct copy {
    struct package base; /* first */
    struct cache *cache;
    LIST_ENTRY(copy) entry;
    char *name; /* of its folder */
    char *path;
    char h1[PACKAGE_H1_SIZE]; /* "": not hashed yet by this operator */
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

    return zh ? str_printf("zh-%s.%s", zh, files) : str_new(files);
}

/* ---- Copies, with the lock ---- */

static void free_copy(struct copy *copy)
{
    free(copy->name);
    free(copy->path);
    free(copy);
}

static struct copy *add_copy(struct cache *cache, const char *name, uint64_t bytes)
{
    struct copy *copy = NEW(struct copy);

    copy->cache = cache;
    copy->name = str_new(name);
    copy->path = str_printf("%s/%s", cache->folder, name);
    copy->base = (struct package){.folder = copy->path, .name = copy->name, .h1 = copy->h1};
    copy->bytes = bytes;
    LIST_INSERT_HEAD(&cache->copies, copy, entry);
    return copy;
}

static struct copy *find_copy(struct cache *cache, const char *name)
{
    struct copy *copy;

    LIST_FOREACH(copy, &cache->copies, entry) {
        if (str_equal(copy->name, name))
            return copy;
    }
    return NULL;
}

static void remove_copy(struct copy *copy)
{
    LIST_REMOVE(copy, entry);
    folder_remove(str_new(copy->path));
    free_copy(copy);
}

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Removes what was not used for the longest time. False: the rest does not leave that room. */
static bool make_room(struct cache *cache, uint64_t bytes)
{
    for (;;) {
        struct copy *copy, *oldest = NULL;
        uint64_t sum = bytes;

        LIST_FOREACH(copy, &cache->copies, entry) {
            sum += copy->bytes;
            if (!copy->users && (!oldest || is_before(copy->used, oldest->used)))
                oldest = copy;
        }
        if (sum <= cache->most_bytes || !oldest)
            return sum <= cache->most_bytes;
        remove_copy(oldest);
    }
}

/* Also for the next operator. */
static void note_use(struct copy *copy)
{
    clock_gettime(CLOCK_REALTIME, &copy->used);
    utimensat(AT_FDCWD, copy->path, (struct timespec[]){copy->used, copy->used}, 0);
}

/* ---- What is there ---- */

static void close_folder_p(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static bool is_dots(const char *name)
{
    return str_equal(name, ".") || str_equal(name, "..");
}

static uint64_t measure(int parent, const char *name, int levels)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(close_folder_p) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat status;
    uint64_t sum = 0;

    if (fd >= 0 && !folder)
        close(fd);
    while (folder && (entry = readdir(folder)))
        if (is_dots(entry->d_name) || fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        else if (S_ISDIR(status.st_mode) && levels)
            sum += measure(fd, entry->d_name, levels - 1);
        else
            sum += (uint64_t)status.st_size;
    return sum;
}

/* What nobody has locked was left by an operator that is gone. */
static void remove_left(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        folder_remove(str_new(path));
    close(fd);
}

static void read_entry(struct cache *cache, int folder, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", cache->folder, name);
    struct stat status;

    if (str_has_prefix(name, NEW_PREFIX)) {
        remove_left(path);
        return;
    }
    if (is_dots(name) || find_copy(cache, name) ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode))
        return;
    add_copy(cache, name, measure(folder, name, PACKAGE_LEVELS))->used = status.st_mtim;
}

static int cannot_use(const char *folder, const char *why, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "ProviderCacheFailed",
                   "the operator's folder for providers, %s, cannot be used: %s", folder, why);
}

/* Who may write in it decides what runs. */
static int check_owner(const char *folder, struct error *error)
{
    struct stat status;

    if (lstat(folder, &status) < 0)
        return cannot_use(folder, strerrordesc_np(errno), error);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
        return cannot_use(folder, "it is not a folder that the operator's user alone may use",
                          error);
    return 0;
}

int cache_new(const char *folder, uint64_t most_bytes, struct cache **ret, struct error *error)
{
    struct cache *cache;
    _cleanup_free_ char *path = str_printf("%s/" NAME, folder);
    _cleanup_(close_folder_p) DIR *entries = NULL;
    struct dirent *entry;
    int r;

    if ((mkdir(folder, 0700) < 0 && errno != EEXIST) || (mkdir(path, 0700) < 0 && errno != EEXIST))
        return cannot_use(path, strerrordesc_np(errno), error);
    r = check_owner(path, error);
    if (r < 0)
        return r;
    entries = opendir(path);
    if (!entries)
        return cannot_use(path, strerrordesc_np(errno), error);
    cache = NEW(struct cache);
    cache->folder = TAKE(path);
    cache->most_bytes = most_bytes;
    pthread_mutex_init(&cache->lock, NULL);
    LIST_INIT(&cache->copies);
    while ((entry = readdir(entries)))
        read_entry(cache, dirfd(entries), entry->d_name);
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
    copy->users--;
    pthread_mutex_unlock(&cache->lock);
}

/* The copy is as it was made. */
static bool is_intact(const struct copy *copy, char h1[PACKAGE_H1_SIZE])
{
    _cleanup_(package_writer_done) struct package_writer writer;
    _cleanup_free_ char *in_name = NULL;

    package_writer_init(&writer, -1, UINT64_MAX);
    if (package_copy(copy->path, &writer, NULL) < 0)
        return false;
    package_writer_finish(&writer, h1);
    in_name = h1_in_name(h1);
    return str_has_suffix(copy->name, in_name);
}

/* With the lock, which is released while the copy is hashed. */
static int take(struct cache *cache, struct copy *copy, struct package **ret, struct error *error)
{
    char h1[PACKAGE_H1_SIZE];
    bool is_good;

    copy->users++;
    if (!*copy->h1) {
        pthread_mutex_unlock(&cache->lock);
        is_good = is_intact(copy, h1);
        pthread_mutex_lock(&cache->lock);
        if (!is_good) {
            if (!--copy->users)
                remove_copy(copy);
            return err_set(error, ERR_NOT_FOUND, NULL, "a copy of a package is damaged");
        }
        memcpy(copy->h1, h1, sizeof(h1));
    }
    /* Others may have emptied the folder. */
    if (access(copy->path, F_OK) < 0) {
        if (!--copy->users)
            remove_copy(copy);
        return err_set(error, ERR_NOT_FOUND, NULL, "a copy of a package is gone");
    }
    note_use(copy);
    *ret = &copy->base;
    return 0;
}

static int find_by(struct cache *cache, const char *prefix, struct package **ret,
                   struct error *error)
{
    struct copy *copy;
    int r = ERR_NOT_FOUND;

    pthread_mutex_lock(&cache->lock);
    LIST_FOREACH(copy, &cache->copies, entry) {
        if (str_has_prefix(copy->name, prefix))
            break;
    }
    if (copy)
        r = take(cache, copy, ret, error);
    else
        err_set(error, r, NULL, "there is no such package");
    pthread_mutex_unlock(&cache->lock);
    return r;
}

int cache_find(struct cache *cache, const char *name, struct package **ret, struct error *error)
{
    return find_by(cache, name, ret, error);
}

int cache_find_archive(struct cache *cache, const char *zh, struct package **ret,
                       struct error *error)
{
    _cleanup_free_ char *prefix = str_printf("zh-%s.", zh);

    return find_by(cache, prefix, ret, error);
}

int cache_find_files(struct cache *cache, const char *h1, struct package **ret, struct error *error)
{
    _cleanup_free_ char *name = name_of(NULL, h1);

    return find_by(cache, name, ret, error);
}

/* ---- New copies ---- */

uint64_t cache_room(const struct cache *cache)
{
    return cache->most_bytes < MOST_BYTES ? cache->most_bytes : MOST_BYTES;
}

int cache_begin(struct cache *cache, struct staging *ret, struct error *error)
{
    _cleanup_free_ char *folder = str_printf("%s/" NEW_PREFIX "XXXXXX", cache->folder);
    _cleanup_free_ char *files = NULL;

    if (!mkdtemp(folder))
        return cannot_use(cache->folder, strerrordesc_np(errno), error);
    ret->folder = TAKE(folder);
    ret->lock = open(ret->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    files = str_printf("%s/" FILES, ret->folder);
    if (ret->lock < 0 || flock(ret->lock, LOCK_EX | LOCK_NB) < 0 || mkdir(files, 0700) < 0 ||
        (ret->files = open(files, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return cannot_use(cache->folder, strerrordesc_np(errno), error);
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

/* With the lock. Whoever is quicker makes it: the files are the same. */
static int put(struct cache *cache, struct staging *staging, const char *name, const char *h1,
               uint64_t bytes, struct package **ret, struct error *error)
{
    _cleanup_free_ char *from = str_printf("%s/" FILES, staging->folder);
    _cleanup_free_ char *to = str_printf("%s/%s", cache->folder, name);
    struct copy *copy = find_copy(cache, name);

    if (copy)
        return take(cache, copy, ret, error);
    if (!make_room(cache, bytes))
        return err_set(error, ERR_UNAVAILABLE, "ProviderCacheFull",
                       "the providers that are in use leave no room for it: "
                       "--terraform-cache-size is %llu MiB",
                       (unsigned long long)(cache->most_bytes >> 20));
    if (rename(from, to) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        return cannot_use(cache->folder, strerrordesc_np(errno), error);
    copy = add_copy(cache, name, bytes);
    if (access(from, F_OK) < 0) /* it is the one that was hashed just now */
        str_copy(copy->h1, sizeof(copy->h1), h1);
    return take(cache, copy, ret, error);
}

int cache_keep(struct cache *cache, struct staging *staging, const char *zh,
               const struct package_writer *writer, const char *h1, struct package **ret,
               struct error *error)
{
    _cleanup_free_ char *name = name_of(zh, h1);
    int r;

    pthread_mutex_lock(&cache->lock);
    r = put(cache, staging, name, h1, writer->bytes, ret, error);
    pthread_mutex_unlock(&cache->lock);
    return r;
}
