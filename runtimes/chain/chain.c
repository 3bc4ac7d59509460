/* The rules of a chain: store.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "runtimes/io/random.h"

#define DEADLINE_MS      60000
#define CREATE_ATTEMPTS  4 /* of a create that is not answered */
#define PAUSE_MS         100
#define LONGEST_PAUSE_MS 1000
#define DAMAGED_HEAD     "its head is damaged, or of another version's format"
#define NEWEST_ATTEMPTS  20 /* while the newest is deleted before it can be read */

struct store_call chain_call(const struct chain_store *store, const struct store_call *call)
{
    struct store_call result = *call;

    if (!result.deadline)
        result.deadline = store->clock->monotonic(store->clock) + DEADLINE_MS;
    return result;
}

int chain_damaged(const struct chain_store *store, const char *key, const char *what,
                  struct error *error)
{
    _cleanup_free_ char *place = store->objects->ops->describe(store->objects, key);

    return err_set(error, ERR_CORRUPT, STORE_CORRUPT, "%s: %s", place, what);
}

static bool is_in_doubt(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT;
}

/* ---- Lists ---- */

void chain_list_done(struct chain_list *list)
{
    free(list->numbers);
    *list = (struct chain_list){0};
}

void chain_list_add(struct chain_list *list, int64_t number)
{
    list->numbers = mem_grow(list->numbers, list->count, &list->capacity, sizeof(*list->numbers));
    list->numbers[list->count++] = number;
}

static int on_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    int64_t number;
    size_t length;

    (void)modified, (void)error;
    if (chain_key_parse(key, &number, &length)) /* else it is not ours */
        chain_list_add(arg, number);
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

int chain_list_read(struct chain_store *store, const char *prefix, const struct store_call *call,
                    struct chain_list *ret, struct error *error)
{
    int r;

    ret->count = 0;
    r = store->objects->ops->list(store->objects, prefix, on_key, ret, call, error);
    if (r == 0 && ret->count)
        qsort(ret->numbers, ret->count, sizeof(*ret->numbers), compare_numbers);
    return r;
}

static int64_t newest_of(const struct chain_list *list)
{
    return list->count ? list->numbers[list->count - 1] : 0;
}

/* ---- Reading ---- */

static void see(struct chain_seen *seen, int64_t number, int64_t looked,
                const struct object_head *head)
{
    *seen = (struct chain_seen){.number = number,
                                .written = head->written,
                                .looked = looked,
                                .is_removed = head->is_removed,
                                .is_closed = head->is_closed};
    str_copy(seen->ids[seen->n_ids++], ID_SIZE, head->id);
    for (size_t i = 0; i < head->n_ancestors && seen->n_ids < ANCESTORS; i++)
        str_copy(seen->ids[seen->n_ids++], ID_SIZE, head->ancestors[i]);
}

/* Nobody knows the write id of an object whose head is damaged. */
static void see_damage(struct chain_seen *seen, int64_t number, int64_t looked)
{
    *seen = (struct chain_seen){.number = number, .looked = looked, .is_damaged = true};
}

int chain_read_head(struct chain_store *store, const char *key, const struct store_call *call,
                    struct object_head *ret, struct error *error)
{
    _cleanup_buf_ struct buf bytes;
    int r;

    buf_init(&bytes, OBJECT_BYTES);
    r = store->objects->ops->get(store->objects, key, &bytes, call, error);
    if (r == 0 && !object_head_parse(&bytes, ret))
        r = chain_damaged(store, key, DAMAGED_HEAD, error);
    return r;
}

/* What is wrong with the newest object of a list; NULL: nothing. */
static const char *problem_of(const struct chain_list *list, const struct document_name *name,
                              const struct object_head *head)
{
    if (!document_name_equal(&head->name.name, name) || head->number != newest_of(list))
        return "it is damaged: it is of another document, or has another number";
    if (list->count == 1 && !head->is_removed)
        return "the objects before it are missing: another program deleted them, or a rule of the "
               "bucket; or this one was created days after it was sent";
    return NULL;
}

static int read_object(struct chain_store *store, const struct document_name *name, const char *key,
                       const struct chain_list *list, struct chain_seen *ret_seen,
                       struct buf *bytes, struct object_head *head, struct error *error)
{
    const char *problem;

