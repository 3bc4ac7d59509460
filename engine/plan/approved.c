#include "engine/plan/approved.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/plan/approved_private.h"

/* ---- Making ---- */

struct approved_plan *approved_plan_make(struct digest_key key, size_t n_steps)
{
    struct approved_plan *approved = NEW(struct approved_plan);
    void *copy = mem_new(key.length + 1);

    memcpy(copy, key.data, key.length);

    approved->references = 1;
    arena_init(&approved->arena);
    approved->key = (struct digest_key){copy, key.length};
    approved->steps = NEW_ARRAY(struct approved_step, n_steps + 1);
    return approved;
}

static int compare_steps(const void *a, const void *b)
{
    const struct approved_step *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    if (!order)
        order = strcmp(x->type, y->type);
    if (!order)
        order = (x->action > y->action) - (x->action < y->action);
    return order ? order : strcmp(x->halves.removed, y->halves.removed);
}

void approved_plan_sort(struct approved_plan *approved)
{
    qsort(approved->steps, approved->n_steps, sizeof(*approved->steps), compare_steps);
}

static bool is_planned(const struct plan_change *change)
{
    return !change->error && change->action != PLAN_DEFERRED && change->action != PLAN_UNKNOWN;
}

/* It has its intent; or, where objects are only found by what State has of them, that, and no
 * result yet (record.h). */
static bool is_adoption_begun(const struct record *record)
{
    return record && record->action == PLAN_ADOPT &&
           (record->status == RECORD_INTENT || (record->memory && !record->result));
}

/* An adoption that is recorded as begun, and which was not carried out, is planned as an update.
 * For an approval it is the adoption all the same. */
static enum plan_action action_of(const struct plan_change *change)
{
    if (change->action == PLAN_UPDATE && is_adoption_begun(change->record))
        return PLAN_ADOPT;
    return change->action;
}

static void add_step(struct approved_plan *approved, const struct plan_change *change)
{
    struct approved_step *step = &approved->steps[approved->n_steps++];
    _cleanup_(change_digest_free_p) struct change_digest *made = NULL;
    const struct change_digest *digest;

    *step = (struct approved_step){.id = arena_str(&approved->arena, change->id),
                                   .type = arena_str(&approved->arena, change->type),
                                   .leaves = !change->resource,
                                   .action = PLAN_DEFERRED};
    if (!is_planned(change))
        return;
    digest = change->digest ? change->digest : (made = change_digest_new(change, approved->key));
    if (digest->is_cut)
        return;
    step->halves = digest->halves;
    step->unknown = value_ref(digest->unknown);
    step->secrets = *step->halves.made ? value_ref(change->secrets) : NULL;
    step->shown = digest->shown;
    value_ref(step->shown.assigned);
    step->action = action_of(change);
    step->create_first = change->action == PLAN_REPLACE && change->create_first;
    step->has_unknown = change->resource && change->has_unknown;
}

struct approved_plan *approved_plan_new(const struct plan *plan, const void *key, size_t key_length)
{
    struct approved_plan *approved =
        approved_plan_make((struct digest_key){key, key_length}, plan->n_changes);

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->error || (change->action != PLAN_UNCHANGED && change->action != PLAN_NONE))
            add_step(approved, change);
    }
    approved_plan_sort(approved);
    return approved;
}

struct approved_plan *approved_plan_ref(struct approved_plan *approved)
{
    if (approved)
        atomic_fetch_add(&approved->references, 1);
    return approved;
}

void approved_plan_unref(struct approved_plan *approved)
{
    if (!approved || atomic_fetch_sub(&approved->references, 1) > 1)
        return;
    for (size_t i = 0; i < approved->n_steps; i++) {
        value_unref(approved->steps[i].unknown);
        value_unref(approved->steps[i].secrets);
        value_unref(approved->steps[i].shown.assigned);
    }
    free(approved->steps);
    arena_done(&approved->arena);
    explicit_bzero((void *)(uintptr_t)approved->key.data, approved->key.length);
    free((void *)(uintptr_t)approved->key.data);
    free(approved);
}

size_t approved_plan_memory(const struct approved_plan *approved)
{
    size_t bytes;

    if (!approved)
        return 0;
    bytes = sizeof(*approved) + approved->arena.used + approved->n_steps * sizeof(*approved->steps);
    for (size_t i = 0; i < approved->n_steps; i++)
        bytes += value_memory(approved->steps[i].unknown) +
                 value_memory(approved->steps[i].secrets) +
                 value_memory(approved->steps[i].shown.assigned);
    return bytes;
}

/* ---- The digest of the whole ---- */

