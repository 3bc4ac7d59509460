/* The seeds of a process: seeds.h. The sources are asked without the lock. */
#include "runtimes/seal/seeds.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"
#include "runtimes/io/random.h"
#include "runtimes/seal/format.h"

#define SEED_RENEWED  (INT64_C(24) * 3600 * 1000) /* ms, when a new one is drawn */
#define SEED_LONGEST  (INT64_C(48) * 3600 * 1000) /* ms, if the source cannot wrap a new one */
#define LOOK_AGAIN    (INT64_C(10) * 1000) /* ms after a source failed, with a seed at hand */
#define LOOK_PATIENCE (INT64_C(3) * 1000)  /* ms for its answer, with a seed at hand */
#define PATIENCE      (INT64_C(10) * 1000) /* ms, without one */
#define MOST_KNOWN    64                   /* seeds that were unwrapped */

/* A seed of a part, while it is unwrapped and afterwards. */
struct known {
    char block[HASH_HEX_SIZE]; /* the digest of its block */
    enum { UNWRAPPING, UNWRAPPED, NOT_UNWRAPPED } phase;
    struct seed *seed;   /* UNWRAPPED */
    struct error *error; /* NOT_UNWRAPPED */
    uint64_t used;       /* the last use, by count */
    size_t users;        /* those that wait for it, or unwrap it */
    struct known *next;
};

struct seal_keys {
    const struct clock_source *clock;
    struct seal_source **sources;
    size_t n_sources;
    bool reads_unsealed;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* whatever somebody may wait for */
    struct seed *current;   /* seals now; NULL: none yet */
    char *current_key;      /* what the source said when it was drawn */
    int64_t drawn;          /* ms, monotonic */
    int64_t next_look;      /* ms, monotonic: not before is the source asked */
    bool is_looking;        /* one thread asks the source */
    struct error *failure;  /* of the last look; NULL: it succeeded */
    struct known *known;
    size_t n_known;
    uint64_t uses;
};

/* ---- Seeds ---- */

static struct seed *seed_new(void)
{
    struct seed *seed = NEW(struct seed);

    seed->references = 1;
    buf_init(&seed->block, 0);
    return seed;
}

static struct seed *seed_ref(struct seed *seed)
{
    __atomic_add_fetch(&seed->references, 1, __ATOMIC_RELAXED);
    return seed;
}

void seed_unref(struct seed *seed)
{
    if (!seed || __atomic_sub_fetch(&seed->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    OPENSSL_cleanse(seed->bytes, sizeof(seed->bytes));
    buf_done(&seed->block);
    free(seed);
}

/* ---- Keys ---- */

struct seal_keys *seal_keys_new(struct seal_source *const *sources, size_t n, bool reads_unsealed,
                                const struct clock_source *clock)
{
    struct seal_keys *keys = NEW(struct seal_keys);

    keys->clock = clock;
    keys->sources = NEW_ARRAY(struct seal_source *, n);
    memcpy(keys->sources, sources, n * sizeof(struct seal_source *));
    keys->n_sources = n;
    keys->reads_unsealed = reads_unsealed;
    pthread_mutex_init(&keys->lock, NULL);
    pthread_cond_init(&keys->changed, NULL);
    return keys;
}

static void known_free(struct known *known)
{
    seed_unref(known->seed);
    free(known->error);
    free(known);
}

void seal_keys_free(struct seal_keys *keys)
{
    if (!keys)
        return;
    for (struct known *known = keys->known, *next; known; known = next) {
        next = known->next;
        known_free(known);
    }
    for (size_t i = 0; i < keys->n_sources; i++)
        keys->sources[i]->ops->free(keys->sources[i]);
    seed_unref(keys->current);
    pthread_cond_destroy(&keys->changed);
    pthread_mutex_destroy(&keys->lock);
    free(keys->current_key);
    free(keys->failure);
    free(keys->sources);
    free(keys);
}

bool seal_keys_read_unsealed(const struct seal_keys *keys)
{
    return keys->reads_unsealed;
}

static int64_t now(const struct seal_keys *keys)
{
    return keys->clock->monotonic(keys->clock);
}

/* The call, with so much patience at most. */
static struct store_call within(const struct seal_keys *keys, const struct store_call *call,
                                int64_t patience)
{
    struct store_call shorter = *call;
    int64_t until = now(keys) + patience;

    if (!shorter.deadline || shorter.deadline > until)
        shorter.deadline = until;
    return shorter;
}

/* Whatever a source says, its key is not at hand. */
static int unavailable(const struct error *why, struct error *error)
{
    if (why->code == ERR_CANCELLED)
        return err_copy(error, why);
    return err_set(error, ERR_UNAVAILABLE,
                   str_equal(why->reason, SEAL_MISSING) ? SEAL_MISSING : SEAL_UNAVAILABLE, "%s",
                   why->message);
}

/* ---- Waiting ---- */

static void wake(void *arg)
{
    struct seal_keys *keys = arg;

    LOCKED(&keys->lock);
    pthread_cond_broadcast(&keys->changed);
}

/* Lock held. Waits for a change; an error: the call's time is over. */
static int wait_for_change(struct seal_keys *keys, const struct store_call *call,
                           struct error *error)
{
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, NULL, "%s", cancel_reason(call->cancel));
    if (now(keys) >= call->deadline)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "another call still waits for its key");
    keys->clock->wait(keys->clock, &keys->changed, &keys->lock, call->deadline);
    return 0;
}

