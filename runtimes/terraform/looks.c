#include "runtimes/terraform/looks.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct claimant {
    char *name;
    TAILQ_ENTRY(claimant) turn;
    TAILQ_HEAD(claims, claim) claims; /* the last used is the first */
    unsigned count;
    unsigned under_way;
    uint64_t used; /* when: the number of a use */
};

/* free() */
static char *key_of(const struct source *wanted)
{
    return str_printf("%s %s", wanted->address, wanted->version ? wanted->version : "");
}

bool look_is_at_work(const struct look *look)
{
    return look->phase == LOOK_QUEUED || look->phase == LOOK_UNDER_WAY;
}

/* ---- Looks ---- */

struct look *looks_get(const struct looks *looks, const struct source *wanted)
{
    _cleanup_free_ char *key = key_of(wanted);

    return strmap_get(&looks->by_key, key);
}

static struct look *add_look(struct looks *looks, const struct source *allowed,
                             const struct source *wanted)
{
    struct look *look = NEW(struct look);

    look->key = key_of(wanted);
    source_copy(&look->allowed, allowed);
    source_copy(&look->wanted, wanted);
    LIST_INIT(&look->claims);
    strmap_put(&looks->by_key, look->key, look);
    return look;
}

static void drop_look(struct looks *looks, struct look *look)
{
    strmap_remove(&looks->by_key, look->key);
    free(look->key);
    source_done(&look->allowed);
    source_done(&look->wanted);
    free(look->version);
    free(look->package);
    free(look->program);
    free(look);
}

/* ---- Claims ---- */

static struct claim *find_claim(const struct claimant *claimant, const struct look *look)
{
    struct claim *claim;

    LIST_FOREACH(claim, &look->claims, beside) {
        if (claim->claimant == claimant)
            return claim;
    }
    return NULL;
}

/* It is waited for, or at work. */
static bool is_in_use(const struct claim *claim)
{
    return claim->callers || look_is_at_work(claim->look);
}

static void drop_claim(struct looks *looks, struct claim *claim)
{
    struct look *look = claim->look;

    TAILQ_REMOVE(&claim->claimant->claims, claim, place);
    claim->claimant->count--;
    LIST_REMOVE(claim, beside);
    free(claim);
    if (LIST_EMPTY(&look->claims))
        drop_look(looks, look);
}

/* False: all are in use. */
static bool make_room(struct looks *looks, struct claimant *claimant)
{
    struct claim *claim;

    if (claimant->count < LOOKS_OF_NAMESPACE)
        return true;
    TAILQ_FOREACH_REVERSE(claim, &claimant->claims, claims, place)
    {
        if (is_in_use(claim))
            continue;
        drop_claim(looks, claim);
        return true;
    }
    return false;
}

static struct claim *add_claim(struct claimant *claimant, struct look *look)
{
    struct claim *claim = NEW(struct claim);

    claim->look = look;
    claim->claimant = claimant;
    LIST_INSERT_HEAD(&look->claims, claim, beside);
    TAILQ_INSERT_HEAD(&claimant->claims, claim, place);
    claimant->count++;
    return claim;
}

static void note_use(struct claim *claim)
{
    TAILQ_REMOVE(&claim->claimant->claims, claim, place);
    TAILQ_INSERT_HEAD(&claim->claimant->claims, claim, place);
}

/* ---- Namespaces ---- */

static void drop_claimant(struct looks *looks, struct claimant *claimant)
{
    struct claim *claim;

    while ((claim = TAILQ_FIRST(&claimant->claims)))
        drop_claim(looks, claim);
    TAILQ_REMOVE(&looks->turns, claimant, turn);
    strmap_remove(&looks->by_namespace, claimant->name);
    free(claimant->name);
    free(claimant);
}

static bool is_claimant_in_use(const struct claimant *claimant)
{
    struct claim *claim;

    TAILQ_FOREACH(claim, &claimant->claims, place) {
        if (is_in_use(claim))
            return true;
    }
    return false;
}