static void digest_step(const struct approved_plan *approved, const struct approved_step *step,
                        char ret_hex[HASH_HEX_SIZE])
{
    const struct digest_parts parts = {.id = step->id,
                                       .type = step->type,
                                       .action = step->action,
                                       .leaves = step->leaves,
                                       .create_first = step->create_first,
                                       .has_unknown = step->has_unknown,
                                       .halves = &step->halves,
                                       .unknown = step->unknown};

    digest_change(&parts, approved->key, ret_hex);
}

static int compare_digests(const void *a, const void *b)
{
    return memcmp(a, b, HASH_HEX_SIZE);
}

void approved_plan_digest(const struct approved_plan *approved, char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash =
        hash_new_keyed(approved->key.data, approved->key.length);
    char(*digests)[HASH_HEX_SIZE] = mem_new_array(approved->n_steps + 1, HASH_HEX_SIZE);

    for (size_t i = 0; i < approved->n_steps; i++)
        digest_step(approved, &approved->steps[i], digests[i]);
    qsort(digests, approved->n_steps, HASH_HEX_SIZE, compare_digests);
    hash_add_str(hash, DIGEST_PLAN);
    for (size_t i = 0; i < approved->n_steps; i++)
        hash_add_str(hash, digests[i]);
    hash_finish_hex(hash, ret_hex);
    free(digests);
}

bool approved_plan_seal(const struct approved_plan *approved, char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash =
        hash_new_keyed(approved->key.data, approved->key.length);
    char digest[HASH_HEX_SIZE];
    bool any = false;

    approved_plan_digest(approved, digest);
    hash_add_str(hash, "shown");
    hash_add_str(hash, digest);
    for (size_t i = 0; i < approved->n_steps; i++) {
        const struct approved_step *step = &approved->steps[i];

        any = any || *step->shown.hex;
        hash_add_str(hash, step->shown.hex);
        digest_add_pointers(hash, step->shown.assigned);
    }
    hash_finish_hex(hash, ret_hex);
    return any;
}

void plan_digest(const struct plan *plan, const void *key, size_t key_length,
                 char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved =
        approved_plan_new(plan, key, key_length);

    approved_plan_digest(approved, ret_hex);
}

/* ---- Finding ---- */

/* A resource's steps are one after another: where its id is in use for two objects (it has another
 * type now, say, or what was replaced is still to go), it has several. NULL: that was the last. */
static const struct approved_step *next_of(const struct approved_plan *approved,
                                           const struct plan_change *change,
                                           const struct approved_step *step)
{
    const struct approved_step *end = approved->steps + approved->n_steps;

    for (; step < end && str_equal(step->id, change->id); step++)
        if (str_equal(step->type, change->type))
            return step;
    return NULL;
}

