#include "runtimes/kubernetes/client/identity.h"

#include <pthread.h>
#include <sys/stat.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/file.h"

#define REREAD_AFTER 60000 /* ms */

struct kube_identity {
    const struct clock_source *clock;
    char *token_file;

    pthread_mutex_t lock; /* of all below */
    char *token;
    bool stale;
    struct stat seen; /* of the file that token was read from */
    int64_t read_at;
};

struct kube_identity *kube_identity_new(const struct kube_config *config,
                                        const struct clock_source *clock)
{
    struct kube_identity *identity = NEW(struct kube_identity);

    identity->clock = clock;
    identity->token_file = str_new(config->token_file);
    identity->token = config->token_file ? NULL : str_new(config->token);
    pthread_mutex_init(&identity->lock, NULL);
    return identity;
}

static void set_token(struct kube_identity *identity, char *token)
{
    str_free_secret(identity->token);
    identity->token = token;
}

void kube_identity_free(struct kube_identity *identity)
{
    if (!identity)
        return;
    set_token(identity, NULL);
    free(identity->token_file);
    pthread_mutex_destroy(&identity->lock);
    free(identity);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_fresh(const struct kube_identity *identity, const struct stat *now)
{
    return identity->token && !identity->stale && is_same_file(now, &identity->seen) &&
           identity->clock->monotonic(identity->clock) - identity->read_at < REREAD_AFTER;
}

/* A token goes into a header: it must not be able to begin another. */
static bool is_token(const char *token)
{
    for (; *token; token++)
        if (*token <= ' ' || *token > '~')
            return false;
    return true;
}

static int reread(struct kube_identity *identity, struct error *error)
{
    _cleanup_free_ char *token = NULL;
    struct stat now = {0};
    int r;

    if (stat(identity->token_file, &now) == 0 && is_fresh(identity, &now))
        return 0;
    r = file_read_word(identity->token_file, &token, error);
    if (r < 0)
        return identity->token ? 0 : r;
    if (!is_token(token))
        return err_set(error, ERR_INVALID, "InvalidToken", "%s does not hold a token",
                       identity->token_file);
    set_token(identity, TAKE(token));
    identity->stale = false;
    identity->seen = now;
    identity->read_at = identity->clock->monotonic(identity->clock);
    return 0;
}

int kube_identity_header(struct kube_identity *identity, char **ret, struct error *error)
{
    struct error why = {0};
    int r = 0;

    pthread_mutex_lock(&identity->lock);
    if (identity->token_file)
        r = reread(identity, &why);
    if (r == 0 && identity->token && !is_token(identity->token))
        r = err_set(&why, ERR_INVALID, "InvalidToken",
                    "the token holds blanks or other "
                    "characters that no token has");
    if (r == 0)
        *ret = identity->token ? str_printf("Authorization: Bearer %s", identity->token) : NULL;
    pthread_mutex_unlock(&identity->lock);
    if (r < 0)
        return err_set(error, ERR_UNAUTHENTICATED, "TokenUnreadable", "%s", why.message);
    return 0;
}

void kube_identity_forget(struct kube_identity *identity)
{
    LOCKED(&identity->lock);

    identity->stale = true;
}

bool kube_identity_rotates(const struct kube_identity *identity)
{
    return identity->token_file;
}