    see_damage(ret_seen, newest_of(list), ret_seen->looked);
    if (!object_head_parse(bytes, head))
        return chain_damaged(store, key, DAMAGED_HEAD, error);
    problem = problem_of(list, name, head);
    see(ret_seen, newest_of(list), ret_seen->looked, head);
    ret_seen->is_damaged = problem != NULL;
    return problem ? chain_damaged(store, key, problem, error) : 0;
}

/* What a chain begins with is followed by a number of another day, which must not be above a chain
 * that has begun since the list. ERR_NOT_FOUND: it is not the newest any more. */
static int confirm_newest(struct chain_store *store, const char *prefix, int64_t number,
                          const struct store_call *call, struct error *error)
{
    _cleanup_(chain_list_done) struct chain_list list = {0};
    int r = chain_list_read(store, prefix, call, &list, error);

    if (r == 0 && newest_of(&list) != number)
        return err_set(error, ERR_NOT_FOUND, NULL, "there is a newer one");
    return r;
}

int chain_read_newest(struct chain_store *store, const struct document_name *name,
                      const char *prefix, const struct store_call *call,
                      struct chain_seen *ret_seen, struct buf *ret_bytes,
                      struct object_head *ret_head, struct error *error)
{
    _cleanup_(chain_list_done) struct chain_list list = {0};

    for (unsigned i = 0; i < NEWEST_ATTEMPTS; i++) {
        struct error problem = {0};
        _cleanup_free_ char *key = NULL;
        int64_t now = store->clock->now(store->clock);
        int r = chain_list_read(store, prefix, call, &list, error);

        if (r < 0)
            return r;
        *ret_seen = (struct chain_seen){.looked = now};
        if (!list.count)
            return 0;
        key = chain_key(prefix, newest_of(&list));
        buf_done(ret_bytes);
        buf_init(ret_bytes, OBJECT_BYTES);
        r = store->objects->ops->get(store->objects, key, ret_bytes, call, &problem);
        if (r == 0)
            r = read_object(store, name, key, &list, ret_seen, ret_bytes, ret_head, &problem);
        if (r == 0 && chain_is_beginning(ret_seen))
            r = confirm_newest(store, prefix, ret_seen->number, call, &problem);
        if (r != ERR_NOT_FOUND)
            return err_copy(error, &problem);
        object_head_done(ret_head);
    }
    return err_set(error, ERR_UNAVAILABLE, CHAIN_BUSY,
                   "%s of %s/%s: each object was deleted before it could be read",
                   document_kind_name(name->kind), name->spec.namespace_name, name->spec.name);
}

/* ---- Creating ---- */

static void draw_id(char ret[ID_SIZE])
{
    snprintf(ret, ID_SIZE, "%016" PRIx64 "%016" PRIx64, random_below(UINT64_MAX),
             random_below(UINT64_MAX));
}

/* Whose the object is. 1: of the write with that id; 0: of another one, or nobody knows;
 * ERR_NOT_FOUND, or the error of the get. */
static int is_written_by(struct chain_store *store, const char *key, const char *id,
                         const struct store_call *call, struct error *error)
{
    struct object_head head = {0};
    int r = chain_read_head(store, key, call, &head, error);

    if (r == 0)
        r = str_equal(head.id, id);
    object_head_done(&head);
    return r == ERR_CORRUPT ? 0 : r;
}

static bool pause_before(const struct chain_store *store, unsigned attempt,
                         const struct store_call *call)
{
    int64_t delay = backoff_delay(attempt, PAUSE_MS, LONGEST_PAUSE_MS);
    int64_t until = store->clock->monotonic(store->clock) + delay;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;

    if (until >= call->deadline)
        return false;
    pthread_cond_init(&never, NULL);
    pthread_mutex_lock(&lock);
    while (store->clock->monotonic(store->clock) < until)
        store->clock->wait(store->clock, &never, &lock, until);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    return true;
}

/* Creates the object, whose write id is known, so that it can be repeated. 0: it is there, or was.
 * ERR_CONFLICT: the number is another one's. */
static int create(struct chain_store *store, const struct document_name *name, const char *key,
                  const char *id, const struct buf *bytes, const struct store_call *call,
                  struct error *error)
{
    struct objects *objects = store->objects;