/* ---- The seed that seals ---- */

/* A source that wraps and cannot unwrap would leave documents that nobody can read. */
static int prove(struct seal_source *source, const struct store_call *call,
                 const struct seal_wrapped *wrapped, const struct seed *seed, struct error *error)
{
    unsigned char back[SEAL_SEED_SIZE] = {0};
    int r = source->ops->unwrap(source, call, wrapped, back, error);
    bool is_same = r >= 0 && CRYPTO_memcmp(back, seed->bytes, sizeof(back)) == 0;

    OPENSSL_cleanse(back, sizeof(back));
    if (r < 0)
        err_wrap(error, "a new seed was wrapped and cannot be unwrapped, so it is not used");
    else if (!is_same)
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "a new seed was wrapped, and another one came back when it was unwrapped, "
                       "so it is not used");
    return r;
}

static int draw(struct seal_keys *keys, const struct store_call *call, struct seed **ret,
                struct error *error)
{
    struct seal_source *source = keys->sources[0];
    _cleanup_(seed_unref_p) struct seed *seed = seed_new();
    _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;
    int r;

    random_fill(seed->bytes, sizeof(seed->bytes));
    r = source->ops->wrap(source, call, seed->bytes, &wrapped, error);
    if (r >= 0)
        r = prove(source, call, &wrapped, seed, error);
    if (r < 0)
        return r;
    seal_block_write(&seed->block, &wrapped);
    *ret = TAKE(seed);
    return 0;
}

static void remember(struct seal_keys *keys, struct seed *seed);

/* Without the lock. Asks the source which key is to be used, and draws a seed if it is another one
 * or the seed is old. *ret NULL: the seed at hand is right. */
static int look(struct seal_keys *keys, const struct store_call *call, bool is_fresh,
                const char *current_key, char **ret_key, struct seed **ret, struct error *error)
{
    struct seal_source *source = keys->sources[0];
    int r = source->ops->current(source, call, ret_key, error);

    if (r < 0 || (is_fresh && str_equal(*ret_key, current_key)))
        return r;
    return draw(keys, call, ret, error);
}

/* Lock held; not while it looks. */
static int renew(struct seal_keys *keys, const struct store_call *call, bool is_usable,
                 struct error *error)
{
    const struct store_call shorter = within(keys, call, is_usable ? LOOK_PATIENCE : PATIENCE);
    bool is_fresh = is_usable && now(keys) - keys->drawn < SEED_RENEWED;
    _cleanup_free_ char *key = NULL;
    struct seed *seed = NULL;
    int r;

