/*
 * Whether a server creates objects only if they are absent: store.h. Requests one after the other
 * do not show it: there are servers that check first and write then.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/chain/private.h"
#include "runtimes/io/random.h"

#define CREATES 8 /* at once */

struct attempt {
    struct chain_store *store;
    const char *key;
    const struct store_call *call;
    struct buf bytes;
    int code;
    struct error error;
};

static void *run_attempt(void *arg)
{
    struct attempt *attempt = arg;
    struct objects *objects = attempt->store->objects;

    attempt->code = objects->ops->create(objects, attempt->key, &attempt->bytes, attempt->call,
                                         &attempt->error);
    return NULL;
}

static int not_conditional(struct chain_store *store, const char *what, struct error *error)
{
    _cleanup_free_ char *place = store->objects->ops->describe(store->objects, "");

    return err_set(error, ERR_INVALID, "StoreNotConditional",
                   "%s: %s. The server does not keep the condition by which objects are created "
                   "only if they are absent, so State would be lost; it cannot be used",
                   place, what);
}

/* What is there must be the winner's, and be refused to one more. */
static int check_winner(struct chain_store *store, const char *key, const struct attempt *winner,
                        const struct store_call *call, struct error *error)
{
    struct objects *objects = store->objects;
    _cleanup_buf_ struct buf there = BUF_INIT;
    struct error problem = {0};
    int r = objects->ops->create(objects, key, &winner->bytes, call, &problem);

    if (r == 0)
        return not_conditional(store, "an object was created that was there already", error);
    if (r != ERR_EXISTS)
        return err_copy(error, &problem);
    buf_init(&there, OBJECT_BYTES);
    r = objects->ops->get(objects, key, &there, call, error);
    if (r == 0 && (there.length != winner->bytes.length ||
                   memcmp(there.data, winner->bytes.data, there.length) != 0))
        return not_conditional(store, "an object has other bytes than it was created with", error);
    return r;
}

static int judge(struct chain_store *store, const char *key, struct attempt *attempts,
                 const struct store_call *call, struct error *error)
{
    const struct attempt *winner = NULL, *failed = NULL;
    unsigned winners = 0;

    for (size_t i = 0; i < CREATES; i++) {
        if (attempts[i].code == 0) {
            winner = &attempts[i];
            winners++;
        } else if (attempts[i].code != ERR_EXISTS) {
            failed = &attempts[i];
        }
    }
    if (winners > 1) {
        _cleanup_free_ char *what =
            str_printf("of %d creates of one object at once, %u succeeded", CREATES, winners);

        return not_conditional(store, what, error);
    }
    if (winner)
        return check_winner(store, key, winner, call, error);
    if (failed)
        return err_copy(error, &failed->error);
    return not_conditional(store, "an object that is not there cannot be created", error);
}

static int prove(struct chain_store *store, const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *key = str_printf(OBJECT_UNFINISHED "probe~%016" PRIu64,
                                          random_below(UINT64_C(10000000000000000)));
    struct attempt attempts[CREATES];
    pthread_t threads[CREATES];
    size_t started = 0;
    int r = 0;

    for (; r == 0 && started < CREATES; started += r == 0) {
        attempts[started] = (struct attempt){store, key, call, BUF_INIT, ERR_INTERNAL, {0}};
        buf_printf(&attempts[started].bytes, "kusion probe %zu\n", started);
        r = thread_start("probe", THREAD_SMALL, run_attempt, &attempts[started], &threads[started],
                         error);
        if (r < 0)
            buf_done(&attempts[started].bytes);
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (r == 0)
        r = judge(store, key, attempts, call, error);
    for (size_t i = 0; i < started; i++)
        buf_done(&attempts[i].bytes);
    store->objects->ops->delete (store->objects, key, call, NULL);
    return r;
}

int chain_prove(struct chain_store *store, const struct store_call *call, struct error *error)
{
    int r = 0;

    if (atomic_load(&store->is_proved))
        return 0;
    LOCKED(&store->lock);
    if (!atomic_load(&store->is_proved))
        r = prove(store, call, error);
    if (r == 0)
        atomic_store(&store->is_proved, true);
    return r;
}