    for (unsigned attempt = 0;; attempt++) {
        struct error problem = {0};
        int r = objects->ops->create(objects, key, bytes, call, &problem), whose;

        if (r == 0)
            return 0;
        if (r != ERR_EXISTS && !is_in_doubt(r))
            return err_copy(error, &problem);
        /* It may be our own: the request may have been repeated on its way. */
        whose = is_written_by(store, key, id, call, NULL);
        if (whose == 1)
            return 0;
        if (whose == 0)
            return store_changed(name, error);
        if (r == ERR_EXISTS && whose == ERR_NOT_FOUND)
            return 0; /* it was deleted since: what is newer knows if it was ours */
        if (attempt + 1 == CREATE_ATTEMPTS || !pause_before(store, attempt, call)) {
            if (r == ERR_EXISTS)
                return err_set(error, ERR_UNAVAILABLE, CHAIN_IN_DOUBT,
                               "%s of %s/%s: nobody knows whose the next number is",
                               document_kind_name(name->kind), name->spec.namespace_name,
                               name->spec.name);
            return err_copy(error, &problem);
        }
    }
}

static int unknown(const struct document_name *name, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, CHAIN_IN_DOUBT,
                   "%s of %s/%s was changed many times meanwhile; it cannot be told if this change "
                   "was among them",
                   document_kind_name(name->kind), name->spec.namespace_name, name->spec.name);
}

static bool has_ancestor(const struct object_head *head, const char *id)
{
    for (size_t i = 0; i < head->n_ancestors; i++)
        if (str_equal(head->ancestors[i], id))
            return true;
    return false;
}

/* What the newest object, which has a higher number, says of a write: 0: it was built upon;
 * ERR_CONFLICT; ERR_NOT_FOUND: it is gone again; ERR_UNAVAILABLE: it does not say. */
static int ask_newest(struct chain_store *store, const struct document_name *name,
                      const char *prefix, int64_t newest, const char *id,
                      const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *key = chain_key(prefix, newest);
    _cleanup_(object_head_done) struct object_head head = {0};
    int r = chain_read_head(store, key, call, &head, error);

    if (r == ERR_CORRUPT || (r == 0 && head.n_ancestors == ANCESTORS && !has_ancestor(&head, id)))
        r = unknown(name, error);
    else if (r == 0 && !has_ancestor(&head, id))
        r = store_changed(name, error);
    return r;
}

static bool is_long_ago(const struct chain_store *store, int64_t then)
{
    int64_t age = store->clock->now(store->clock) - then;

    return age > GOOD_MS || age < -GOOD_MS;
}

/* Whether a write, which was created, counts: store.h. seen: what it was written after; the list:
 * the chain since. ERR_CONFLICT: it does not, and *ret_is_newest says if readers see it. */
static int verify(struct chain_store *store, const struct document_name *name, const char *prefix,
                  const struct chain_seen *seen, int64_t number, const char *id, bool is_document,
                  const struct store_call *call, struct chain_list *list, bool *ret_is_newest,
                  struct error *error)
{
    *ret_is_newest = false;
    for (unsigned i = 0; i < NEWEST_ATTEMPTS; i++) {
        struct error problem = {0};
        int64_t before;
        int r = chain_list_read(store, prefix, call, list, error);

        if (r < 0)
            return r;
        if (newest_of(list) > number) {
            r = ask_newest(store, name, prefix, newest_of(list), id, call, &problem);
            if (r == ERR_NOT_FOUND)
                continue;
            return err_copy(error, &problem);
        }
        *ret_is_newest = newest_of(list) == number;
        if (!*ret_is_newest)
            return store_changed(name, error);
        before = list->count > 1 ? list->numbers[list->count - 2] : 0;
        if (chain_is_at_end(seen) ? before <= seen->number : before == seen->number || !is_document)
            return 0;
        return store_changed(name, error);
    }
    return unknown(name, error);
}

static int create_object(struct chain_store *store, const struct document_name *name,
                         const char *prefix, const struct chain_seen *seen,
                         const struct document *document, bool is_closing,
                         const struct store_call *call, struct object_head *ret_head,
                         struct error *error)
{
    int64_t number = chain_next(seen);
    _cleanup_free_ char *key = chain_key(prefix, number);
    _cleanup_buf_ struct buf bytes;

    *ret_head = (struct object_head){.number = number,
                                     .written = store->clock->now(store->clock),
                                     .is_removed = document == NULL,
                                     .is_closed = is_closing};
    draw_id(ret_head->id);
    if (!chain_is_at_end(seen)) {
        ret_head->n_ancestors = seen->n_ids;
        memcpy(ret_head->ancestors, seen->ids, sizeof(ret_head->ancestors));
    }
    buf_init(&bytes, OBJECT_BYTES);
    object_write(&bytes, name, ret_head, document);
    if (buf_overflowed(&bytes))
        return err_set(error, ERR_TOO_LARGE, NULL, "the document has more than %zu bytes",
                       OBJECT_BYTES);
    return create(store, name, key, ret_head->id, &bytes, call, error);
}