    keys->is_looking = true;
    pthread_mutex_unlock(&keys->lock);
    /* Only who looks changes current_key. */
    r = look(keys, &shorter, is_fresh, keys->current_key, &key, &seed, error);
    pthread_mutex_lock(&keys->lock);
    keys->is_looking = false;
    free(TAKE(keys->failure));
    if (r < 0) {
        keys->next_look = now(keys) + LOOK_AGAIN;
        keys->failure = err_new(error);
    }
    if (r >= 0 && seed) {
        seed_unref(keys->current);
        keys->current = seed;
        keys->drawn = now(keys);
        free(keys->current_key);
        keys->current_key = TAKE(key);
        remember(keys, seed);
    }
    pthread_cond_broadcast(&keys->changed);
    return r;
}

/* Lock held. */
static int find_current(struct seal_keys *keys, const struct store_call *call, struct error *error)
{
    struct error failure = {0};

    for (;;) {
        bool is_usable = keys->current && now(keys) - keys->drawn < SEED_LONGEST;
        int r;

        if (is_usable && (keys->is_looking || now(keys) < keys->next_look))
            return 0;
        if (keys->is_looking) {
            r = wait_for_change(keys, call, error);
            if (r == ERR_UNAVAILABLE && keys->failure && keys->failure->code != ERR_CANCELLED)
                return unavailable(keys->failure, error);
            if (r < 0)
                return r;
            continue;
        }
        r = renew(keys, call, is_usable, &failure);
        if (r >= 0)
            return 0;
        if (is_usable && r != ERR_CANCELLED) {
            log_warn("the key that seals State cannot be asked for; saves use the seed at hand",
                     "reason", failure.reason, "error", failure.message, NULL);
            return 0;
        }
        return unavailable(&failure, error);
    }
}

int seal_keys_current(struct seal_keys *keys, const struct store_call *call, struct seed **ret,
                      struct error *error)
{
    const struct store_call bounded = within(keys, call, PATIENCE);
    struct cancel_listener *listener = cancel_listen(call->cancel, wake, keys);
    int r;

    pthread_mutex_lock(&keys->lock);
    r = find_current(keys, &bounded, error);
    if (r >= 0)
        *ret = seed_ref(keys->current);
    pthread_mutex_unlock(&keys->lock);
    cancel_unlisten(call->cancel, listener);
    return r;
}

int seal_keys_check(struct seal_keys *keys, const struct store_call *call, struct error *error)
{
    _cleanup_(seed_unref_p) struct seed *seed = NULL;

    return seal_keys_current(keys, call, &seed, error);
}

/* ---- Seeds of parts ---- */

/* Lock held. NULL: not known. */
static struct known *find_known(struct seal_keys *keys, const char *block)
{
    struct known *known = keys->known;

    while (known && !str_equal(known->block, block))
        known = known->next;
    return known;
}

/* Lock held. */
static struct known *add_known(struct seal_keys *keys, const char *block)
{
    struct known *known = NEW(struct known);

    memcpy(known->block, block, sizeof(known->block));
    known->used = ++keys->uses;
    known->next = keys->known;
    keys->known = known;
    keys->n_known++;
    return known;
}

/* Lock held. Out of the list; whoever still uses it has it. */
static void detach_known(struct seal_keys *keys, struct known *known)
{
    struct known **at = &keys->known;

    while (*at != known)
        at = &(*at)->next;
    *at = known->next;
    keys->n_known--;
}

/* Lock held. Forgets those that were not used for the longest time. */
static void trim(struct seal_keys *keys)
{
    while (keys->n_known > MOST_KNOWN) {
        struct known *oldest = NULL;

        for (struct known *known = keys->known; known; known = known->next)
            if (!known->users && (!oldest || known->used < oldest->used))
                oldest = known;
        if (!oldest)
            return;
        detach_known(keys, oldest);
        known_free(oldest);
    }
}