/* False: all are in use. */
static bool make_room_for_claimant(struct looks *looks)
{
    struct claimant *claimant, *oldest = NULL;

    if (looks->by_namespace.count < LOOKS_NAMESPACES)
        return true;
    TAILQ_FOREACH(claimant, &looks->turns, turn) {
        if ((!oldest || claimant->used < oldest->used) && !is_claimant_in_use(claimant))
            oldest = claimant;
    }
    if (oldest)
        drop_claimant(looks, oldest);
    return oldest;
}

static struct claimant *add_claimant(struct looks *looks, const char *name)
{
    struct claimant *claimant = NEW(struct claimant);

    claimant->name = str_new(name);
    TAILQ_INIT(&claimant->claims);
    strmap_put(&looks->by_namespace, claimant->name, claimant);
    TAILQ_INSERT_TAIL(&looks->turns, claimant, turn);
    return claimant;
}

/* NULL: there is no room for one more. */
static struct claimant *use_claimant(struct looks *looks, const char *name)
{
    struct claimant *claimant = strmap_get(&looks->by_namespace, name);

    if (!claimant && make_room_for_claimant(looks))
        claimant = add_claimant(looks, name);
    if (claimant)
        claimant->used = ++looks->uses;
    return claimant;
}

/* ---- For others ---- */

struct claim *looks_claim(struct looks *looks, const char *namespace_name,
                          const struct source *allowed, const struct source *wanted)
{
    struct claimant *claimant = use_claimant(looks, namespace_name);
    struct look *look = looks_get(looks, wanted);
    struct claim *claim = claimant && look ? find_claim(claimant, look) : NULL;

    if (claim) {
        note_use(claim);
        return claim;
    }
    if (!claimant || !make_room(looks, claimant))
        return NULL;
    return add_claim(claimant, look ? look : add_look(looks, allowed, wanted));
}

/* ---- Turns ---- */

static bool is_provider_under_way(const struct looks *looks, const struct look *look)
{
    struct look *other;

    LIST_FOREACH(other, &looks->under_way, under_way) {
        if (str_equal(other->wanted.address, look->wanted.address))
            return true;
    }
    return false;
}

/* The one that waits longest, of a namespace. */
static struct look *next_of(const struct looks *looks, const struct claimant *claimant)
{
    struct claim *claim;
    struct look *next = NULL;

    TAILQ_FOREACH(claim, &claimant->claims, place) {
        struct look *look = claim->look;

        if (look->phase == LOOK_QUEUED && (!next || look->since <= next->since) &&
            !is_provider_under_way(looks, look))
            next = look;
    }
    return next;
}

struct look *looks_begin(struct looks *looks)
{
    struct claimant *claimant;
    struct look *look = NULL;

    TAILQ_FOREACH(claimant, &looks->turns, turn) {
        if (claimant->under_way < LOOKS_UNDER_WAY && (look = next_of(looks, claimant)))
            break;
    }
    if (!look)
        return NULL;
    TAILQ_REMOVE(&looks->turns, claimant, turn);
    TAILQ_INSERT_TAIL(&looks->turns, claimant, turn);
    claimant->under_way++;
    look->served = claimant;
    look->phase = LOOK_UNDER_WAY;
    LIST_INSERT_HEAD(&looks->under_way, look, under_way);
    return look;
}

void looks_end(struct look *look)
{
    LIST_REMOVE(look, under_way);
    look->served->under_way--;
    look->served = NULL;
}

/* ---- All ---- */

void looks_init(struct looks *looks)
{
    strmap_init(&looks->by_key);
    strmap_init(&looks->by_namespace);
    TAILQ_INIT(&looks->turns);
    LIST_INIT(&looks->under_way);
}

void looks_done(struct looks *looks)
{
    struct claimant *claimant;

    while ((claimant = TAILQ_FIRST(&looks->turns)))
        drop_claimant(looks, claimant);
    strmap_done(&looks->by_key);
    strmap_done(&looks->by_namespace);
}