/* Takes an object back that does not count. If readers see it, its number is followed by a
 * tombstone first, unless somebody has written after it already. False: they may see it still. */
static bool withdraw(struct chain_store *store, const struct document_name *name,
                     const char *prefix, const struct object_head *head, bool is_newest,
                     const struct store_call *call)
{
    _cleanup_free_ char *key = chain_key(prefix, head->number);
    struct chain_seen seen = {0};
    struct object_head tombstone;
    int r = 0;

    if (head->is_removed)
        return true; /* it hides nothing, and tidy deletes it */
    see(&seen, head->number, head->written, head);
    if (is_newest)
        r = create_object(store, name, prefix, &seen, NULL, false, call, &tombstone, NULL);
    if (r == 0)
        store->objects->ops->delete (store->objects, key, call, NULL);
    return r == 0 || r == ERR_CONFLICT;
}

/* Creates one object after *seen, and verifies it. */
static int add(struct chain_store *store, const struct document_name *name, const char *prefix,
               struct chain_seen *seen, const struct document *document,
               const struct store_call *call, struct chain_list *list, struct error *error)
{
    struct object_head head;
    bool is_newest;
    int r = create_object(store, name, prefix, seen, document, false, call, &head, error);

    if (r < 0)
        return r;
    r = verify(store, name, prefix, seen, head.number, head.id, document != NULL, call, list,
               &is_newest, error);
    if (r == 0)
        see(seen, head.number, head.written, &head);
    else if (r == ERR_CONFLICT && !withdraw(store, name, prefix, &head, is_newest, call))
        r = unknown(name, error);
    return r;
}

/* Whether what was seen long ago is still the newest. */
static int look_again(struct chain_store *store, const struct document_name *name,
                      const char *prefix, struct chain_seen *seen, const struct store_call *call,
                      struct error *error)
{
    struct object_head head = {0};
    struct chain_seen now = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    int r = chain_read_newest(store, name, prefix, call, &now, &bytes, &head, error);

    object_head_done(&head);
    if (r < 0 && r != ERR_CORRUPT)
        return r;
    if (now.number != seen->number || now.n_ids != seen->n_ids ||
        (now.n_ids && !str_equal(now.ids[0], seen->ids[0])))
        return store_changed(name, error);
    *seen = now;
    return 0;
}

int chain_extend(struct chain_store *store, const struct document_name *name, const char *prefix,
                 struct chain_seen *seen, const struct document *document,
                 const struct store_call *call, struct chain_list *ret_list, struct error *error)
{
    struct chain_seen next = *seen;
    int r = 0;

    if (is_long_ago(store, next.looked)) {
        r = look_again(store, name, prefix, &next, call, error);
        if (r < 0)
            return r;
    }
    /* An object whose head is damaged has no id that could be named. */
    if (next.number && !next.n_ids)
        snprintf(next.ids[next.n_ids++], ID_SIZE, "%032d", 0);
    if (chain_is_at_end(&next))
        r = add(store, name, prefix, &next, NULL, call, ret_list, error);
    if (r == 0)
        r = add(store, name, prefix, &next, document, call, ret_list, error);
    if (r == 0)
        *seen = next;
    return r;
}

int chain_close(struct chain_store *store, const struct object_head *tombstone, const char *prefix,
                const struct store_call *call, struct error *error)
{
    struct chain_seen seen;
    struct object_head head;

    see(&seen, tombstone->number, tombstone->written, tombstone);
    return create_object(store, &tombstone->name.name, prefix, &seen, NULL, true, call, &head,
                         error);
}

void chain_purge(struct chain_store *store, const char *prefix, const struct chain_list *list,
                 int64_t below, const struct store_call *call)
{
    for (size_t i = 0; i < list->count && list->numbers[i] < below; i++) {
        _cleanup_free_ char *key = chain_key(prefix, list->numbers[i]);

        if (store->objects->ops->delete (store->objects, key, call, NULL) < 0)
            return;
    }
}

int64_t chain_lowest_kept(const struct chain_list *list)
{
    return list->count > KEPT ? list->numbers[list->count - KEPT] : 0;
}