/* Lock held. What was sealed just now is often read again. */
static void remember(struct seal_keys *keys, struct seed *seed)
{
    char block[HASH_HEX_SIZE];
    struct known *known;

    hash_hex(seed->block.data, seed->block.length, block);
    if (find_known(keys, block))
        return;
    known = add_known(keys, block);
    known->phase = UNWRAPPED;
    known->seed = seed_ref(seed);
    trim(keys);
}

/* Without the lock. By whichever source of that provider can. */
static int unwrap(struct seal_keys *keys, const struct store_call *call,
                  const struct seal_wrapped *wrapped, struct seed *seed, struct error *error)
{
    struct error first = {0}, failure = {0};

    for (size_t i = 0; i < keys->n_sources; i++) {
        struct seal_source *source = keys->sources[i];

        if (!str_equal(source->ops->provider, wrapped->provider))
            continue;
        err_clear(&failure);
        if (source->ops->unwrap(source, call, wrapped, seed->bytes, &failure) >= 0)
            return 0;
        if (!first.code || failure.code == ERR_CANCELLED)
            first = failure;
    }
    if (!first.code) {
        _cleanup_free_ char *key_id = utf8_show(wrapped->key_id);
        _cleanup_free_ char *provider = utf8_show(wrapped->provider);

        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "its key \"%s\" is of \"%s\", and --state-key names no such source", key_id,
                       provider);
    }
    return unavailable(&first, error);
}

/* Lock held, and is let go meanwhile. */
static void unwrap_known(struct seal_keys *keys, const struct store_call *call, struct known *known,
                         const struct seal_wrapped *wrapped)
{
    struct seed *seed = seed_new();
    struct error failure = {0};
    int r;

    pthread_mutex_unlock(&keys->lock);
    r = unwrap(keys, call, wrapped, seed, &failure);
    pthread_mutex_lock(&keys->lock);
    known->phase = r < 0 ? NOT_UNWRAPPED : UNWRAPPED;
    if (r < 0) {
        detach_known(keys, known); /* the next one asks anew */
        known->error = err_new(&failure);
        seed_unref(seed);
    } else {
        known->seed = seed;
    }
    pthread_cond_broadcast(&keys->changed);
}

/* Lock held. Those that want the same seed at once share the answer. */
static int find_seed(struct seal_keys *keys, const struct store_call *call, const char *block,
                     const struct seal_wrapped *wrapped, struct seed **ret, struct error *error)
{
    struct known *known = find_known(keys, block);
    bool is_first = !known;
    int r = 0;

    if (is_first)
        known = add_known(keys, block);
    known->users++;
    if (is_first)
        unwrap_known(keys, call, known, wrapped);
    while (r >= 0 && known->phase == UNWRAPPING)
        r = wait_for_change(keys, call, error);
    if (r >= 0 && known->phase == UNWRAPPED) {
        known->used = ++keys->uses;
        *ret = seed_ref(known->seed);
    } else if (r >= 0) {
        r = err_copy(error, known->error);
    }
    if (--known->users == 0 && known->phase == NOT_UNWRAPPED)
        known_free(known);
    trim(keys);
    return r;
}

int seal_keys_unwrap(struct seal_keys *keys, const struct store_call *call, const void *block,
                     size_t length, struct seed **ret, struct error *error)
{
    const struct store_call bounded = within(keys, call, PATIENCE);
    _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;
    struct cancel_listener *listener;
    char hash[HASH_HEX_SIZE];
    int r;

    if (!seal_block_read(block, length, &wrapped))
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "its head cannot be read");
    hash_hex(block, length, hash);
    listener = cancel_listen(call->cancel, wake, keys);
    pthread_mutex_lock(&keys->lock);
    do /* another one's cancel is none of ours */
        r = find_seed(keys, &bounded, hash, &wrapped, ret, error);
    while (r == ERR_CANCELLED && !cancel_fired(call->cancel) && now(keys) < bounded.deadline);
    pthread_mutex_unlock(&keys->lock);
    cancel_unlisten(call->cancel, listener);
    return r;
}