static const struct approved_step *first_of(const struct approved_plan *approved,
                                            const struct plan_change *change)
{
    size_t low = 0, high = approved->n_steps;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(approved->steps[middle].id, change->id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return next_of(approved, change, &approved->steps[low]);
}

bool approved_plan_creates_first(const struct approved_plan *approved,
                                 const struct plan_change *change)
{
    const struct approved_step *step = first_of(approved, change);

    for (; step; step = next_of(approved, change, step + 1))
        if (step->action == PLAN_REPLACE)
            return step->create_first;
    return false;
}

bool approved_plan_has_unknown(const struct approved_plan *approved,
                               const struct plan_change *change)
{
    const struct approved_step *step = first_of(approved, change);

    for (; step; step = next_of(approved, change, step + 1))
        if (step->has_unknown)
            return true;
    return false;
}

/* ---- Comparing ---- */

static const char *done_to(enum plan_action action)
{
    static const char *const words[] = {
        [PLAN_CREATE] = "created",   [PLAN_ADOPT] = "adopted",  [PLAN_UPDATE] = "updated",
        [PLAN_REPLACE] = "replaced", [PLAN_DELETE] = "deleted", [PLAN_FORGET] = "forgotten",
        [PLAN_READ] = "read",
    };

    return words[action];
}

static int stale(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

static int stale(struct error *error, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = err_set_v(error, ERR_CONFLICT, PLAN_STALE, format, args);
    va_end(args);
    return r;
}

static bool has_text(const struct value *list, const char *text)
{
    for (size_t i = 0; i < value_count(list); i++)
        if (str_equal(value_string(value_at(list, i)), text))
            return true;
    return false;
}

/* A secret of the change that was not in what was approved, in this version; NULL: none. */
static const char *find_rotated(const struct approved_step *step, const struct plan_change *change)
{
    for (size_t i = 0; step->secrets && i < value_count(change->secrets); i++) {
        const char *text = value_string(value_at(change->secrets, i));

        if (text && !has_text(step->secrets, text))
            return text;
    }
    return NULL;
}

/* step: the approved one that comes nearest; NULL: there is none. */
static int refuse(const struct approved_step *step, const struct plan_change *change,
                  enum plan_action action, struct error *error)
{
    const char *rotated = step ? find_rotated(step, change) : NULL;

    if (rotated)
        return stale(error,
                     "a secret that it refers to has another version by now than when the "
                     "plan was approved: %s",
                     rotated);
    if (!step)
        return stale(error, "it would be %s, which the approved plan does not have",
                     done_to(action));
    if (action == PLAN_DELETE && step->action != PLAN_FORGET)
        return stale(error, "it would be deleted, and is not as it was when that was approved");
    if (step->action != action)
        return stale(error, "it would be %s, and the approved plan has it %s", done_to(action),
                     done_to(step->action));
    if (action == PLAN_REPLACE)
        return stale(error, "it would be replaced in another way than was approved");
    return stale(error, "it would be %s in other fields, or with other values, than was approved",
                 done_to(action));
}

enum extent { ALL_OF_IT, BUT_WHAT_IS_MADE };

static bool is_same(const struct approved_plan *approved, const struct approved_step *step,
                    const struct plan_change *change, enum plan_action action, enum extent extent)
{
    bool is_half = step->action == PLAN_REPLACE && action == PLAN_CREATE;
    struct digest_halves now;

    if (step->action != action && !is_half)
        return false;
    if (!digest_halves_of(change, step->unknown, approved->key, &now))
        return false;
    if (extent == ALL_OF_IT && !str_equal(now.made, step->halves.made))
        return false;
    return is_half || action != PLAN_REPLACE ||
           (str_equal(now.removed, step->halves.removed) &&
            change->create_first == step->create_first);
}

/* A creation that was not tried, then or now, shows nothing that could be compared. */
static bool shows_the_same(const struct approved_plan *approved, const struct approved_step *step,
                           const struct plan_change *change)
{
    struct digest_shown now;

    if (!*step->shown.hex)
        return true;
    now = digest_shown_like(change, step->shown.assigned, approved->key);
    return !*now.hex || str_equal(now.hex, step->shown.hex);
}

static int check_wanted(const struct approved_plan *approved, const struct plan_change *change,
                        enum extent extent, struct error *error)
{
    const struct approved_step *step = first_of(approved, change);
    enum plan_action action = action_of(change);

    while (step && step->leaves)
        step = next_of(approved, change, step + 1);
    if (!step)
        return refuse(NULL, change, action, error);
    if (step->action == PLAN_DEFERRED)
        return NOT_COVERED;
    if (!is_same(approved, step, change, action, extent))
        return refuse(step, change, action, error);
    if (extent == ALL_OF_IT && !shows_the_same(approved, step, change))
        return stale(error, "the API server, or an admission webhook, would make another object of "
                            "it than the approved plan shows");
    return CONFORMS;
}

/* The object was deleted, and a create of ours, which was sent before, has made it again. If the
 * operation was killed before it could record that the first one was gone, State has that one's
 * uid, and that such a create was left. */
static bool is_made_again(const struct plan_change *change)
{
    const struct record *record = change->record;

    if (!record)
        return false;
    if (record->status == RECORD_INTENT)
        return record->action == PLAN_DELETE;
    return record->call.until && record->uid && change->step && change->step->uid &&
           !str_equal(record->uid, change->step->uid);
}

/* Nothing in the world is touched when an object is forgotten: it may be, where its end was
 * approved in any way. */
static bool is_removal_approved(const struct approved_step *step, const struct plan_change *change,
                                const struct digest_halves *now)
{
    bool is_half = step->action == PLAN_REPLACE && change->deposed;

    if (change->action == PLAN_FORGET)
        return is_half || (step->leaves && step->action != PLAN_DEFERRED);
    return (is_half || step->action == PLAN_DELETE) &&
           (is_made_again(change) || str_equal(now->removed, step->halves.removed));
}

static int check_leaving(const struct approved_plan *approved, const struct plan_change *change,
                         struct error *error)
{
    const struct approved_step *step = first_of(approved, change), *other = NULL;
    struct digest_halves now;
    bool is_deferred = false;

    if (!digest_halves_of(change, NULL, approved->key, &now))
        now = (struct digest_halves){"", ""}; /* that is no approved step's */
    for (; step; step = next_of(approved, change, step + 1)) {
        if (is_removal_approved(step, change, &now))
            return CONFORMS;
        is_deferred = is_deferred || (step->leaves && step->action == PLAN_DEFERRED);
        if (step->leaves || (step->action == PLAN_REPLACE && change->deposed))
            other = step;
    }
    return is_deferred ? NOT_COVERED : refuse(other, change, change->action, error);
}

/* It is not there any more, or never was; or it was only read. */
static bool is_gone(const struct plan_change *change)
{
    return change->action == PLAN_FORGET &&
           (change->is_only_read ||
            (change->step && !change->step->uid && change->step->action == PLAN_FORGET));
}

static bool was_planned(const struct approved_plan *approved, const struct plan_change *change)
{
    const struct approved_step *step = first_of(approved, change);
    bool leaves = !change->resource;

    for (; step; step = next_of(approved, change, step + 1))
        if (step->action == PLAN_DEFERRED && step->leaves == leaves)
            return false;
    return true;
}

static int check(const struct approved_plan *approved, const struct plan_change *change,
                 enum extent extent, struct error *error)
{
    if (!is_planned(change))
        return was_planned(approved, change) ? CONFORMS : NOT_COVERED;
    if (change->action == PLAN_UNCHANGED || change->action == PLAN_NONE || is_gone(change))
        return CONFORMS;
    return change->resource ? check_wanted(approved, change, extent, error)
                            : check_leaving(approved, change, error);
}

int approved_plan_check(const struct approved_plan *approved, const struct plan_change *change,
                        struct error *error)
{
    return check(approved, change, ALL_OF_IT, error);
}

int approved_plan_check_known(const struct approved_plan *approved,
                              const struct plan_change *change, struct error *error)
{
    return check(approved, change, BUT_WHAT_IS_MADE, error);
}

int approved_plan_check_removal(const struct approved_plan *approved,
                                const struct plan_change *change,
                                const struct runtime_step *removal, struct error *error)
{
    struct plan_change deletion = {.id = change->id,
                                   .type = change->type,
                                   .deposed = "",
                                   .action = removal->action,
                                   .step = (struct runtime_step *)(uintptr_t)removal};

    return approved_plan_check(approved, &deletion, error);
}

/* ---- Plans that are made again ---- */

/* Values may be unknown now because what they are taken from cannot be planned. */
static bool is_same_as_far(const struct approved_plan *approved, const struct approved_step *step,
                           const struct approved_step *now)
{
    char of_step[HASH_HEX_SIZE], of_now[HASH_HEX_SIZE];

    if (now->has_unknown && !step->has_unknown)
        return step->action == now->action && step->create_first == now->create_first &&
               str_equal(step->halves.removed, now->halves.removed);
    digest_step(approved, step, of_step);
    digest_step(approved, now, of_now);
    return str_equal(of_step, of_now);
}

/* What is another one each time can be compared only where all values are at hand
 * (shows_the_same()). */
static bool shows_another(const struct approved_step *step, const struct approved_step *now)
{
    const struct digest_shown *one = &step->shown, *other = &now->shown;
    bool is_comparable = one->assigned && other->assigned
                             ? value_equal(one->assigned, other->assigned)
                             : one->assigned == other->assigned;

    return *one->hex && *other->hex && is_comparable && !str_equal(one->hex, other->hex);
}

/* What becomes of a step when the plan is made again. */
enum again {
    SAME, /* or it could not be planned before */
    LESS, /* it cannot be planned this time */
    ANOTHER,
};

static enum again compare_again(const struct approved_plan *approved,
                                const struct approved_step *now)
{
    const struct plan_change like = {.id = now->id, .type = now->type};
    const struct approved_step *step = first_of(approved, &like);
    bool is_deferred = false, is_same = false;

    for (; step; step = next_of(approved, &like, step + 1)) {
        if (step->leaves != now->leaves)
            continue;
        is_deferred = is_deferred || step->action == PLAN_DEFERRED;
        is_same = is_same || (is_same_as_far(approved, step, now) && !shows_another(step, now));
    }
    if (is_deferred || is_same)
        return SAME;
    return now->action == PLAN_DEFERRED ? LESS : ANOTHER;
}

bool approved_plan_outlasts(const struct approved_plan *approved, const struct plan *plan)
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *now =
        approved_plan_new(plan, approved->key.data, approved->key.length);
    bool is_less = false;

    for (size_t i = 0; i < now->n_steps; i++) {
        enum again again = compare_again(approved, &now->steps[i]);

        if (again == ANOTHER)
            return false;
        is_less = is_less || again == LESS;
    }
    return is_less;
}

bool approved_plan_shows(const struct approved_plan *approved, const struct plan *plan)
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *now =
        approved_plan_new(plan, approved->key.data, approved->key.length);

    for (size_t i = 0; i < now->n_steps; i++) {
        const struct plan_change like = {.id = now->steps[i].id, .type = now->steps[i].type};
        const struct approved_step *step = first_of(approved, &like);

        for (; step; step = next_of(approved, &like, step + 1))
            if (shows_another(step, &now->steps[i]))
                return false;
    }
    return true;
}

bool approved_plan_has_shown(const struct approved_plan *approved, const struct plan_change *change)
{
    const struct approved_step *step = first_of(approved, change);

    for (; step; step = next_of(approved, change, step + 1))
        if (*step->shown.hex)
            return true;
    return false;
}
